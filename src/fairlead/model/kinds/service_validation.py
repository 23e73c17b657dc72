"""Validation of services: ports, addresses, selectors, external names.

Called through the descriptor in `service.py`.
"""

from __future__ import annotations

from typing import Any

from fairlead.core.problems import Problems
from fairlead.model.kind import Json
from fairlead.model.kinds.addresses import NOT_AN_ADDRESS, is_address
from fairlead.model.metadata import validate_labels, validate_listed_name
from fairlead.model.names import name_problems, port_name_problems

_PORT_RANGE = "must be between 1 and 65535, inclusive"
_AFFINITY_SECONDS_MAX = 86400


def validate_service(service: Json, problems: Problems) -> None:
    spec: Json = service.get("spec") or {}
    kind = spec.get("type")
    ports = spec.get("ports") or []
    if not ports and kind != "ExternalName" and spec.get("clusterIP") != "None":
        problems.required("spec.ports")
    if kind == "ExternalName":
        _validate_external_name(spec, problems)
    _validate_cluster_ips(spec, problems)
    _validate_ports(ports, kind or "", problems)
    validate_labels(spec.get("selector"), "spec.selector", problems)
    for index, address in enumerate(spec.get("externalIPs") or ()):
        if not is_address(address):
            problems.invalid(f"spec.externalIPs[{index}]", address, NOT_AN_ADDRESS)
    client = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
    if "timeoutSeconds" in client:
        seconds = client["timeoutSeconds"]
        if not 0 < seconds <= _AFFINITY_SECONDS_MAX:
            text = f"must be greater than 0 and less than {_AFFINITY_SECONDS_MAX}"
            problems.invalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, text)
    if spec.get("sessionAffinity") == "None" and spec.get("sessionAffinityConfig"):
        text = "must not be set when session affinity is None"
        problems.forbidden("spec.sessionAffinityConfig", text)


def _validate_external_name(spec: Json, problems: Problems) -> None:
    for field in ("clusterIP", "clusterIPs"):
        if spec.get(field):
            problems.forbidden(f"spec.{field}", "may not be set when `type` is 'ExternalName'")
    name = (spec.get("externalName") or "").removesuffix(".")
    if not name:
        problems.required("spec.externalName")
        return
    for text in name_problems("subdomain", name):
        problems.invalid("spec.externalName", name, text)


def _validate_cluster_ips(spec: Json, problems: Problems) -> None:
    addresses = spec.get("clusterIPs") or []
    first = spec.get("clusterIP")
    if first and addresses and first != addresses[0]:
        problems.invalid("spec.clusterIPs", addresses, "first value must match `clusterIP`")
    for index, address in enumerate(addresses):
        at = f"spec.clusterIPs[{index}]"
        if address == "None":
            if index or len(addresses) > 1:
                problems.invalid(at, address, "must be a single value when it is 'None'")
            if spec.get("type") in ("NodePort", "LoadBalancer"):
                text = f"may not be set to 'None' for {spec['type']} services"
                problems.invalid(at, address, text)
        elif not is_address(address):
            problems.invalid(at, address, NOT_AN_ADDRESS)


def _validate_ports(ports: list[Json], kind: str, problems: Problems) -> None:
    names: set[str] = set()
    pairs: set[tuple[Any, Any]] = set()
    node_ports: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        at = f"spec.ports[{index}]"
        if port.get("name") or len(ports) > 1:
            validate_listed_name(port.get("name"), f"{at}.name", names, problems)
        number, protocol = port.get("port"), port.get("protocol")
        _validate_number(number, f"{at}.port", problems)
        _validate_number(port.get("targetPort"), f"{at}.targetPort", problems)
        if (number, protocol) in pairs:
            problems.duplicate(at, {"port": number, "protocol": protocol})
        pairs.add((number, protocol))
        node_port = port.get("nodePort")
        if node_port:
            if kind in ("ClusterIP", "ExternalName"):
                problems.forbidden(f"{at}.nodePort", f"may not be used when `type` is '{kind}'")
            _validate_number(node_port, f"{at}.nodePort", problems)
            if (node_port, protocol) in node_ports:
                problems.duplicate(f"{at}.nodePort", node_port)
            node_ports.add((node_port, protocol))


def _validate_number(port: Any, path: str, problems: Problems) -> None:
    if isinstance(port, str):
        for text in port_name_problems(port):
            problems.invalid(path, port, text)
    elif port is not None and not 0 < port < 65536:
        problems.invalid(path, port, _PORT_RANGE)


def validate_service_update(new: Json, old: Json, problems: Problems) -> None:
    """An address, once given, is kept for as long as the service has a use for one."""
    after: Json = new.get("spec") or {}
    before: Json = old.get("spec") or {}
    if after.get("type") == "ExternalName" or before.get("type") == "ExternalName":
        return
    kept, asked = before.get("clusterIP"), after.get("clusterIP")
    if not kept or kept == asked:
        return
    if not asked:
        problems.invalid("spec.clusterIPs[0]", None, "primary clusterIP can not be unset")
    else:
        problems.invalid("spec.clusterIPs[0]", asked, "may not change once set")
