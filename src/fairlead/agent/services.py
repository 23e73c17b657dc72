"""Services as a node sees them: the routes its proxy serves, and the variables its containers find them by. Pure.

Called by the node's machine (`machine.py`) with what it mirrors. A route leads from an address of a Service, or from a
node port on this machine, to endpoints that are ready; where none is, to those that still serve while they end. A
port without endpoints has a route without backends: connections to it are refused. TCP over IPv4; Services without an
address of their own have no routes, as whoever uses them asks for the endpoints.

Weights of zones that slices tell of (`ledger/zone_weights.py`) hold until the instant they name, by the clock of this
node. They are not followed where they would leave nobody who is ready.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import gcd
from typing import NamedTuple

from fairlead.agent.contract import Backend, Route
from fairlead.core.times import parse_time
from fairlead.ledger.zone_weights import ZoneWeights, noted
from fairlead.model.service_views import SERVICE_NAME, EndpointSlice, Service, ServicePort
from fairlead.model.views import Json

NODE_PORT_ADDRESS = "127.0.0.1"  # node ports are for people on this machine
_MASTER = ("default", "kubernetes")  # known in every namespace


class Weighed(NamedTuple):
    """The weights of zones that hold now."""

    until: float = 0.0  # when the first of them ends; 0: there are none
    by: tuple[str, ...] = ()  # uids of the overrides that set them


def weights_held(slices: Iterable[EndpointSlice], now: float) -> Weighed:
    found = [each for each in (_weights((each,), now) for each in slices) if each is not None]
    until = min((parse_time(each.until) for each in found), default=0.0)
    return Weighed(until, tuple(sorted({each.uid for each in found if each.uid})))


def routes(services: Iterable[Service], slices: Iterable[EndpointSlice], now: float) -> tuple[Route, ...]:
    """In the order of Services and their ports; the same for the same objects, in whatever order they come."""
    by_service: dict[tuple[str, str], list[EndpointSlice]] = {}
    for each in slices:
        name = each.metadata.labels.get(SERVICE_NAME, "")
        if name and each.address_type == "IPv4":
            by_service.setdefault((each.metadata.namespace, name), []).append(each)
    found: list[Route] = []
    for service in sorted(services, key=_place):
        if not service.address or ":" in service.address:
            continue
        own = sorted(by_service.get(_place(service), ()), key=lambda each: each.metadata.name)
        weights = _weights(own, now)
        for port in service.spec.ports:
            if port.protocol != "TCP":
                continue
            backends = _backends(own, port, weights)
            label = f"{service.metadata.namespace}/{service.metadata.name}:{port.name or port.port}"
            found.append(Route(label, service.address, port.port, backends))
            if port.node_port:
                found.append(Route(label, NODE_PORT_ADDRESS, port.node_port, backends))
    return tuple(found)


def _place(service: Service) -> tuple[str, str]:
    return service.metadata.namespace, service.metadata.name


def _weights(slices: Iterable[EndpointSlice], now: float) -> ZoneWeights | None:
    """Those that hold for a Service. All slices of the controller tell the same, but for a moment."""
    for each in slices:
        found = noted(each.metadata.annotations)
        if found is not None and now < parse_time(found.until):
            return found
    return None


def _backends(
    slices: Iterable[EndpointSlice], port: ServicePort, weights: ZoneWeights | None
) -> tuple[Backend, ...]:
    ready: dict[Backend, str] = {}  # and their zones
    ending: dict[Backend, str] = {}
    for each in slices:
        number = _number(each, port)
        if not number:
            continue
        for endpoint in each.endpoints:
            conditions: Json = endpoint.get("conditions") or {}
            # Unknown is to be read as yes (ready, serving) and as no (terminating).
            is_ready = conditions.get("ready") is not False
            still = conditions.get("serving") is not False and conditions.get("terminating") is True
            # The addresses of one endpoint are all of the same pod.
            addresses = endpoint.get("addresses") or ()
            if addresses and (is_ready or still):
                zone = str(endpoint.get("zone") or "")
                (ready if is_ready else ending)[Backend(addresses[0], number)] = zone
    found = sorted(ready or ending, key=lambda backend: (backend.address, backend.port))
    return tuple(_weighed(found, ready or ending, weights) if weights is not None else found)


def _weighed(found: Sequence[Backend], zones: dict[Backend, str], weights: ZoneWeights) -> Sequence[Backend]:
    shares = {each: weights.of(zones[each]) for each in found}
    # In lowest terms: with the same weight everywhere the route is the one without weights.
    common = gcd(*shares.values())
    if not common:
        return found
    return [Backend(each.address, each.port, share // common) for each, share in shares.items() if share]


def _number(found: EndpointSlice, port: ServicePort) -> int:
    for each in found.ports:
        if (each.get("name") or "") == port.name and (each.get("protocol") or "TCP") == port.protocol:
            return int(each.get("port") or 0)
    return 0


def service_environment(services: Iterable[Service], namespace: str) -> list[tuple[str, str]]:
    """What a container that starts in this namespace is told of its Services, as Kubernetes does it."""
    variables: dict[str, str] = {}
    for service in sorted(services, key=_place):
        place = _place(service)
        if service.address and service.spec.ports and (place[0] == namespace or place == _MASTER):
            known = _variables(service)
            # The namespace's own Service of that name counts.
            variables.update(known if place[0] == namespace else {**dict(known), **variables})
    return list(variables.items())


def _variables(service: Service) -> dict[str, str]:
    prefix, address = _variable(service.metadata.name), service.address
    first = service.spec.ports[0]
    found = {f"{prefix}_SERVICE_HOST": address, f"{prefix}_SERVICE_PORT": str(first.port)}
    for port in service.spec.ports:
        if port.name:
            found[f"{prefix}_SERVICE_PORT_{_variable(port.name)}"] = str(port.port)
    found[f"{prefix}_PORT"] = _link(address, first)
    found.update(_links(prefix, address, service.spec.ports))
    return found


def _links(prefix: str, address: str, ports: Iterable[ServicePort]) -> Iterator[tuple[str, str]]:
    for port in ports:
        link = f"{prefix}_PORT_{port.port}_{port.protocol.upper()}"
        yield link, _link(address, port)
        yield f"{link}_PROTO", port.protocol.lower()
        yield f"{link}_PORT", str(port.port)
        yield f"{link}_ADDR", address


def _link(address: str, port: ServicePort) -> str:
    host = f"[{address}]" if ":" in address else address
    return f"{port.protocol.lower()}://{host}:{port.port}"


def _variable(name: str) -> str:
    return name.upper().replace("-", "_")
