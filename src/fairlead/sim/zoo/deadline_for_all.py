"""Zoo: every pod is given a deadline, as if at most one of each might run: a plane that is away ends all of them."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from fairlead.agent.contract import LiftDeadline, Open
from fairlead.agent.machine import Agent
from fairlead.sim.parts import replacing


class Fencing(Agent):
    def _finish(self, *given: Any) -> Any:
        made = super()._finish(*given)
        return tuple(
            structs.replace(each, deadline=self.means.deadline) if isinstance(each, Open) else each
            for each in made
            if not isinstance(each, LiftDeadline)
        )


plant = replacing(agent=Fencing)
