"""Zoo 18: writes carry no fence, so a leader that was replaced finishes what it had begun."""

from __future__ import annotations

from fairlead.control.instructions import Call, Instruction
from fairlead.control.outgoing import Worker
from fairlead.control.plane import Plane
from fairlead.sim.parts import replacing


class UnfencedPlane(Plane):
    def _sent(self, worker: Worker, instruction: Instruction, now: float) -> tuple[Instruction, ...]:
        if isinstance(instruction, Call):
            self.outgoing.remember(worker, instruction)
        return (instruction,)


plant = replacing(plane=UnfencedPlane)
