"""Drives one machine (`port/driving.py`) on the event loop: its events, its timers, the work that its instructions ask
for, its end.

`server/plane_driver.py`, `remote/plane.py` and `node/driver.py` have one each, and add how they list, follow and call.
Every event goes through `tell`: who wants to know all that a machine was told has one place to listen. An error, of the
machine or of what carries its instructions out, leaves it in no known state: it is asked nothing more, and `failed`
hears of it.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from msgspec import structs

from fairlead.port.driving import Machine, Started, WakeAt, Woke

E = TypeVar("E")
I = TypeVar("I")  # noqa: E741 - instructions, as E is events


class Driver(Generic[E, I]):
    """`carry_out` gets the instructions of one event, in order; those for timers it hands to `wake_at`."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        machine: Machine[E, I],
        carry_out: Callable[[tuple[I, ...]], None],
        clock: Callable[[], float],
        failed: Callable[[BaseException], None],
    ) -> None:
        self.stopped = False
        self.chance = random.Random().random
        self._loop = loop
        self._machine = machine
        self._carry_out = carry_out
        self._clock = clock
        self._failed = failed
        self._events: deque[E | Started | Woke] = deque()  # the first is being handled
        self._held: deque[E | Started | Woke] | None = None
        self.hear: Callable[[E | Started | Woke], None] | None = (
            None  # told of every event before the machine is
        )
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._tasks: dict[asyncio.Task[None], None] = {}  # in the order in which they began

    def start(self) -> None:
        self.tell(Started(self._clock(), self.chance()))

    def tell(self, event: E | Started | Woke) -> None:
        """The only way into the machine. What is told while an event is handled or carried out waits for that."""
        if self.stopped:
            return
        events = self._events
        if self._held is not None:
            self._held.append(event)
            return
        events.append(event)
        if len(events) > 1:
            return
        try:
            while events and not self.stopped:
                if self.hear is not None:
                    self.hear(events[0])
                self._carry_out(self._machine.handle(events[0]))
                events.popleft()
        except Exception as error:  # noqa: BLE001 - a machine that failed half-way must not be asked again
            self.fail(error)

    def fail(self, error: BaseException) -> None:
        if not self.stopped:
            self.stopped = True
            self._failed(error)

    def end(self) -> None:
        """Nothing more is told: timers and work that is under way are dropped."""
        self.stopped = True
        for timer in self._timers.values():
            timer.cancel()
        for task in self._tasks:
            task.cancel()

    async def stop(self) -> None:
        """The same, and what was under way has ended when it returns."""
        self.end()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # Like a process that is stopped and goes on

    def hold(self) -> None:
        """The machine is told nothing until `go_on`; what comes meanwhile waits."""
        if self._held is None:
            self._held = deque()

    def go_on(self) -> None:
        """What waited is told now, as if it had come now: who was stopped looks at the clock when it goes on."""
        held, self._held = self._held, None
        now = self._clock()
        for event in held or ():
            self.tell(arriving_now(event, now))

    # For those who carry out

    def wake_at(self, wake: WakeAt) -> None:
        self.drop_timer(wake.timer)
        delay = max(0.0, wake.at - self._clock())
        self._timers[wake.timer] = self._loop.call_later(delay, self._woke, wake.timer)

    def drop_timer(self, timer: str) -> None:
        handle = self._timers.pop(timer, None)
        if handle is not None:
            handle.cancel()

    def do(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """An error of it is one of the machine's."""
        task = self._loop.create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._done)
        return task

    def _woke(self, timer: str) -> None:
        self.tell(Woke(self._clock(), self.chance(), timer))

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fail(error)


def arriving_now(event: Any, now: float) -> Any:
    """The same event at another instant; what arrived together (`events`, `replies`) still does."""
    for several in ("events", "replies"):
        if (parts := getattr(event, several, None)) is not None:
            moved = tuple([structs.replace(each, now=now) for each in parts])
            return structs.replace(event, **{several: moved})
    return structs.replace(event, now=now)
