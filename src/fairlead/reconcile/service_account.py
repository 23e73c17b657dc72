"""Every namespace has a ServiceAccount `default`, under which pods run that name none; deleted, it is made anew.

As Kubernetes has it: manifests and tools count on its being there. It has no token here.
"""

from __future__ import annotations

from fairlead.decision.contract import NOTHING, Decision, Reading
from fairlead.decision.decider import Decider, Wake
from fairlead.decision.effects import OPERATION, Json, create_object, identity
from fairlead.decision.predicates import GONE
from fairlead.decision.wakes import called, inside, itself
from fairlead.model.key import Key
from fairlead.model.kinds.serviceaccount import KIND
from fairlead.model.views import NAMESPACES, Resource, Stored

_NAME = "service-account"
DEFAULT = "default"
SERVICE_ACCOUNTS: Resource[Stored] = Resource(KIND.resource, KIND.api_version, KIND.kind, Stored)


def service_account_decider() -> Decider:
    return Decider(
        name=_NAME,
        reads=(NAMESPACES, SERVICE_ACCOUNTS),
        wakes=(
            Wake(NAMESPACES, inside(KIND.resource, DEFAULT)),
            Wake(SERVICE_ACCOUNTS, called(DEFAULT, itself), when=GONE),
        ),
        decide=_decide,
    )


def _decide(view: Reading, key: Key, now: float) -> Decision:
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
    return Decision(effects=(create_object(label, SERVICE_ACCOUNTS, key.namespace, DEFAULT, body),))
