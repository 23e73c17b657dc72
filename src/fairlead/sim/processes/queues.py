"""The work queue of a simulated plane: production's, but that chance may have another ready key come first.

Nothing may rest on the order in which a queue hands out what is ready: it depends on when changes arrived. The world
gives every controller of a plane one of these (`world.py`), as production gives it a `WorkQueue`.

One thing about the order is promised and judged here (`repair-goes-first`): a key goes before one for which a higher
priority was asked only when its own priority was passed over as often as is allowed. What was asked for is kept apart
from what the queue made of it.
"""

from __future__ import annotations

from collections.abc import Callable

from fairlead.model.key import Key
from fairlead.queue.entry import Priority, TakenKey
from fairlead.queue.lines import FairLine
from fairlead.queue.settings import QueueSettings
from fairlead.queue.work import WorkQueue
from fairlead.sim.chance import FaultStream
from fairlead.sim.violation import Violation

REPAIR_FIRST = "repair-goes-first"


class DrawnQueue(WorkQueue[Key]):
    def __init__(self, settings: QueueSettings, reorders: FaultStream, likely: Callable[[], float]) -> None:
        super().__init__(settings)
        self._reorders, self._likely = reorders, likely
        self._asked: dict[Key, int] = {}  # the highest priority that was asked for a turn to come
        self._passed = dict.fromkeys(Priority, 0)

    def add_at(self, key: Key, now: float, at: float, priority: Priority = Priority.NORMAL) -> None:
        self._asked[key] = max(priority, self._asked.get(key, priority))
        super().add_at(key, now, at, priority)

    def pop(self, now: float) -> TakenKey[Key] | None:
        taken = super().pop(now)
        if taken is not None:
            self._judge(taken.key, Priority(self._asked.pop(taken.key)))
        return taken

    def _judge(self, key: Key, priority: Priority) -> None:
        ready = {Priority(self._asked[each]): each for each, entry in self._waiting.items() if entry.is_ready}
        above = max(ready, default=priority)
        if above > priority and self._passed[priority] < self.settings.passes_max:
            told = f"{key} ({priority.name}) had its turn before {ready[above]} ({above.name})"
            raise Violation(REPAIR_FIRST, told)
        for each in ready:
            self._passed[each] += 1
        self._passed[priority] = 0

    def _choose(self) -> FairLine[Key]:
        """The first goes to the end of its line, as if it had come later, and the one behind it has the turn."""
        line = super()._choose()
        if line.live > 1 and self._reorders.happens(self._likely()):
            line.push(line.take())
        return line
