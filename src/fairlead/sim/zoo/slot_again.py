"""A CronJob controller that goes by the Jobs it finds, not by the last instant it remembers: what has had its
turn, and whose Job has been forgotten, is run again."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.model.key import Key
from fairlead.model.views import CronJob
from fairlead.sim.zoo.wrapping import deciding, spoiling


class _WithoutMemory:
    """A view in which no CronJob has ever run."""

    def __init__(self, view: Reading, now: float) -> None:
        self._view, self._now = view, now

    def get(self, *asked: Any) -> Any:
        found: Any = self._view.get(*asked)
        if not isinstance(found, CronJob):
            return found
        return structs.replace(found, status=structs.replace(found.status, last_schedule_time=""))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)


@deciding
def forgetful(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    decision = inner.decide(view, key, now)
    if decision.effects:
        return decision
    forgetful: Any = _WithoutMemory(view, now)
    return inner.decide(forgetful, key, now)


plant = spoiling("cronjob", forgetful)
