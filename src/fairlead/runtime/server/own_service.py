"""The server as its own clients find it: Service `kubernetes` in `default`, with the address where it listens.

`serving.py` calls `ensure_own_service` once it has its port. The Service gets an address like any other, and whoever
runs Services' listeners relays to the server. A server that listens on every address names none of them here: which
of them a node reaches is not known. Where users may not listen on low ports the Service has the server's own port: pods
are told of it (`KUBERNETES_SERVICE_PORT`), and at 443 nobody would answer.
"""

from __future__ import annotations

import socket
from ipaddress import AddressValueError, IPv4Address

from fairlead.core import codec
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.port.request import MERGE_PATCH, Request
from fairlead.runtime.server.host import ServingHost
from fairlead.store.contract import Reader

NAME, NAMESPACE = "kubernetes", "default"
HTTPS = 443
_NOBODYS = "127.95.255.254"  # neither a pod's address nor a Service's
_LABELS = {"component": "apiserver", "provider": "kubernetes"}
_SERVICES = ("", "v1", "services")
_SLICES = ("discovery.k8s.io", "v1", "endpointslices")


async def ensure_own_service(host: ServingHost, listen: str, port: int) -> None:
    """What is missing is made; what names another place is put right. A refusal is no reason not to serve."""
    read = host.api.desk.read
    served = HTTPS if may_listen_on(HTTPS) else port
    ports = [{"name": "https", "port": served, "targetPort": port, "protocol": "TCP"}]
    service = read.get(Key("services", NAMESPACE, NAME))
    if service is None:
        await _create(host, _SERVICES, "v1", "Service", {"spec": {"ports": ports}}, _LABELS)
    elif (codec.decode(service.data).get("spec") or {}).get("ports") != ports:
        body = codec.encode({"spec": {"ports": ports}})
        await host.call(Request("patch", *_SERVICES, NAMESPACE, NAME, body=body, content_type=MERGE_PATCH))
    if (address := _reachable(listen)) is None:
        return
    wanted: Json = {
        "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
    }
    found = read.get(Key("endpointslices.discovery.k8s.io", NAMESPACE, NAME))
    if found is None:
        labels = {"kubernetes.io/service-name": NAME}
        content = {"addressType": "IPv4", **wanted}
        await _create(host, _SLICES, "discovery.k8s.io/v1", "EndpointSlice", content, labels)
    elif not _names(codec.decode(found.data), address, port):
        body = codec.encode(wanted)
        await host.call(Request("patch", *_SLICES, NAMESPACE, NAME, body=body, content_type=MERGE_PATCH))


def may_listen_on(port: int) -> bool:
    """Whether this user may. That somebody else does at the moment is another matter."""
    with socket.socket() as tried:
        try:
            tried.bind((_NOBODYS, port))
        except PermissionError:
            return False
        except OSError:
            return True
    return True


def own_address(read: Reader) -> str:
    """The Service's address, which the server's certificate has; "" if there is none."""
    found = read.get(Key("services", NAMESPACE, NAME))
    address = str((codec.decode(found.data).get("spec") or {}).get("clusterIP") or "") if found else ""
    return "" if address == "None" else address


def _reachable(listen: str) -> str | None:
    try:
        address = IPv4Address("127.0.0.1" if listen == "localhost" else listen)
    except AddressValueError:
        return None
    return None if address.is_unspecified else str(address)


def _names(found: Json, address: str, port: int) -> bool:
    places = [place for each in found.get("endpoints") or () for place in each.get("addresses") or ()]
    return places == [address] and [each.get("port") for each in found.get("ports") or ()] == [port]


async def _create(
    host: ServingHost,
    at: tuple[str, str, str],
    api_version: str,
    kind: str,
    content: Json,
    labels: dict[str, str],
) -> None:
    body: Json = {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": NAME, "labels": labels},
        **content,
    }
    await host.call(Request("create", *at, NAMESPACE, body=codec.encode(body)))
