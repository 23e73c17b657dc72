"""The clock of a process: steady, anchored to the wall clock at its start; and the wall clock itself, which may be set.

Made once by what starts a process (`server/process.py`, `node/process.py`, `remote/process.py`, `node/hollow.py`) and
handed to all that needs the time. `clock()` is the time of everything: of durations, of expiry, and of the times
written into objects, which are compared with one another; it never jumps, whatever is done to the wall clock, and goes
on while the machine sleeps. `clock.wall()` is what the wall clock shows, for what is due by it. `follow_wall_clock`
asks `look` now and then whether the wall clock was set, and whoever is concerned is told. Why: docs/adr/0015.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from fairlead.core.times import timestamp

log = logging.getLogger("fairlead.clock")

#: bound: plane | the wall clock is looked at every | -
CLOCK_LOOK_SECONDS = 1.0
# Less than this is not worth a word: whole seconds are all that schedules and times in objects know.
#: bound: plane | a step of the wall clock that counts | smaller ones are not told
CLOCK_STEP_SECONDS_MIN = 1.0
# A look during which the process was stopped says nothing about the wall clock.
_LOOK_SECONDS_MAX = 0.1


class ClockStep(NamedTuple):
    """The wall clock was set. `at` and `ahead_seconds` are of the steady clock: by how much the other is now ahead."""

    at: float
    seconds: float  # ahead; negative: back
    ahead_seconds: float

    def __str__(self) -> str:
        way = "ahead" if self.seconds > 0 else "back"
        shown = self.at + self.ahead_seconds
        return (
            f"the wall clock was set {way} by {abs(self.seconds):.0f} s, from {timestamp(shown - self.seconds)}"
            f" to {timestamp(shown)}"
        )


# Since the machine was started, sleep included; nobody can set it.
boot_seconds: Callable[[], float] = partial(
    time.clock_gettime, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
)


class Clock:
    def __init__(
        self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = boot_seconds
    ) -> None:
        self.wall = wall
        self.steady = steady  # cheaper than the time; for durations that are compared with nothing else
        self._anchor = wall() - steady()
        self.ahead_seconds = 0.0  # the wall clock of this one, as of the last step that was noticed
        self.steps = 0

    def __call__(self) -> float:
        """Seconds since the epoch, as if nobody had set the wall clock since the start. In whole microseconds, as they
        are written down: a decision is run again at the very instant that its record tells."""
        # A number of microseconds by a million is the float nearest to their decimals, as `round(seconds, 6)` is, which
        # goes through text and takes ten times as long: each pod asks the time eight times.
        return round((self.steady() + self._anchor) * 1e6) / 1e6

    def look(self) -> ClockStep | None:
        """What was done to the wall clock since the last look."""
        now = self()
        ahead = self.wall() - now
        moved = ahead - self.ahead_seconds
        if abs(moved) < CLOCK_STEP_SECONDS_MIN or self() - now > _LOOK_SECONDS_MAX:
            return None
        self.ahead_seconds = ahead
        self.steps += 1
        return ClockStep(now, moved, ahead)


async def follow_wall_clock(clock: Clock, stepped: Callable[[ClockStep], None]) -> None:
    """For ever: says in the log that the wall clock was set, and tells `stepped`."""
    while True:
        await asyncio.sleep(CLOCK_LOOK_SECONDS)
        step = clock.look()
        if step is not None:
            log.warning(
                "%s; times go on by the steady clock, schedules of CronJobs follow: restart this process to date"
                " by the new time as well",
                step,
            )
            stepped(step)
