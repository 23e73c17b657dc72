"""A key that is added while its turn is under way is taken to be dealt with: what changed meanwhile stays unseen."""

from __future__ import annotations

from fairlead.model.key import Key
from fairlead.queue.entry import Priority
from fairlead.sim.parts import replacing
from fairlead.sim.processes.queues import DrawnQueue

_SOON_SECONDS = 1.0


class BusyQueue(DrawnQueue):
    def add_at(self, key: Key, now: float, at: float, priority: Priority = Priority.NORMAL) -> None:
        if key in self._working and at <= now + _SOON_SECONDS:
            return
        super().add_at(key, now, at, priority)


plant = replacing(queue=BusyQueue)
