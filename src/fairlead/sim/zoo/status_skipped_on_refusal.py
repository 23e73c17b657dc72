"""laws.md 7: while creates are refused nothing is reported. Pods that were made before become ready unseen."""

from __future__ import annotations

from dataclasses import replace

from fairlead.decision.contract import NOTHING
from fairlead.decision.decider import Decider
from fairlead.sim.zoo.wrapping import spoiling


def mute(inner: Decider) -> Decider:
    return replace(inner, refused=lambda view, key, refusal, now: NOTHING)


plant = spoiling("replicaset", mute)
