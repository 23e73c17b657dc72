"""The plane of a server: one at a time, and another in its place when one has failed.

A machine that raised is in no known state and is asked nothing more (`runtime/driving.py`). All that a plane knows it
has from the store, so the next one reads that and goes on; the new fence refuses what the former still has under way.
Made by `serving.py`, and read through `plane` by whoever shows what the plane does: never kept, as it may be another
soon.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping

from fairlead.cache.lag import MirrorLag
from fairlead.control.diagnosis import Check, diagnose
from fairlead.control.plane import Plane
from fairlead.runtime.clock import ClockStep
from fairlead.runtime.server.plane_driver import PlaneDriver
from fairlead.store.watch import Subscription

log = logging.getLogger("fairlead.plane")

# A fault that comes back at once must not keep the server busy.
REPLACE_SECONDS, REPLACE_SECONDS_MAX = 1.0, 60.0
# One that lasted so long did not fail at once.
_LASTED_SECONDS = 300.0

Failed = Callable[[BaseException], None]


class Planes:
    def __init__(self, loop: asyncio.AbstractEventLoop, drive: Callable[[Failed], PlaneDriver]) -> None:
        """`drive`: a new plane and what drives it."""
        self.replaced = 0
        self._loop = loop
        self._drive = drive
        self._driver = drive(self._failed)
        self._began_at = 0.0
        self._wait = REPLACE_SECONDS
        self._timer: asyncio.TimerHandle | None = None
        self._trouble = ""  # what the present one died of, by its class alone

    @property
    def plane(self) -> Plane:
        return self._driver.plane

    def lags(self) -> dict[str, MirrorLag]:
        """How far each mirror of the plane is behind the store."""
        return self._driver.lags()

    def checks(self, lags: Mapping[str, MirrorLag], now: float) -> tuple[Check, ...]:
        """Whether the plane does its work."""
        since = now - (self._loop.time() - self._began_at)
        return diagnose(self.plane, lags, now, since, self._trouble)

    def start(self) -> None:
        self._began_at = self._loop.time()
        self._driver.start()

    def stop(self) -> None:
        """Answers that still come are dropped; leadership ends with its lease."""
        if self._timer is not None:
            self._timer.cancel()
        self._driver.stop()

    def stepped(self, step: ClockStep) -> None:
        """The wall clock was set."""
        self._driver.stepped(step)

    def wake(self, subscriptions: Iterable[Subscription]) -> None:
        """Called after each publish with those who have something new."""
        self._driver.wake(subscriptions)

    def _failed(self, error: BaseException) -> None:
        if self._loop.time() - self._began_at > _LASTED_SECONDS:
            self._wait = REPLACE_SECONDS
        log.critical("the plane failed; another takes its place in %g s", self._wait, exc_info=error)
        self._trouble = type(error).__name__
        self._timer = self._loop.call_later(self._wait, self._replace)
        self._wait = min(2 * self._wait, REPLACE_SECONDS_MAX)

    def _replace(self) -> None:
        self._driver.stop()
        self._driver = self._drive(self._failed)
        self._trouble = ""
        self.replaced += 1
        self.start()
