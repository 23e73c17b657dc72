"""Service: one name and address for a changing set of pods.

Addresses and node ports are handed out as it is written (`api/admission/services.py`), unless its author names them.
The rules are in `service_validation.py`.
"""

from __future__ import annotations

from fairlead.model.cells import AGE, NONE, labels_text
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.service_validation import validate_service, validate_service_update
from fairlead.model.metadata import metadata_warnings

_AFFINITY_SECONDS = 10800


def _defaults(service: Json) -> None:
    spec = service.setdefault("spec", {})
    for field, value in (("sessionAffinity", "None"), ("type", "ClusterIP")):
        if not spec.get(field):
            spec[field] = value
    kind = spec["type"]
    if spec["sessionAffinity"] == "ClientIP":
        client = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
        client.setdefault("timeoutSeconds", _AFFINITY_SECONDS)
    for port in spec.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
        if port.get("targetPort") in (None, 0, "") and "port" in port:
            port["targetPort"] = port["port"]
    if kind != "ExternalName":
        _default_addresses(spec)
        if not spec.get("internalTrafficPolicy"):
            spec["internalTrafficPolicy"] = "Cluster"
    outside = kind in ("NodePort", "LoadBalancer") or (kind == "ClusterIP" and spec.get("externalIPs"))
    if outside and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    service.setdefault("status", {}).setdefault("loadBalancer", {})


def _default_addresses(spec: Json) -> None:
    """The first of `clusterIPs` and `clusterIP` are one thing under two names."""
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    elif spec.get("clusterIPs") and not spec.get("clusterIP"):
        spec["clusterIP"] = spec["clusterIPs"][0]
    if not spec.get("ipFamilyPolicy"):
        spec["ipFamilyPolicy"] = "SingleStack"
    if not spec.get("ipFamilies"):
        first = spec.get("clusterIP") or ""
        spec["ipFamilies"] = ["IPv6" if ":" in first else "IPv4"]


def _spec(service: Json) -> Json:
    return service.get("spec") or {}


def _type(service: Json) -> str:
    return _spec(service).get("type") or ""


def _cluster_ip(service: Json) -> str:
    return _spec(service).get("clusterIP") or ""


def _type_cell(service: Json, now: float) -> Cell:
    return _type(service)


def _cluster_ip_cell(service: Json, now: float) -> Cell:
    return _cluster_ip(service) or NONE


def _external(service: Json, now: float) -> Cell:
    spec = _spec(service)
    outside = list(spec.get("externalIPs") or ())
    kind = spec.get("type")
    if kind == "ExternalName":
        return spec.get("externalName") or NONE
    if kind == "LoadBalancer":
        ingress = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
        found = [entry.get("ip") or entry.get("hostname") or "" for entry in ingress] + outside
        return ",".join(part for part in found if part) or "<pending>"
    return ",".join(outside) or NONE


def _ports(service: Json, now: float) -> Cell:
    parts = []
    for port in _spec(service).get("ports") or ():
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        parts.append(f"{port.get('port')}{node}/{port.get('protocol') or 'TCP'}")
    return ",".join(parts) or NONE


def _selector(service: Json, now: float) -> Cell:
    return labels_text(_spec(service).get("selector"))


KIND = Kind(
    group="",
    version="v1",
    kind="Service",
    plural="services",
    namespaced=True,
    schema="Service",
    shows_deleted=True,
    short_names=("svc",),
    categories=("all",),
    subresources=("status",),
    columns=(
        Column("Type", _type_cell, description="How far the service is visible."),
        Column("Cluster-IP", _cluster_ip_cell, description="Address inside the cluster."),
        Column("External-IP", _external, description="Addresses outside the cluster."),
        Column("Port(s)", _ports, description="Ports of the service."),
        AGE,
        Column("Selector", _selector, priority=1, description="Labels of the pods behind it."),
    ),
    generation=False,
    name_rule="label1035",
    defaults=_defaults,
    validate=validate_service,
    validate_update=validate_service_update,
    selectable={"spec.clusterIP": _cluster_ip, "spec.type": _type},
    warnings=metadata_warnings,
)
