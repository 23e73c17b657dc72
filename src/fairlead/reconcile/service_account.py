"""Every namespace has a ServiceAccount `default`, under which pods run that name none; deleted, it is made anew.

As Kubernetes has it: manifests and tools count on its being there. It has no token here.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.decision.contract import NOTHING, Decision, Reading
from fairlead.decision.effects import OPERATION, Create, Json, identity
from fairlead.model.kinds.serviceaccount import KIND
from fairlead.model.views import NAMESPACES, Namespace, Resource, Stored, View
from fairlead.store.contract import Key

_NAME = "service-account"
DEFAULT = "default"
SERVICE_ACCOUNTS: Resource[Stored] = Resource(KIND.resource, KIND.api_version, KIND.kind, Stored)


class ServiceAccountDecider:
    name = _NAME
    reads: tuple[Resource[View], ...] = (NAMESPACES, SERVICE_ACCOUNTS)

    def keys(self, resource: str, before: View | None, after: View | None) -> Iterable[Key]:
        if isinstance(after, Namespace):
            return (_key(after.metadata.name),) if not after.metadata.deletion_timestamp else ()
        if isinstance(before, Stored) and after is None and before.key.name == DEFAULT:
            return (before.key,)
        return ()

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        space = view.get(NAMESPACES, "", key.namespace)
        if space is None or space.metadata.deletion_timestamp:
            return NOTHING
        if view.get(SERVICE_ACCOUNTS, key.namespace, DEFAULT) is not None:
            return NOTHING
        label = identity(_NAME, space.metadata.uid, "create", DEFAULT)
        body: Json = {
            "apiVersion": KIND.api_version,
            "kind": KIND.kind,
            "metadata": {"name": DEFAULT, "namespace": key.namespace, "annotations": {OPERATION: label}},
        }
        create = Create(label, KIND.resource, KIND.api_version, KIND.plural, key.namespace, DEFAULT, body)
        return Decision(effects=(create,))


def _key(namespace: str) -> Key:
    return Key(KIND.resource, namespace, DEFAULT)
