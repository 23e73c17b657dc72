"""Drives a plane against an API server elsewhere: its mirrors and calls go through `remote.py`, over HTTPS.

The counterpart of `plane_driver.py`, which drives one in the server's own process. Used by `hollow_agent.py` and
`control_process.py`. What such a plane decides goes to `record`, before what follows from it is sent: the server's log
of decisions is the server's own.

No server tells on demand how far a watch is. A mirror that has to know (a new leader's, which must have seen all that
the former one did) lists once more. Resources that the server lacks are empty and stay so, but for the EvidencePolicy:
without one nothing would be made of any node's health, so the rows that a Fairlead server begins with hold there.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any

from fairlead.cache import events as mirrored
from fairlead.cache.mirror import Phase
from fairlead.control.instructions import (
    AskProgress,
    Call,
    MirrorWakeAt,
    PlaneInstruction,
    Record,
    Replied,
    Report,
    Stepped,
    WakeAt,
    Woke,
)
from fairlead.control.plane import Plane
from fairlead.core import codec
from fairlead.model import evidence_rows
from fairlead.model.views import EVIDENCE_POLICIES
from fairlead.runtime.clock import Step
from fairlead.runtime.remote import Remote
from fairlead.store.contract import Entry, Key

log = logging.getLogger("fairlead.agent")


def built_in(resource: str) -> tuple[Entry, ...]:
    """The objects that are taken to be there of a resource which the server lacks. Nobody can write them."""
    if resource != EVIDENCE_POLICIES.name:
        return ()
    policy = evidence_rows.default_policy()
    policy["metadata"] |= {"uid": evidence_rows.BUILT_IN_UID, "resourceVersion": "1"}
    return (
        Entry(Key(resource, "", evidence_rows.NAME), evidence_rows.BUILT_IN_UID, 1, codec.encode(policy)),
    )


class RemotePlaneDriver:
    """`failed` hears of an error that leaves the plane in no known state."""

    def __init__(
        self,
        plane: Plane,
        remote: Remote,
        clock: Callable[[], float],
        failed: Callable[[BaseException], None],
        record: Callable[[Sequence[bytes]], None] = lambda records: None,
    ) -> None:
        self.plane = plane
        self._remote = remote
        self._clock = clock
        self._failed = failed
        self._record = record
        self._follows: dict[str, asyncio.Task[None]] = {}
        self._loop = asyncio.get_running_loop()
        self._chance = random.Random()
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._mirror_timers: dict[str, asyncio.TimerHandle] = {}
        self._stopped = False

    def start(self) -> None:
        self._tell(self.plane.begin, self._clock(), self._chance.random())

    def stepped(self, step: Step) -> None:
        """The wall clock was set."""
        self._tell(self.plane.stepped, Stepped(step.ahead_seconds, str(step), self._clock()))

    async def stop(self) -> None:
        self._stopped = True
        for timer in (self._timer, *self._mirror_timers.values()):
            if timer is not None:
                timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _tell(self, handle: Callable[..., Iterable[PlaneInstruction]], *arguments: Any) -> None:
        if self._stopped:
            return
        records: list[bytes] = []
        try:
            for instruction in handle(*arguments):
                if isinstance(instruction, Record):
                    records.append(instruction.body)
                    continue
                if records:
                    self._record(records)
                    records = []
                self._carry_out(instruction)
            if records:
                self._record(records)
        except Exception as error:  # noqa: BLE001 - a machine that failed half-way must not be asked again
            self._fail(error)

    def _carry_out(self, instruction: PlaneInstruction) -> None:
        match instruction:
            case Call():
                self._do(self._call(instruction))
            case WakeAt(at):
                if self._timer is not None:
                    self._timer.cancel()
                self._timer = self._loop.call_later(self._until(at), self._woke)
            case MirrorWakeAt():
                name = instruction.resource
                if name in self._mirror_timers:
                    self._mirror_timers[name].cancel()
                delay = self._until(instruction.at)
                self._mirror_timers[name] = self._loop.call_later(delay, self._woke_mirror, name)
            case mirrored.ListAll(resource, attempt):
                self._unfollow(resource)
                self._do(self._list(resource, attempt))
            case mirrored.Follow(resource, since, attempt):
                self._unfollow(resource)
                if resource not in self.plane.capabilities.lacks:
                    self._follows[resource] = self._do(self._follow(resource, since, attempt))
            case AskProgress():
                self._loop.call_soon(self._tell_progress, instruction.resource)
            case Report():
                log.warning("%s", instruction.message, exc_info=instruction.error)
            case Record():
                pass  # kept already

    def _do(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _unfollow(self, resource: str) -> None:
        """Whatever still came of it would be ignored."""
        task = self._follows.pop(resource, None)
        if task is not None:
            task.cancel()

    def _tell_progress(self, resource: str) -> None:
        plane, now = self.plane, self._clock()
        mirror = plane.mirrors[resource]
        if resource in plane.capabilities.lacks:
            self._mirrored(resource, (mirrored.Marked(plane.leadership.fence_revision, now),))
        elif mirror.phase is Phase.FOLLOWING and not mirror.passed(plane.leadership.fence_revision):
            self._mirrored(resource, (mirrored.Expired(now),))

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if not self._stopped:
            self._stopped = True
            self._failed(error)

    async def _call(self, call: Call) -> None:
        outcome = await self._remote.ask(call.request)
        self._tell(self.plane.replied, Replied(call.call, outcome, self._clock(), self._chance.random()))

    async def _list(self, resource: str, attempt: int) -> None:
        if resource in self.plane.capabilities.lacks:
            entries = built_in(resource)
            revision = max((each.revision for each in entries), default=0)
            self._tell(
                self.plane.mirror, resource, mirrored.Listed(revision, entries, self._clock(), attempt)
            )
            return
        found = await self._remote.list_all(self.plane.mirrors[resource].resource, "", attempt)
        self._tell(self.plane.mirror, resource, found)

    async def _follow(self, resource: str, since: int, attempt: int) -> None:
        kind = self.plane.mirrors[resource].resource
        await self._remote.follow(kind, "", since, attempt, partial(self._mirrored, resource))

    def _mirrored(self, resource: str, events: Iterable[mirrored.Event]) -> None:
        told = tuple(events)
        if told:
            self._tell(self.plane.mirror, resource, *told)

    def _woke(self) -> None:
        self._tell(self.plane.woke, Woke(self._clock(), self._chance.random()))

    def _woke_mirror(self, resource: str) -> None:
        self._tell(self.plane.mirror, resource, mirrored.Woke(self._clock(), self._chance.random()))

    def _until(self, at: float) -> float:
        return max(0.0, at - self._clock())
