"""An agent that hears nothing of an Event forgets it, and makes it when the same happens again: if it is there already,
that is refused for as long as it is there, and what happens is counted no more."""

from __future__ import annotations

from typing import Any

from fairlead.agent.machine import Agent
from fairlead.agent.notes import Notes
from fairlead.port.outcome import Done, Outcome
from fairlead.sim.parts import replacing


class _Forgetful(Notes):
    def answered(self, about: str, outcome: Outcome) -> None:
        if isinstance(outcome, Done):
            super().answered(about, outcome)
        elif self._told.pop(about, None) is not None:
            self.dropped += 1


class ForgetfulAgent(Agent):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.means.notes = _Forgetful(self.settings, self.pace, self.means.calls)


plant = replacing(agent=ForgetfulAgent)
