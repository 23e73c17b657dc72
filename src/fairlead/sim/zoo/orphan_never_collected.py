"""Zoo 16: garbage is what its owner's deletion was seen to leave behind. Whatever lost its owner unseen stays."""

from __future__ import annotations

from fairlead.decision.decider import Decider
from fairlead.reconcile.garbage import NAME
from fairlead.sim.zoo.late_child_kept import unwary
from fairlead.sim.zoo.wrapping import spoiling


def sighted_collector(inner: Decider) -> Decider:
    """Looks at what belongs to an object when that goes, and at nothing else, ever."""
    return unwary(inner)


plant = spoiling(NAME, sighted_collector)
