"""Injects the faults of a ChaosExperiment between this server's plane and its API, until the experiment ends.

Told of changes by `process.py`, so that its end does not hang on watches which it may be holding back. The plane's
driver asks before it sends a request (`strikes`) and before it delivers (`of_watch`); what is drawn is decided in
`sim/injection.py`. The plane is struck and nothing else: neither other clients, nor nodes and their processes. Ends by
itself, when the object is deleted, and when the PlaneSettings no longer allow it. What was injected is counted in the
object's status, and every answer that a fault gave is on the plane's tape.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from fairlead.api.access.users import MASTERS, User
from fairlead.control.instructions import Call
from fairlead.core import codec
from fairlead.model.catalog import Catalog
from fairlead.model.key import Key
from fairlead.model.kinds import planesettings
from fairlead.model.kinds.chaosexperiment import KIND, ends_at
from fairlead.model.policy.plane_knobs import NAME
from fairlead.port.outcome import Outcome
from fairlead.port.request import MERGE_PATCH, Request
from fairlead.runtime.server.host import ServingHost
from fairlead.sim.calls import TIMEOUT_MS, touch_of, writes_on
from fairlead.sim.injection import LAG_MS, LATE_MS, SLOW_MS, Injection, answer_when
from fairlead.store.contract import CommittedChange, Entry, Reader
from fairlead.store.damage import is_stand_in

log = logging.getLogger("fairlead.chaos")

#: bound: plane | a running ChaosExperiment is looked at every | -
CHAOS_SECONDS = 1.0
_USER = User("system:fairlead:chaos", groups=(MASTERS,))
_SETTINGS = Key(planesettings.KIND.resource, "", NAME)
_TIMEOUT_SECONDS = TIMEOUT_MS / 1000

Answer = Callable[[Outcome], None]
Send = Callable[[Answer], None]


def _unheard(outcome: Outcome) -> None:
    """The caller has given up."""


class Chaos:
    """Fed by `observe`, worked by `run`. `paused`: told for how long the plane stops, 0 when it goes on."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, host: ServingHost, store: Reader, catalog: Catalog,
        clock: Callable[[], float],
    ) -> None:  # fmt: skip
        self._loop, self._host, self._store, self._catalog, self._clock = loop, host, store, catalog, clock
        self._running: Injection | None = None
        self._name, self._ends = "", 0.0
        self._told: dict[str, int] = {}
        self._held_until: dict[str, float] = {}
        self._paused_until = 0.0
        self.hold: Callable[[], None] = lambda: None
        self.go_on: Callable[[], None] = lambda: None

    # Which experiment runs

    def learn(self) -> None:
        """What there is: an experiment outlives the server, until its end."""
        self._choose()

    def observe(self, changes: Iterable[CommittedChange]) -> None:
        if any(each.entry.key.resource == KIND.resource or each.entry.key == _SETTINGS for each in changes):
            self._choose()

    def _choose(self) -> None:
        now = self._clock()
        found = [each for each in map(_tree, self._store.list(KIND.resource)) if now < ends_at(each)]
        if not found or not self._is_allowed():
            self._end()
            return
        experiment = min(found, key=lambda each: each["metadata"]["creationTimestamp"])
        if experiment["metadata"]["uid"] != self._name:
            self._end()
            self._running, self._told = Injection(experiment["spec"]), {}
            self._name, self._ends = experiment["metadata"]["uid"], ends_at(experiment)
            log.warning("chaos: %s injects faults until %s", experiment["metadata"]["name"], self._ends)

    def _is_allowed(self) -> bool:
        entry = self._store.get(_SETTINGS)
        spec = _tree(entry).get("spec") or {} if entry is not None else {}
        return bool((spec.get("chaos") or {}).get("allowed"))

    def _end(self) -> None:
        if self._running is not None:
            self._tell_status()
            log.warning("chaos: the experiment has ended")
        self._running, self._name = None, ""
        self._held_until.clear()
        if self._paused_until:
            self._paused_until = 0.0
            self.go_on()

    async def run(self) -> None:
        while True:
            await asyncio.sleep(CHAOS_SECONDS)
            self.look()

    def look(self) -> None:
        now = self._clock()
        running = self._running
        if self._paused_until and now >= self._paused_until:
            self._paused_until = 0.0
            self.go_on()
        if running is None:
            return
        if now >= self._ends:
            self._end()
            return
        self._tell_status()
        if not self._paused_until and (seconds := running.pause_seconds()):
            self._paused_until = min(now + seconds, self._ends)
            log.warning("chaos: the plane stops for %.1f s", self._paused_until - now)
            self.hold()

    def _tell_status(self) -> None:
        running = self._running
        if running is None or dict(running.injected) == self._told:
            return
        self._told = dict(running.injected)
        entry = next((each for each in self._store.list(KIND.resource) if each.uid == self._name), None)
        if entry is None:
            return
        injected = [{"name": name, "count": count} for name, count in sorted(self._told.items())]
        patch = Request(
            "patch", KIND.group, KIND.version, KIND.plural, "", entry.key.name, "status",
            body=codec.encode({"status": {"injected": injected}}), content_type=MERGE_PATCH,
        )  # fmt: skip
        self._host.send(patch, _USER, lambda reply: None)

    # What it does

    def strikes(self, call: Call, send: Send, answer: Answer) -> str:
        """The fault that strikes this request, and that is carried out in place of sending it; "": none does."""
        running = self._running
        if running is None or self._clock() >= self._ends:
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
                self._touch(call.request)
                send(answer)
        return fate

    def _touch(self, request: Request) -> None:
        key = writes_on(request)
        kind = self._catalog.of_resource(key.resource)
        if kind is not None:
            text = f"chaos-{sum(self._running.injected.values()) if self._running else 0}"
            self._host.send(touch_of(kind, key, text), _USER, lambda reply: None)

    def of_watch(self, resource: str) -> tuple[str, float]:
        """The fault that strikes this delivery, and for how long it is held back."""
        running, now = self._running, self._clock()
        if running is None or now >= self._ends:
            return "", 0.0
        left = self._held_until.get(resource, 0.0) - now
        if left > 0.0:
            return "watch_lag", left
        fate = running.fate_of_watch(resource)
        if fate != "watch_lag":
            return fate, 0.0
        seconds = min(running.delay_seconds("watch.lag", resource, LAG_MS), self._ends - now)
        self._held_until[resource] = now + seconds
        return fate, seconds


def _tree(entry: Entry) -> dict[str, Any]:
    return {} if is_stand_in(entry.data) else codec.decode(entry.data)


def _nothing(handle: object) -> None:
    """A timer was set."""
