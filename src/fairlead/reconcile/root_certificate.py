"""Every namespace has a ConfigMap `kube-root-ca.crt` with the certificate by which pods know the API, as in Kubernetes.

The one in `kube-system` is the source: the server writes it as it starts, with its own authority's certificate. This
Decider copies it into the other namespaces, and again when a copy is changed or deleted. Where there is no source,
there are no copies.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.core import codec
from fairlead.decision.contract import EFFECTS_MAX, NOTHING, Decision, Reading
from fairlead.decision.effects import OPERATION, Change, Create, Json, identity
from fairlead.decision.ensure import ensure_fields
from fairlead.model.kinds.configmap import KIND
from fairlead.model.views import NAMESPACES, Namespace, Resource, Stored, View
from fairlead.store.contract import Key

_NAME = "root-certificate"
CONFIG_MAP = "kube-root-ca.crt"
SOURCE = Key(KIND.resource, "kube-system", CONFIG_MAP)
CONFIG_MAPS: Resource[Stored] = Resource(KIND.resource, KIND.api_version, KIND.kind, Stored)


class RootCertificateDecider:
    name = _NAME
    reads: tuple[Resource[View], ...] = (NAMESPACES, CONFIG_MAPS)

    def keys(self, resource: str, before: View | None, after: View | None) -> Iterable[Key]:
        if isinstance(after, Namespace):
            return () if after.metadata.deletion_timestamp else (_key(after.metadata.name),)
        found = after if after is not None else before
        if isinstance(found, Stored) and found.key.name == CONFIG_MAP:
            return (found.key,)
        return ()

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        source = view.get(CONFIG_MAPS, SOURCE.namespace, CONFIG_MAP)
        if source is None:
            return NOTHING
        wanted: Json = codec.decode(source.data).get("data") or {}
        if key != SOURCE:
            effect = _copy(view, key.namespace, wanted)
            return NOTHING if effect is None else Decision(effects=(effect,))
        effects = [_copy(view, space.metadata.name, wanted) for space in view.list(NAMESPACES)]
        due = [effect for effect in effects if effect is not None]
        return Decision(effects=tuple(due[:EFFECTS_MAX]), again_at=now if len(due) > EFFECTS_MAX else 0.0)


def _key(namespace: str) -> Key:
    return Key(KIND.resource, namespace, CONFIG_MAP)


def _copy(view: Reading, namespace: str, wanted: Json) -> Create | Change | None:
    space = view.get(NAMESPACES, "", namespace)
    if space is None or space.metadata.deletion_timestamp or namespace == SOURCE.namespace:
        return None
    found = view.get(CONFIG_MAPS, namespace, CONFIG_MAP)
    if found is None:
        label = identity(_NAME, space.metadata.uid, "create", CONFIG_MAP)
        metadata = {"name": CONFIG_MAP, "namespace": namespace, "annotations": {OPERATION: label}}
        body: Json = {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": metadata, "data": wanted}
        return Create(label, KIND.resource, KIND.api_version, KIND.plural, namespace, CONFIG_MAP, body)
    current: Json = codec.decode(found.data).get("data") or {}
    # A key that is null is removed: what others put into it goes.
    data = {**dict.fromkeys(current), **wanted}
    return ensure_fields(_NAME, space.metadata, CONFIG_MAPS, found, "data", {"data": current}, {"data": data})
