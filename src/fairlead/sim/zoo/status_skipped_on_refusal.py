"""R27: while creates are refused nothing is reported. Pods that were made before the refusal become ready unseen."""

from __future__ import annotations

from fairlead.decision.contract import NOTHING, Decision, Reading, Refusal
from fairlead.sim.parts import Parts
from fairlead.sim.zoo.wrapping import Wrapped, wrap
from fairlead.store.contract import Key


class Mute(Wrapped):
    def refused(self, view: Reading, key: Key, refusal: Refusal, now: float) -> Decision:
        return NOTHING


def plant(parts: Parts) -> Parts:
    return wrap(parts, "replicaset", Mute)
