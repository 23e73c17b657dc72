"""EndpointSlice (discovery.k8s.io/v1): addresses and ports of some of the pods behind a Service.

Read by `model/catalog.py`. A slice holds addresses of one type for its whole life.
"""

from __future__ import annotations

from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address

from fairlead.core.problems import Problems
from fairlead.model.cells import AGE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.workload import choose, fill
from fairlead.model.kinds.workload_columns import more_text
from fairlead.model.marks import POD_NETWORK
from fairlead.model.metadata import validate_immutable, validate_labels
from fairlead.model.names import label_key_problems, label_problems, subdomain_problems

# Processes that run as pods have addresses of the loopback network; all others of it are nobody's to name, as in
# Kubernetes.
_PODS = IPv4Network(POD_NETWORK)
_ENDPOINTS_MAX = 1000
_ADDRESSES_MAX = 100
_PORTS_MAX = 20_000
_HINTS_MAX = 8
_TOPOLOGY_MAX = 16
_SHOWN_MAX = 3
_TYPES = ("FQDN", "IPv4", "IPv6")
_PROTOCOLS = ("SCTP", "TCP", "UDP")


def _defaults(obj: Json) -> None:
    for port in obj.get("ports") or ():
        fill(port, "name", "")
        choose(port, "protocol", "TCP")


def _validate(obj: Json, problems: Problems) -> None:
    kind = obj.get("addressType")
    if not kind:
        problems.required("addressType")
    elif kind not in _TYPES:
        problems.unsupported("addressType", kind, _TYPES)
    endpoints = obj.get("endpoints") or ()
    if len(endpoints) > _ENDPOINTS_MAX:
        problems.too_many("endpoints", len(endpoints), _ENDPOINTS_MAX)
    else:
        for index, endpoint in enumerate(endpoints):
            _check_endpoint(endpoint, kind or "", f"endpoints[{index}]", problems, _is_servers(obj))
    ports = obj.get("ports") or ()
    if len(ports) > _PORTS_MAX:
        problems.too_many("ports", len(ports), _PORTS_MAX)
    else:
        _check_ports(ports, problems)


def _is_servers(obj: Json) -> bool:
    """Whether it is that of the API itself, which may listen on this machine alone
    (`runtime/server/own_service.py`)."""
    metadata: Json = obj.get("metadata") or {}
    service = (metadata.get("labels") or {}).get("kubernetes.io/service-name")
    return (metadata.get("namespace"), metadata.get("name"), service) == (
        "default",
        "kubernetes",
        "kubernetes",
    )


def _check_endpoint(endpoint: Json, kind: str, path: str, problems: Problems, of_server: bool) -> None:
    addresses = endpoint.get("addresses") or ()
    if not addresses:
        problems.required(f"{path}.addresses", "must contain at least 1 address")
    elif len(addresses) > _ADDRESSES_MAX:
        problems.too_many(f"{path}.addresses", len(addresses), _ADDRESSES_MAX)
    for index, address in enumerate(addresses[:_ADDRESSES_MAX]):
        _check_address(address, kind, f"{path}.addresses[{index}]", problems, of_server)
    topology = endpoint.get("deprecatedTopology") or {}
    if len(topology) > _TOPOLOGY_MAX:
        problems.too_many(f"{path}.deprecatedTopology", len(topology), _TOPOLOGY_MAX)
    validate_labels(topology, f"{path}.deprecatedTopology", problems)
    if endpoint.get("hostname") is not None:
        for text in label_problems(endpoint["hostname"]):
            problems.invalid(f"{path}.hostname", endpoint["hostname"], text)
    if endpoint.get("nodeName") is not None:
        for text in subdomain_problems(endpoint["nodeName"]):
            problems.invalid(f"{path}.nodeName", endpoint["nodeName"], text)
    hints = endpoint.get("hints") or {}
    for name in ("forZones", "forNodes"):
        _check_hints(hints.get(name) or (), f"{path}.hints.{name}", problems)


def _check_address(address: str, kind: str, path: str, problems: Problems, of_server: bool) -> None:
    if kind == "FQDN":
        _check_domain(address, path, problems)
        return
    if kind not in ("IPv4", "IPv6"):
        return
    try:
        # A zone (`%eth0`) means something on one machine only.
        ip = IPv4Address(address) if kind == "IPv4" else IPv6Address(address.replace("%", " "))
    except AddressValueError:
        problems.invalid(path, address, f"must be a valid {kind} address")
        return
    if ip.is_unspecified:
        problems.invalid(path, address, f"may not be unspecified ({address})")
    if ip.is_loopback and not (isinstance(ip, IPv4Address) and (ip in _PODS or of_server)):
        text = f"may not be in the loopback range (127.0.0.0/8, ::1/128), but for addresses of pods ({_PODS})"
        problems.invalid(path, address, text)
    if ip.is_link_local:
        problems.invalid(path, address, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if ip.is_multicast and ip.packed[0] == (0xE0 if kind == "IPv4" else 0xFF) and _is_local_group(ip):
        detail = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        problems.invalid(path, address, detail)


def _is_local_group(ip: IPv4Address | IPv6Address) -> bool:
    packed = ip.packed
    return packed[1:3] == b"\0\0" if len(packed) == 4 else packed[1] & 0x0F == 0x02


def _check_domain(address: str, path: str, problems: Problems) -> None:
    if not address:
        problems.required(path)
        return
    domain = address.removesuffix(".")
    for text in subdomain_problems(domain):
        problems.invalid(path, address, text)
    if domain.count(".") < 1:
        problems.invalid(path, address, "should be a domain with at least two segments separated by dots")
        return
    for label in domain.split("."):
        if len(label) > 63:
            problems.invalid(path, label, "must be no more than 63 characters")


def _check_hints(hints: list[Json] | tuple[()], path: str, problems: Problems) -> None:
    if len(hints) > _HINTS_MAX:
        problems.too_many(path, len(hints), _HINTS_MAX)
        return
    seen: set[str] = set()
    for index, hint in enumerate(hints):
        name = hint.get("name") or ""
        if name in seen:
            problems.duplicate(f"{path}[{index}].name", name)
        else:
            seen.add(name)
            for text in label_key_problems(name):
                problems.invalid(f"{path}[{index}].name", name, text)


def _check_ports(ports: list[Json] | tuple[()], problems: Problems) -> None:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        path = f"ports[{index}]"
        name, protocol, scheme = port.get("name") or "", port.get("protocol"), port.get("appProtocol")
        if name:
            for text in label_problems(name):
                problems.invalid(f"{path}.name", name, text)
        if name in seen:
            problems.duplicate(f"{path}.name", name)
        seen.add(name)
        if protocol not in _PROTOCOLS:
            problems.unsupported(f"{path}.protocol", protocol, _PROTOCOLS)
        if scheme is not None:
            for text in label_key_problems(scheme):
                problems.invalid(f"{path}.appProtocol", scheme, text)


def _validate_update(new: Json, old: Json, problems: Problems) -> None:
    validate_immutable(new.get("addressType"), old.get("addressType"), "addressType", problems)


def _ports(obj: Json, now: float) -> Cell:
    ports = obj.get("ports") or ()
    texts = [str(port["port"]) if port.get("port") is not None else port.get("name") or "*" for port in ports]
    return more_text(texts, _SHOWN_MAX) or "<unset>"


def _endpoints(obj: Json, now: float) -> Cell:
    addresses = [
        address for endpoint in obj.get("endpoints") or () for address in endpoint.get("addresses") or ()
    ]
    return more_text(addresses, _SHOWN_MAX) or "<unset>"


KIND = Kind(
    group="discovery.k8s.io",
    version="v1",
    kind="EndpointSlice",
    plural="endpointslices",
    namespaced=True,
    schema="EndpointSlice",
    columns=(
        Column("AddressType", lambda obj, now: obj.get("addressType") or ""),
        Column("Ports", _ports),
        Column("Endpoints", _endpoints),
        AGE,
    ),
    defaults=_defaults,
    validate=_validate,
    validate_update=_validate_update,
)
