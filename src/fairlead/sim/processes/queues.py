"""The work queue of a simulated plane: production's, but that chance may have another ready key come first.

Nothing may rest on the order in which a queue hands out what is ready: it depends on when changes arrived. The world
gives every controller of a plane one of these (`sim/world.py`), as production gives it a `WorkQueue`.

One thing about the order is promised and judged here (`repair-goes-first`): a key goes before one for which a higher
priority was asked only when its own priority was passed over as often as is allowed. What was asked for is kept apart
from what the queue made of it.
"""

from __future__ import annotations

from collections.abc import Callable

from fairlead.model.key import Key
from fairlead.queue.entry import Priority, QueuedKey, TakenKey
from fairlead.queue.lines import FairLine
from fairlead.queue.settings import QueueSettings
from fairlead.queue.work import WorkQueue
from fairlead.sim.chance import FaultStream
from fairlead.sim.violation import Violation

REPAIR_FIRST = "repair-goes-first"
_NONE = dict.fromkeys(Priority, 0)


class DrawnQueue(WorkQueue[Key]):
    def __init__(self, settings: QueueSettings, reorders: FaultStream, likely: Callable[[], float]) -> None:
        super().__init__(settings)
        self._reorders, self._likely = reorders, likely
        self._asked: dict[Key, Priority] = {}  # the highest priority that was asked for a turn to come
        self._ready_for = _NONE.copy()  # so many keys are ready for which this was asked
        self._passed = _NONE.copy()

    def add_at(self, key: Key, now: float, at: float, priority: Priority = Priority.NORMAL) -> None:
        before = self._asked.get(key, priority)
        asked = self._asked[key] = max(priority, before)
        entry = self._waiting.get(key)
        if entry is not None and entry.is_ready:
            self._ready_for[before] -= 1
            self._ready_for[asked] += 1
        super().add_at(key, now, at, priority)

    def _make_ready(self, entry: QueuedKey[Key]) -> None:
        self._ready_for[self._asked[entry.key]] += 1
        super()._make_ready(entry)

    def pop(self, now: float) -> TakenKey[Key] | None:
        taken = super().pop(now)
        if taken is not None:
            priority = self._asked.pop(taken.key)
            self._ready_for[priority] -= 1
            self._judge(taken.key, priority)
        return taken

    def _judge(self, key: Key, priority: Priority) -> None:
        ready = [each for each, count in self._ready_for.items() if count]
        above = max(ready, default=priority)
        if above > priority and self._passed[priority] < self.settings.passes_max:
            waits = [
                each for each, entry in self._waiting.items() if entry.is_ready and self._asked[each] == above
            ]
            told = f"{key} ({priority.name}) had its turn before {waits[-1]} ({above.name})"
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
