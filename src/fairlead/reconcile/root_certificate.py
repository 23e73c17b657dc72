"""Every namespace has a ConfigMap `kube-root-ca.crt` with the certificate by which pods know the API, as in Kubernetes.

The one in `kube-system` is the source: the server writes it as it starts, with its own authority's certificate. This
Decider copies it into the other namespaces, and again when a copy is changed or deleted. Where there is no source,
there are no copies.
"""

from __future__ import annotations

from fairlead.core import codec
from fairlead.decision.contract import NOTHING, Decision, Reading, in_batches
from fairlead.decision.decider import Decider, Wake
from fairlead.decision.effects import OPERATION, Change, Create, Json, create_object, identity
from fairlead.decision.ensure import ensure_fields
from fairlead.decision.wakes import called, inside, itself
from fairlead.model.key import Key
from fairlead.model.kinds.configmap import KIND
from fairlead.model.views import NAMESPACES, Resource, Stored

_NAME = "root-certificate"
CONFIG_MAP = "kube-root-ca.crt"
SOURCE = Key(KIND.resource, "kube-system", CONFIG_MAP)
CONFIG_MAPS: Resource[Stored] = Resource(KIND.resource, KIND.api_version, KIND.kind, Stored)


def root_certificate_decider() -> Decider:
    return Decider(
        name=_NAME,
        reads=(NAMESPACES, CONFIG_MAPS),
        wakes=(
            Wake(NAMESPACES, inside(KIND.resource, CONFIG_MAP)),
            Wake(CONFIG_MAPS, called(CONFIG_MAP, itself)),
        ),
        decide=_decide,
    )


def _decide(view: Reading, key: Key, now: float) -> Decision:
    source = view.get(CONFIG_MAPS, SOURCE.namespace, CONFIG_MAP)
    if source is None:
        return NOTHING
    wanted: Json = codec.decode(source.data).get("data") or {}
    if key != SOURCE:
        effect = _copy(view, key.namespace, wanted)
        return NOTHING if effect is None else Decision(effects=(effect,))
    return in_batches((_copy(view, space.metadata.name, wanted) for space in view.list(NAMESPACES)), now)


def _copy(view: Reading, namespace: str, wanted: Json) -> Create | Change | None:
    space = view.get(NAMESPACES, "", namespace)
    if space is None or space.metadata.deletion_timestamp or namespace == SOURCE.namespace:
        return None
    found = view.get(CONFIG_MAPS, namespace, CONFIG_MAP)
    if found is None:
        label = identity(_NAME, space.metadata.uid, "create", CONFIG_MAP)
        metadata = {"name": CONFIG_MAP, "namespace": namespace, "annotations": {OPERATION: label}}
        body: Json = {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": metadata, "data": wanted}
        return create_object(label, CONFIG_MAPS, namespace, CONFIG_MAP, body)
    current: Json = codec.decode(found.data).get("data") or {}
    # A key that is null is removed: what others put into it goes.
    data = {**dict.fromkeys(current), **wanted}
    return ensure_fields(_NAME, space.metadata, CONFIG_MAPS, found, "data", {"data": current}, {"data": data})
