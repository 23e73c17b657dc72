"""A controller of runs that writes its report whatever happened since it looked: what a step made is forgotten."""

from __future__ import annotations

from msgspec import structs

from fairlead.control.instructions import Call, Instruction
from fairlead.control.outgoing import Worker
from fairlead.control.plane import Plane
from fairlead.core import codec
from fairlead.model.kinds.runbook import RUN
from fairlead.sim.parts import replacing


class HeedlessPlane(Plane):
    def _sent(self, worker: Worker, instruction: Instruction, now: float) -> tuple[Instruction, ...]:
        if isinstance(instruction, Call) and instruction.request.plural == RUN.plural:
            request = instruction.request
            if request.subresource == "status":
                body = codec.decode(request.body)
                body["metadata"].pop("resourceVersion", None)
                instruction = structs.replace(
                    instruction, request=structs.replace(request, body=codec.encode(body))
                )
        return super()._sent(worker, instruction, now)


plant = replacing(plane=HeedlessPlane)
