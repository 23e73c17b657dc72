"""An agent says again that its node is ready as soon as a plane has written that it is not: until the plane hears of a
renewal, both write as fast as they are told of the other."""

from __future__ import annotations

from typing import Any

from fairlead.agent.machine import Agent
from fairlead.agent.node import Registration
from fairlead.sim.parts import replacing


class _Insisting(Registration):
    def step(self, node: Any, revision: int, ready: tuple[bool, str], renewals: int, now: float) -> Any:
        self._said = self._said._replace(renewals=-1)
        return super().step(node, revision, ready, renewals, now)


class InsistingAgent(Agent):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.registration = _Insisting(self.settings, self.pace, self.means.calls)


plant = replacing(agent=InsistingAgent)
