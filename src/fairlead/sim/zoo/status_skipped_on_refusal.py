"""laws.md 7: while creates are refused nothing is reported. Pods that were made before become ready unseen."""

from __future__ import annotations

from dataclasses import replace

from fairlead.decision.contract import NOTHING
from fairlead.decision.decider import Decider
from fairlead.sim.parts import Parts
from fairlead.sim.zoo.wrapping import wrap


def mute(inner: Decider) -> Decider:
    return replace(inner, refused=lambda view, key, refusal, now: NOTHING)


def plant(parts: Parts) -> Parts:
    return wrap(parts, "replicaset", mute)
