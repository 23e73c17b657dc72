"""What every plane has from its first moment: namespaces, priority classes, roles and bindings that clients take for
granted, whose turn it is, and the EvidencePolicy, without which nothing is made of a silent node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fairlead.api.access.rbac.default_roles import completed, default_bindings, default_roles
from fairlead.api.flow.defaults import default_levels, default_schemas, put_right
from fairlead.core import codec
from fairlead.core.errors import DataDirectoryError
from fairlead.model.catalog import CATALOG
from fairlead.model.key import Key
from fairlead.model.kind import Json, Kind
from fairlead.model.kinds import evidencepolicy, flowschema, priorityclass, prioritylevelconfiguration
from fairlead.model.kinds.role import CLUSTER_ROLE
from fairlead.model.kinds.rolebinding import CLUSTER_ROLE_BINDING
from fairlead.model.policy import evidence_rows
from fairlead.port.request import MERGE_PATCH, Request
from fairlead.reconcile.root_certificate import CONFIG_MAP
from fairlead.runtime.server.host import ServingHost

_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
# Where clients in Go find by whose word they know the API, and where servers beside it find whose certificates count.
_CERTIFICATES = ((CONFIG_MAP, "ca.crt"), ("extension-apiserver-authentication", "client-ca-file"))
_PRIORITY_CLASSES = (
    (
        "system-cluster-critical",
        2_000_000_000,
        "For pods that the cluster needs, and that may move to another node.",
    ),
    ("system-node-critical", 2_000_001_000, "For pods that a node needs, and that must not move from it."),
)


async def ensure_initial_objects(host: ServingHost, authority: str = "") -> None:
    """Create what is missing; what exists is left as it is, but for the certificate of the authority (as PEM), which is
    published if it is given, and the default roles and bindings, which get what they lack."""
    read = host.api.desk.read
    spaces = [name for name in _NAMESPACES if read.get(Key("namespaces", "", name)) is None]
    await asyncio.gather(
        *(_create(host, Request("create", "", "v1", "namespaces", body=_namespace(name))) for name in spaces)
    )
    # Together, so that they share commits: on a new directory there are dozens.
    await asyncio.gather(
        *(_publish(host, name, {key: authority}) for name, key in _CERTIFICATES if authority),
        *(_ensure(host, priorityclass.KIND, _priority_class(*each), _nothing) for each in _PRIORITY_CLASSES),
        *(_ensure(host, CLUSTER_ROLE, each, completed) for each in default_roles(CATALOG)),
        *(_ensure(host, CLUSTER_ROLE_BINDING, each, completed) for each in default_bindings()),
        *(_ensure(host, prioritylevelconfiguration.KIND, each, put_right) for each in default_levels()),
        *(_ensure(host, flowschema.KIND, each, put_right) for each in default_schemas()),
        _ensure(host, evidencepolicy.KIND, evidence_rows.default_policy(), _nothing),
    )


def _namespace(name: str) -> bytes:
    return codec.encode({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def _priority_class(name: str, value: int, description: str) -> Json:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "description": description,
    }


def _nothing(found: Json, wanted: Json) -> Json:
    """What is there is left as it is."""
    return {}


async def _ensure(host: ServingHost, kind: Kind, wanted: Json, lacking: Callable[[Json, Json], Json]) -> None:
    """A default object is there; `lacking` is the patch for what it lacks if it was there already."""
    name = wanted["metadata"]["name"]
    key, read = Key(kind.resource, "", name), host.api.desk.read
    if key in read.damaged:  # people were told of it as the store was read
        return
    found = read.get(key)
    at = (kind.group, kind.version, kind.plural, "")
    if found is None:
        await _create(host, Request("create", *at, body=codec.encode(wanted)))
        return
    missing = lacking(codec.decode(found.data), wanted)
    if missing:
        request = Request("patch", *at, name, body=codec.encode(missing), content_type=MERGE_PATCH)
        await _create(host, request)


async def _publish(host: ServingHost, name: str, data: dict[str, str]) -> None:
    found = host.api.desk.read.get(Key("configmaps", "kube-system", name))
    at = ("", "v1", "configmaps", "kube-system")
    if found is None:
        body: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
        await _create(host, Request("create", *at, body=codec.encode(body)))
    elif not (codec.decode(found.data).get("data") or {}).items() >= data.items():
        body = {"data": data}
        await _create(host, Request("patch", *at, name, body=codec.encode(body), content_type=MERGE_PATCH))


async def _create(host: ServingHost, request: Request) -> None:
    reply = await host.call(request)
    if reply.status >= 400:
        message = codec.decode(reply.body).get("message", "")
        raise DataDirectoryError(f"the first objects of the plane could not be written: {message}")
