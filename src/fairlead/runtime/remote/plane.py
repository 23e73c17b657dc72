"""Drives a plane against an API server elsewhere: its mirrors and calls go through `api.py`, over HTTPS.

The counterpart of `runtime/server/plane_driver.py`, which drives one in the server's own process. Used by
`runtime/node/hollow.py` and `process.py`. What such a plane decides goes to `record`, before what follows from it is
sent (`shipping.py`). Faults of an experiment strike here (`runtime/chaos_faults.py`), as in the server's process.

No server tells on demand how far a watch is. A mirror that has to know (a new leader's, which must have seen all that
the former one did) lists once more. Resources that the server lacks are empty and stay so; what
follows from a missing EvidencePolicy is the same wherever it is missing (`ledger/evidence.py`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import assert_never

from msgspec import structs

from fairlead.api.admission.plane_conditions import PLANE
from fairlead.cache.events import Broke, Expired, Listed, ListFailed, Marked, Mirrored, MirrorEvent
from fairlead.cache.lag import MirrorLag
from fairlead.cache.mirror import MirrorPhase
from fairlead.control.instructions import (
    Answers,
    AskProgress,
    Call,
    Forget,
    PlaneInstruction,
    Record,
    Replied,
    Report,
)
from fairlead.control.plane import Plane
from fairlead.model.views import Resource, View
from fairlead.port.driving import Follow, ListAll, Stepped, WakeAt
from fairlead.port.outcome import Outcome
from fairlead.runtime.acts import ActLog
from fairlead.runtime.chaos_faults import Striking
from fairlead.runtime.clock import ClockStep
from fairlead.runtime.driving import Driver
from fairlead.runtime.remote.api import Remote
from fairlead.runtime.tracing.tracer import Tracer

log = logging.getLogger("fairlead.agent")


class RemotePlaneDriver:
    """`failed` hears of an error that leaves the plane in no known state."""

    def __init__(
        self,
        plane: Plane,
        remote: Remote,
        clock: Callable[[], float],
        failed: Callable[[BaseException], None],
        record: Callable[[Sequence[Record]], None] = lambda records: None,
        tracer: Tracer | None = None,
        *,
        names_controllers: bool = False,
        chaos: Striking | None = None,
    ) -> None:
        """`names_controllers`: requests carry the name of the controller whose they are, as in the server's process.
        `chaos`: asked which fault strikes what."""
        self._names_controllers = names_controllers
        self.plane = plane
        self._remote = remote
        self._clock = clock
        self._record = record
        self._follows: dict[str, asyncio.Task[None]] = {}
        self._loop = asyncio.get_running_loop()
        self._unlisted: dict[str, str] = {}  # resources that could not be listed, and why
        self._driver = Driver(self._loop, plane, self._carry_out, clock, failed)
        self._chaos = chaos
        if chaos is not None:
            chaos.hold, chaos.go_on = self._driver.hold, self._driver.go_on
        self._lagging: dict[str, list[MirrorEvent]] = {}  # deliveries that a fault holds back
        self._acts = ActLog()
        self._tracer = tracer

    def start(self) -> None:
        self._driver.start()

    def stepped(self, step: ClockStep) -> None:
        """The wall clock was set."""
        self._driver.tell(Stepped(step.ahead_seconds, str(step), self._clock()))

    def lags(self) -> dict[str, MirrorLag]:
        """How far each mirror is behind, as far as can be known from here: the newest revision that was heard of may be
        of another resource, and a watch that is silent may have nothing to tell."""
        now = self._clock()
        return {
            resource: MirrorLag(
                mirror.behind if mirror.unfollowed_since else 0,
                max(0.0, now - mirror.unfollowed_since) if mirror.unfollowed_since else 0.0,
                mirror.trouble,
            )
            for resource, mirror in self.plane.mirrors.items()
        }

    async def stop(self) -> None:
        self._carry_out(self.plane.end_term())
        await self._driver.stop()

    # Carrying out

    def _carry_out(self, instructions: tuple[PlaneInstruction, ...]) -> None:
        self._acts.noticed(self.plane)
        for instruction in self._acts.records_first(instructions, self._record, self._tracer):
            match instruction:
                case Call():
                    self._call(instruction)
                case WakeAt():
                    self._driver.wake_at(instruction)
                case ListAll(resource, attempt):
                    self._unfollow(resource)
                    if (
                        mirror := self.plane.mirrors.get(resource)
                    ) is not None:  # not forgotten in the same step
                        self._driver.do(self._list(mirror.resource, attempt))
                case Follow(resource, since, attempt):
                    self._unfollow(resource)
                    mirror = self.plane.mirrors.get(resource)
                    if mirror is not None and resource not in self.plane.capabilities.lacks:
                        self._follows[resource] = self._driver.do(
                            self._follow(mirror.resource, since, attempt)
                        )
                case Forget(resource):
                    self._unfollow(resource)
                    self._unlisted.pop(resource, None)
                    self._driver.drop_timer(resource)
                case AskProgress(resource, revision):
                    self._loop.call_soon(self._tell_progress, resource, revision)
                case Report():
                    log.warning("%s", instruction.message, exc_info=instruction.error)
                case _:
                    assert_never(instruction)

    def _unfollow(self, resource: str) -> None:
        """Whatever still came of it would be ignored."""
        task = self._follows.pop(resource, None)
        if task is not None:
            task.cancel()

    def _call(self, call: Call) -> None:
        answer, send = partial(self._answered, call), partial(self._send, call)
        if self._chaos is None or not self._chaos.strikes(call, send, answer):
            send(answer)

    def _send(self, call: Call, answer: Callable[[Outcome], None]) -> None:
        if not self._driver.stopped:
            self._driver.do(self._asked(call, answer))

    async def _asked(self, call: Call, answer: Callable[[Outcome], None]) -> None:
        traceparent = ""
        if self._tracer is not None:
            self._tracer.called(call)
            traceparent = self._tracer.traceparent_of(call.call)
        user = f"{PLANE}:{call.controller}" if self._names_controllers else ""
        outcome = await self._remote.ask(call.request, traceparent, user)
        if self._tracer is not None:
            self._tracer.replied(call.call, outcome)
        answer(outcome)

    def _answered(self, call: Call, outcome: Outcome) -> None:
        self._driver.tell(Answers((Replied(call.call, outcome, self._clock(), self._driver.chance()),)))

    # Mirrors

    def _tell(self, resource: str, events: Iterable[MirrorEvent]) -> None:
        mirrored = Mirrored(resource, tuple(events))
        if mirrored.events:
            self._driver.tell(mirrored)

    async def _list(self, kind: Resource[View], attempt: int) -> None:
        resource = kind.name
        found: MirrorEvent
        if resource in self.plane.capabilities.lacks:
            found = Listed(0, (), self._clock(), attempt)
        else:
            found = await self._remote.list_all(kind, "", attempt)
            self._notice(resource, found.reason if isinstance(found, ListFailed) else "")
        self._tell(resource, (found,))

    def _notice(self, resource: str, trouble: str) -> None:
        """Each reason why a resource cannot be listed is told once."""
        if trouble and self._unlisted.get(resource) != trouble:
            log.warning("%s cannot be listed: %s; what rests on them waits", resource, trouble)
        if trouble:
            self._unlisted[resource] = trouble
        else:
            self._unlisted.pop(resource, None)

    async def _follow(self, kind: Resource[View], since: int, attempt: int) -> None:
        await self._remote.follow(kind, "", since, attempt, partial(self._delivered, kind.name, attempt))

    def _delivered(self, resource: str, attempt: int, events: Iterable[MirrorEvent]) -> None:
        """What a watch brought, unless a fault takes its place or holds it back."""
        held = self._lagging.get(resource)
        if held is not None:
            held.extend(events)
            return
        fate, seconds = self._chaos.of_watch(resource) if self._chaos is not None else ("", 0.0)
        if not fate:
            self._tell(resource, events)
        elif fate == "watch_lag":
            self._lagging[resource] = list(events)
            self._loop.call_later(seconds, self._arrive, resource)
        else:
            self._unfollow(resource)
            now = self._clock()
            broke = Broke("chaos broke it", now, attempt)
            self._tell(resource, (Expired(now, attempt) if fate == "watch_expired" else broke,))

    def _arrive(self, resource: str) -> None:
        now = self._clock()
        self._tell(resource, [structs.replace(each, now=now) for each in self._lagging.pop(resource)])

    def _tell_progress(self, resource: str, revision: int) -> None:
        plane, now = self.plane, self._clock()
        mirror = plane.mirrors.get(resource)
        if mirror is None:
            return  # it was forgotten meanwhile
        if resource in plane.capabilities.lacks:
            self._tell(resource, (Marked(revision, now),))
        elif mirror.phase is MirrorPhase.FOLLOWING and not mirror.passed(revision):
            self._tell(resource, (Expired(now),))
