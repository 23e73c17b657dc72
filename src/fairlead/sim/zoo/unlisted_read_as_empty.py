"""A kind of which nobody could list the objects yet is taken for one without objects. An owner that is deleted without
its dependents lets go of itself, and those that turn up later are taken for garbage."""

from __future__ import annotations

from typing import Any

from fairlead.cache.view import MirrorView
from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.model.key import Key
from fairlead.reconcile.garbage import NAME
from fairlead.sim.zoo.lag_read_as_absence import SureView
from fairlead.sim.zoo.wrapping import deciding, spoiling


@deciding
def hasty(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    """Decides on what it sees, and forgets what it could not see."""
    sure: Any = SureView(view)  # what lags would be waited for as well
    decision = inner.decide(sure, key, now)
    if isinstance(view, MirrorView):
        view._missed = None
    return decision


plant = spoiling(NAME, hasty)
