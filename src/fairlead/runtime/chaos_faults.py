"""Carries out the faults of a running ChaosExperiment between a plane and its API.

    begin(uid, spec, ends) / end()          which experiment; told by who knows the objects
    strikes(call, send, answer)             asked before a request is sent
    of_watch(resource)                      asked before a delivery is told
    look()                                  once a second: pauses, and the end

What is drawn is decided in `sim/injection.py`. The plane is struck and nothing else: neither other clients, nor nodes
and their processes. The drivers of planes ask (`server/plane_driver.py`, `remote/plane.py`) and say how the plane is
held. In the server `server/chaos.py` tells it of experiments; a plane in another process hears of them from its server
(`remote/shipping.py`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial

from fairlead.control.instructions import Call
from fairlead.model.catalog import Catalog
from fairlead.model.kind import Json
from fairlead.port.outcome import Outcome
from fairlead.port.request import Request
from fairlead.sim.calls import TIMEOUT_MS, touch_of, writes_on
from fairlead.sim.injection import LAG_MS, LATE_MS, SLOW_MS, Injection, answer_when

log = logging.getLogger("fairlead.chaos")

#: bound: plane | a running ChaosExperiment is looked at every | -
CHAOS_SECONDS = 1.0
_TIMEOUT_SECONDS = TIMEOUT_MS / 1000

Answer = Callable[[Outcome], None]
Send = Callable[[Answer], None]


def _unheard(outcome: Outcome) -> None:
    """The caller has given up."""


class Striking:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        catalog: Catalog,
        clock: Callable[[], float],
        touch: Callable[[Request], None],
    ) -> None:
        """`touch`: sends what somebody else writes at the wrong moment."""
        self._loop, self._catalog, self._clock, self._touch = loop, catalog, clock, touch
        self._running: Injection | None = None
        self.experiment, self.ends = "", 0.0  # its uid
        self._held_until: dict[str, float] = {}
        self._paused_until = 0.0
        self.hold: Callable[[], None] = lambda: None
        self.go_on: Callable[[], None] = lambda: None

    @property
    def injected(self) -> Mapping[str, int]:
        """Faults of the experiment that have fired here."""
        return self._running.injected if self._running is not None else {}

    def begin(self, uid: str, spec: Json, ends: float) -> None:
        """Nothing if it runs already."""
        if uid != self.experiment:
            self.end()
            self._running, self.experiment, self.ends = Injection(spec), uid, ends
            log.warning("chaos: an experiment injects faults for %.0f s", ends - self._clock())

    def end(self) -> None:
        if self._running is not None:
            log.warning("chaos: the experiment has ended")
        self._running, self.experiment = None, ""
        self._held_until.clear()
        if self._paused_until:
            self._paused_until = 0.0
            self.go_on()

    async def run(self) -> None:
        while True:
            await asyncio.sleep(CHAOS_SECONDS)
            self.look()

    def look(self) -> None:
        now, running = self._clock(), self._running
        if running is not None and now >= self.ends:
            self.end()
            return
        if self._paused_until and now >= self._paused_until:
            self._paused_until = 0.0
            log.warning("chaos: the plane goes on")
            self.go_on()
        if running is not None and not self._paused_until and (seconds := running.pause_seconds()):
            self._paused_until = min(now + seconds, self.ends)
            log.warning("chaos: the plane stops for %.1f s", self._paused_until - now)
            self.hold()

    def strikes(self, call: Call, send: Send, answer: Answer) -> str:
        """The fault that strikes this request, and that is carried out in place of sending it; "": none does."""
        running = self._running
        if running is None or self._clock() >= self.ends:
            return ""
        fate = running.fate_of_call(call.controller, call.request)
        actor, later = f"{call.controller} {fate}", self._loop.call_later
        unanswered = partial(answer, answer_when(fate))
        match fate:
            case "request_lost":
                later(_TIMEOUT_SECONDS, unanswered)
            case "request_late":
                later(_TIMEOUT_SECONDS, unanswered)
                late = running.delay_seconds("call.late", actor, LATE_MS)
                later(_TIMEOUT_SECONDS + late, send, _unheard)
            case "reply_lost":
                send(lambda outcome: _nothing(later(_TIMEOUT_SECONDS, unanswered)))
            case "request_slow":
                later(running.delay_seconds("call.slow", actor, SLOW_MS), send, answer)
            case "throttled":
                self._loop.call_soon(unanswered)
            case "racing_write":
                self._race(call.request, running)
                send(answer)
        return fate

    def _race(self, request: Request, running: Injection) -> None:
        key = writes_on(request)
        kind = self._catalog.of_resource(key.resource)
        if kind is not None:
            self._touch(touch_of(kind, key, f"chaos-{sum(running.injected.values())}"))

    def of_watch(self, resource: str) -> tuple[str, float]:
        """The fault that strikes this delivery, and for how long it is held back."""
        running, now = self._running, self._clock()
        if running is None or now >= self.ends:
            return "", 0.0
        left = self._held_until.get(resource, 0.0) - now
        if left > 0.0:
            return "watch_lag", left
        fate = running.fate_of_watch(resource)
        if fate != "watch_lag":
            return fate, 0.0
        seconds = min(running.delay_seconds("watch.lag", resource, LAG_MS), self.ends - now)
        self._held_until[resource] = now + seconds
        return fate, seconds


def _nothing(handle: object) -> None:
    """A timer was set."""
