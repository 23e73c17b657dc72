"""Drives a plane in the process of the API: carries its instructions out and feeds back what happened.

Calls go through the same verbs, admission and audit as any client's; mirrors list from the store and follow its hub,
sharing its immutable entries. Everything runs on the event loop, a bounded number of answers or changes per turn, so
that requests of clients get theirs in between.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial

from fairlead.api.users import MASTERS, User
from fairlead.cache import events as mirrored
from fairlead.control.instructions import (
    AskProgress,
    Call,
    Forget,
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
from fairlead.control.record import STREAM
from fairlead.port.outcome import outcome_of
from fairlead.port.request import Reply
from fairlead.runtime.clock import Step
from fairlead.runtime.host import ServingHost
from fairlead.store.contract import Compacted, FutureRevision, Note, Reader
from fairlead.store.watch import Hub, Subscription

log = logging.getLogger("fairlead.plane")

_CHANGES_PER_TURN = 256
_REPLIES_PER_TURN = 64


class PlaneDriver:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        plane: Plane,
        host: ServingHost,
        store: Reader,
        hub: Hub,
        clock: Callable[[], float],
    ) -> None:
        self._loop = loop
        self.plane = plane
        self._host = host
        self._store = store
        self._hub = hub
        self._clock = clock
        self._chance = random.Random()
        self._follows: dict[Subscription, tuple[str, int]] = {}  # -> (resource, attempt)
        self._timer: asyncio.TimerHandle | None = None
        self._mirror_timers: dict[str, asyncio.TimerHandle] = {}
        self._users: dict[str, User] = {}
        self._replies: deque[tuple[int, Reply]] = deque()
        self._stopped = False

    def start(self) -> None:
        self._carry_out(self.plane.begin(self._clock(), self._chance.random()))

    def stop(self) -> None:
        """Answers that still come are dropped; leadership ends with its lease."""
        self._stopped = True
        for timer in (self._timer, *self._mirror_timers.values()):
            if timer is not None:
                timer.cancel()
        for subscription in self._follows:
            self._hub.unsubscribe(subscription)

    def stepped(self, step: Step) -> None:
        """The wall clock was set."""
        if not self._stopped:
            self._carry_out(self.plane.stepped(Stepped(step.ahead_seconds, str(step), self._clock())))

    def wake(self, subscriptions: Iterable[Subscription]) -> None:
        """Called after each publish with those who have something new."""
        for subscription in subscriptions:
            if subscription in self._follows:
                self._loop.call_soon(self._deliver, subscription)

    # Carrying out

    def _carry_out(self, instructions: Iterable[PlaneInstruction]) -> None:
        records: list[Note] = []
        for instruction in instructions:
            if isinstance(instruction, Record):
                records.append(Note(STREAM, instruction.body))
                continue
            if records:  # in one transaction, and before what was decided
                self._host.note(tuple(records))
                records = []
            if isinstance(instruction, Call):
                self._call(instruction)
            elif isinstance(instruction, WakeAt):
                self._wake_at(instruction.at)
            elif isinstance(instruction, Report):
                log.warning("%s", instruction.message, exc_info=instruction.error)
            elif isinstance(instruction, mirrored.ListAll):
                self._loop.call_soon(self._list, instruction.resource_name, instruction.attempt)
            elif isinstance(instruction, mirrored.Follow):
                self._loop.call_soon(
                    self._follow, instruction.resource_name, instruction.since_revision, instruction.attempt
                )
            elif isinstance(instruction, MirrorWakeAt):
                self._wake_mirror_at(instruction.resource, instruction.at)
            elif isinstance(instruction, Forget):
                self._forget(instruction.resource)
            elif isinstance(instruction, AskProgress):
                self._loop.call_soon(self._tell_progress, instruction.resource)
        if records:
            self._host.note(tuple(records))

    def _call(self, call: Call) -> None:
        user = self._users.get(call.controller)
        if user is None:
            name = f"system:fairlead:{call.controller}"
            user = self._users[call.controller] = User(name, groups=(MASTERS,))
        self._host.send(call.request, user, partial(self._reply_soon, call.call))

    def _reply_soon(self, call: int, reply: Reply) -> None:
        self._replies.append((call, reply))
        if len(self._replies) == 1:
            self._loop.call_soon(self._replied)

    def _replied(self) -> None:
        """Those of one commit come together."""
        replies = self._replies
        if self._stopped or not replies:
            return
        now, chance = self._clock(), self._chance.random
        taken = [replies.popleft() for _ in range(min(_REPLIES_PER_TURN, len(replies)))]
        if replies:
            self._loop.call_soon(self._replied)
        self._carry_out(
            self.plane.replied(*[Replied(call, outcome_of(reply), now, chance()) for call, reply in taken])
        )

    def _wake_at(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(max(0.0, at - self._clock()), self._woke)

    def _woke(self) -> None:
        if not self._stopped:
            self._carry_out(self.plane.woke(Woke(self._clock(), self._chance.random())))

    # Mirrors

    def _tell(self, resource: str, *events: mirrored.Event) -> None:
        if not self._stopped:
            self._carry_out(self.plane.mirror(resource, *events))

    def _list(self, resource: str, attempt: int) -> None:
        entries = tuple(self._store.list(resource))
        self._tell(resource, mirrored.Listed(self._store.revision, entries, self._clock(), attempt))

    def _follow(self, resource: str, since: int, attempt: int) -> None:
        try:
            subscription = self._hub.subscribe(resource, "", None, since)
        except Compacted:
            self._tell(resource, mirrored.Expired(self._clock(), attempt))
            return
        except FutureRevision as error:
            self._tell(resource, mirrored.Broke(str(error), self._clock(), attempt))
            return
        self._follows[subscription] = (resource, attempt)
        if subscription.ready:
            self._loop.call_soon(self._deliver, subscription)

    def _deliver(self, subscription: Subscription) -> None:
        follow = self._follows.get(subscription)
        if follow is None or self._stopped:
            return
        resource, attempt = follow
        try:
            changes = self._hub.take(subscription, _CHANGES_PER_TURN)
        except Compacted:
            self._unfollow(subscription)
            self._tell(resource, mirrored.Expired(self._clock(), attempt))
            return
        now = self._clock()
        if changes:
            self._tell(resource, *[mirrored.Framed(each.type, each.entry, now, attempt) for each in changes])
        if subscription.cut:
            self._unfollow(subscription)
            self._tell(resource, mirrored.Broke("the watch was cut", now, attempt))
        elif subscription.ready:
            self._loop.call_soon(self._deliver, subscription)

    def _tell_progress(self, resource: str) -> None:
        for subscription, (followed, attempt) in list(self._follows.items()):
            revision = self._hub.progress(subscription) if followed == resource else 0
            if revision:
                self._tell(resource, mirrored.Marked(revision, self._clock(), attempt))

    def _forget(self, resource: str) -> None:
        for subscription in [each for each, (name, _) in self._follows.items() if name == resource]:
            self._unfollow(subscription)
        timer = self._mirror_timers.pop(resource, None)
        if timer is not None:
            timer.cancel()

    def _unfollow(self, subscription: Subscription) -> None:
        self._follows.pop(subscription, None)
        self._hub.unsubscribe(subscription)

    def _wake_mirror_at(self, resource: str, at: float) -> None:
        if resource in self._mirror_timers:
            self._mirror_timers[resource].cancel()
        delay = max(0.0, at - self._clock())
        self._mirror_timers[resource] = self._loop.call_later(delay, self._woke_mirror, resource)

    def _woke_mirror(self, resource: str) -> None:
        self._tell(resource, mirrored.Woke(self._clock(), self._chance.random()))
