"""Zoo 19: a controller tidies up what another has written, which writes it again, for ever."""

from __future__ import annotations

from msgspec import structs

from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.ensure import ensure_field
from fairlead.model.key import Key
from fairlead.model.views import REPLICASETS
from fairlead.sim.zoo.wrapping import deciding, spoiling

_REVISION = "deployment.kubernetes.io/revision"


@deciding
def tidy(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    """Annotations that this controller does not know are none of a ReplicaSet's."""
    decision = inner.decide(view, key, now)
    found = view.get(REPLICASETS, key.namespace, key.name)
    if decision.effects or found is None:
        return decision
    known = found.metadata.annotations.get(_REVISION)
    path = ("metadata", "annotations", _REVISION)
    gone = ensure_field(inner.name, found.metadata, REPLICASETS, found, path, known, None)
    return structs.replace(decision, effects=(gone,) if gone else ())


plant = spoiling("replicaset", tidy)
