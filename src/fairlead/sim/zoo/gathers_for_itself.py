"""A role that gathers others is looked at when it changes itself: what becomes of the others passes it by."""

from __future__ import annotations

from dataclasses import replace

from fairlead.decision.decider import Decider
from fairlead.reconcile.role_aggregation import NAME
from fairlead.sim.zoo.wrapping import spoiling


def woken_by_itself(inner: Decider) -> Decider:
    return replace(inner, wakes=inner.wakes[:1])


plant = spoiling(NAME, woken_by_itself)
