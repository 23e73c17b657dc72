"""Zoo 18: writes carry no fence, so a leader that was replaced finishes what it had begun."""

from __future__ import annotations

from fairlead.control.controller import Controller
from fairlead.control.instructions import Call, Instruction
from fairlead.control.placing import Placer
from fairlead.control.plane import Plane
from fairlead.sim.parts import Parts


class UnfencedPlane(Plane):
    def _sent(
        self, controller: Controller | Placer, instruction: Instruction, now: float
    ) -> tuple[Instruction, ...]:
        if isinstance(instruction, Call):
            self._callers[instruction.call] = controller
        return (instruction,)


def plant(parts: Parts) -> Parts:
    return {**parts, "plane": UnfencedPlane}
