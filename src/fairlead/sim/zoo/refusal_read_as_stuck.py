"""laws.md 13: a refusal that another object may lift is taken for the end. Nothing but a resync looks again."""

from __future__ import annotations

from typing import Any

from fairlead.control.plane import Plane
from fairlead.control.refusal_waits import Waiter, Waits
from fairlead.control.refusals import Refusals
from fairlead.control.turn import Turn
from fairlead.decision.contract import Verdict
from fairlead.model.views import View
from fairlead.sim.parts import replacing


class DeafWaits(Waits):
    def eased(self, resource: str, before: View | None, after: View | None) -> list[Waiter]:
        return []


class FinalRefusals(Refusals):
    def add(self, turn: Turn, is_retried: bool, now: float, chance: float) -> tuple[Verdict, float]:
        return super().add(turn, False, now, chance)


class GivesUp(Plane):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.health.waits.__class__ = DeafWaits
        for controller in self.controllers:
            controller.refusals.__class__ = FinalRefusals


plant = replacing(plane=GivesUp)
