"""Virtual time: a heap of what happens when, in whole milliseconds. Which of several due events runs next is a choice.

Whatever waits in the world (messages, syncs, timers, people) is an entry here; `World.run` takes one after the other.
Nothing is cancelled: an event that has lost its meaning (its process crashed, its timer was replaced) does nothing.
An entry remembers the step of the trail that put it there, which is then the cause of what it does (`trail.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Any

from fairlead.sim.chance import Chance
from fairlead.sim.trail import NO_CAUSE

EPOCH = 1_800_000_000  # seconds; any instant does, as long as it is always the same

Act = Callable[..., None]


class Timeline:
    __slots__ = ("_chance", "_heap", "_order", "_ready", "cause", "epoch", "ms", "ran")

    def __init__(self, chance: Chance, epoch: int = EPOCH) -> None:
        self.epoch = epoch
        self._chance = chance
        self._heap: list[tuple[int, int, Act, tuple[Any, ...], int]] = []
        self._ready: list[tuple[Act, tuple[Any, ...], int]] = []  # due at `ms`
        self._order = 0
        self.ms = 0
        self.ran = 0
        self.cause = NO_CAUSE  # the step of the trail that what happens now follows from

    @property
    def now(self) -> float:
        """Seconds since the epoch, on a clock that is right."""
        return self.epoch + self.ms / 1000

    def last_step(self) -> int:
        """Of the trail: what was noted last, in what happens now or in what led to it."""
        return self.cause

    def at(self, ms: int, act: Act, *arguments: Any) -> None:
        if ms <= self.ms:
            self._ready.append((act, arguments, self.cause))
            return
        self._order += 1
        heappush(self._heap, (ms, self._order, act, arguments, self.cause))

    def after(self, ms: int, act: Act, *arguments: Any) -> None:
        if ms <= 0:
            self._ready.append((act, arguments, self.cause))
            return
        self._order += 1
        heappush(self._heap, (self.ms + ms, self._order, act, arguments, self.cause))

    def waiting(self) -> Iterator[tuple[Act, tuple[Any, ...]]]:
        """All that is still to happen, in no particular order."""
        yield from ((act, arguments) for act, arguments, _ in self._ready)
        yield from ((act, arguments) for _, _, act, arguments, _ in self._heap)

    def clear(self) -> None:
        """Nothing happens any more."""
        self._ready.clear()
        self._heap.clear()

    def run_until(self, ms: int) -> None:
        """Run all there is up to this moment; then it is this moment."""
        ready, heap, order = self._ready, self._heap, self._chance.order
        while True:
            if not ready:
                if not heap or heap[0][0] > ms:
                    break
                due, _, act, arguments, self.cause = heappop(heap)
                self.ms = due
                if not heap or heap[0][0] != due:  # most are alone
                    self.ran += 1
                    act(*arguments)
                    continue
                ready.append((act, arguments, self.cause))
                while heap and heap[0][0] == due:
                    _, _, act, arguments, cause = heappop(heap)
                    ready.append((act, arguments, cause))
            count = len(ready)
            act, arguments, self.cause = ready.pop(order(self.ms, count) if count > 1 else 0)
            self.ran += 1
            act(*arguments)
        self.ms = max(self.ms, ms)
        self.cause = NO_CAUSE
