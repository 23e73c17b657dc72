"""A Decider that does not survive what it did not expect: here, a Deployment whose pods are not all updated."""

from __future__ import annotations

from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.model.key import Key
from fairlead.model.views import DEPLOYMENTS
from fairlead.sim.zoo.wrapping import deciding, spoiling


@deciding
def brittle(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    found = view.get(DEPLOYMENTS, key.namespace, key.name)
    if found is not None and 0 < found.status.updated_replicas < found.status.replicas:
        raise RuntimeError(f"{key.name} is between two templates")
    return inner.decide(view, key, now)


plant = spoiling("deployment", brittle)
