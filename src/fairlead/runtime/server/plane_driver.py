"""Drives a plane in the process of the API: carries its instructions out and feeds back what happened.

Calls go through the same verbs, admission and audit as any client's; mirrors list from the store and follow its hub,
sharing its immutable entries. Everything runs on the event loop, a bounded number of answers or changes per turn, so
that requests of clients get theirs in between.

All that the plane is told, and what it sends, goes on a tape (`replay/tape.py`), which is written to the log DELIVERIES
a few times a second: what a closed replay is fed. Faults of an experiment strike here as well
(`runtime/chaos_faults.py`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, assert_never

from fairlead.api.access.users import MASTERS, User
from fairlead.api.status import failure
from fairlead.cache.events import Broke, Expired, Framed, Listed, Marked, Mirrored, MirrorEvent
from fairlead.cache.lag import Arrivals, MirrorLag
from fairlead.control.instructions import (
    DELIVERIES,
    Answers,
    AskProgress,
    Call,
    Forget,
    PlaneEvent,
    PlaneInstruction,
    Record,
    Replied,
    Report,
)
from fairlead.control.plane import Plane
from fairlead.core.errors import InternalError
from fairlead.port.driving import Follow, ListAll, Started, Stepped, WakeAt
from fairlead.port.outcome import Outcome, outcome_of
from fairlead.replay.tape import TapeWriter
from fairlead.runtime.acts import ActLog
from fairlead.runtime.chaos_faults import Striking
from fairlead.runtime.clock import ClockStep
from fairlead.runtime.driving import Driver
from fairlead.runtime.server.host import ServingHost
from fairlead.runtime.tracing.tracer import Tracer
from fairlead.store.contract import Compacted, FutureRevision, Note
from fairlead.store.machine import Store
from fairlead.store.watch import Hub, Subscription

log = logging.getLogger("fairlead.plane")

_CHANGES_PER_TURN = 256
_REPLIES_PER_TURN = 64
#: bound: plane | the tape of a plane is written within | what was told since is lost in a crash
TAPE_SECONDS = 0.25


class _Follow(NamedTuple):
    """One mirror's watch; `arrivals`: what was published and has not reached it."""

    resource: str
    attempt: int
    arrivals: Arrivals


class PlaneDriver:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        plane: Plane,
        host: ServingHost,
        store: Store,
        hub: Hub,
        clock: Callable[[], float],
        failed: Callable[[BaseException], None],
        tracer: Tracer | None = None,
        chaos: Striking | None = None,
        tape: bool = True,
    ) -> None:
        """`failed` hears of an error that leaves the plane in no known state. `tape`: whether one is kept."""
        self._loop = loop
        self.plane = plane
        self._host = host
        self._store = store
        self._hub = hub
        self._clock = clock
        self._driver = Driver(loop, plane, self._carry_out, clock, failed)
        self._acts = ActLog()
        self._tracer = tracer
        self._chaos = chaos
        self._tape = TapeWriter()
        self._tape.is_on = tape
        self._tape_timer: asyncio.TimerHandle | None = None
        if tape:
            self._driver.hear = self._hear
        if chaos is not None:
            chaos.hold, chaos.go_on = self._driver.hold, self._driver.go_on
        self._follows: dict[Subscription, _Follow] = {}
        self._users: dict[str, User] = {}
        self._replies: deque[tuple[int, Outcome]] = deque()

    def start(self) -> None:
        self._driver.start()

    def stop(self) -> None:
        """Answers that still come are dropped; leadership ends with its lease."""
        self._carry_out(self.plane.end_term())
        self._driver.end()
        self._write_tape()
        for subscription in self._follows:
            self._hub.unsubscribe(subscription)

    def stepped(self, step: ClockStep) -> None:
        """The wall clock was set."""
        self._driver.tell(Stepped(step.ahead_seconds, str(step), self._clock()))

    def wake(self, subscriptions: Iterable[Subscription]) -> None:
        """Called after each publish with those who have something new."""
        for subscription in subscriptions:
            if (follow := self._follows.get(subscription)) is not None:
                follow.arrivals.published(subscription.position, self._clock())
                self._loop.call_soon(self._deliver, subscription)

    def lags(self) -> dict[str, MirrorLag]:
        """How far each mirror is behind the store."""
        now = self._clock()
        arrivals = {each.resource: each.arrivals for each in self._follows.values()}
        found: dict[str, MirrorLag] = {}
        for resource, mirror in self.plane.mirrors.items():
            if (arrived := arrivals.get(resource)) is not None:
                found[resource] = arrived.lag(mirror.revision, now)
                continue
            newest = max((entry.revision for entry in self._store.list(resource)), default=0)
            since = mirror.unfollowed_since or now
            found[resource] = MirrorLag(max(0, newest - mirror.revision), now - since, mirror.trouble)
        return found

    # The tape

    def _hear(self, event: PlaneEvent) -> None:
        if isinstance(event, Started):
            self._tape.began(event, self.plane.leadership.identity, self._store.revision)
        else:
            self._tape.told(event)
        if self._tape_timer is None:
            self._tape_timer = self._loop.call_later(TAPE_SECONDS, self._write_tape)
        elif self._tape.is_full:
            self._write_tape()

    def _write_tape(self) -> None:
        if self._tape_timer is not None:
            self._tape_timer.cancel()
            self._tape_timer = None
        if line := self._tape.take(self._clock()):
            self._host.note((Note(DELIVERIES, line),))

    # Carrying out

    def _carry_out(self, instructions: tuple[PlaneInstruction, ...]) -> None:
        self._acts.noticed(self.plane)
        for instruction in self._acts.records_first(instructions, self._keep, self._tracer):
            match instruction:
                case Call():
                    self._call(instruction)
                case WakeAt():
                    self._driver.wake_at(instruction)
                case Report():
                    log.warning("%s", instruction.message, exc_info=instruction.error)
                case ListAll(resource, attempt):
                    self._loop.call_soon(self._list, resource, attempt)
                case Follow(resource, since, attempt):
                    self._loop.call_soon(self._follow, resource, since, attempt)
                case Forget(resource):
                    self._forget(resource)
                case AskProgress(resource, _):
                    self._loop.call_soon(self._tell_progress, resource)
                case _:
                    assert_never(instruction)

    def _keep(self, records: Sequence[Record]) -> None:
        """In one transaction."""
        self._host.note(tuple(Note(each.stream, each.body) for each in records))

    def _call(self, call: Call) -> None:
        user = self._users.get(call.controller)
        if user is None:
            name = f"system:fairlead:{call.controller}"
            user = self._users[call.controller] = User(name, groups=(MASTERS,))
        answer, send = partial(self._reply_soon, call.call), partial(self._send, call, user)
        if self._tracer is not None:
            self._tracer.called(call)
        fate = self._chaos.strikes(call, send, answer) if self._chaos is not None else ""
        if fate:
            self._tape.struck(call, self._clock(), fate)
        else:
            send(answer)

    def _send(self, call: Call, user: User, answer: Callable[[Outcome], None]) -> None:
        context = None
        if self._tape.is_on:
            context = self._host.context(user, "fairlead", "")
            self._tape.sent(call, context.now, context.entropy, self._store.allotted)
        try:
            self._host.send(call.request, user, lambda reply: answer(outcome_of(reply)), context)
        except Exception:  # a fault of the API's, as `wire/handler.py` answers it: the plane is sound
            log.exception("a request could not be handled: %s %s", call.request.verb, call.request.plural)
            error = InternalError("an internal error occurred; the server's log has the details")
            answer(outcome_of(failure(error)))

    def _reply_soon(self, call: int, outcome: Outcome) -> None:
        if self._tracer is not None:
            self._tracer.replied(call, outcome)
        self._replies.append((call, outcome))
        if len(self._replies) == 1:
            self._loop.call_soon(self._replied)

    def _replied(self) -> None:
        """Those of one commit come together."""
        replies = self._replies
        if self._driver.stopped or not replies:
            return
        now, chance = self._clock(), self._driver.chance
        taken = [replies.popleft() for _ in range(min(_REPLIES_PER_TURN, len(replies)))]
        if replies:
            self._loop.call_soon(self._replied)
        answers = [Replied(call, outcome, now, chance()) for call, outcome in taken]
        self._driver.tell(Answers(tuple(answers)))

    # Mirrors

    def _tell(self, resource: str, *events: MirrorEvent) -> None:
        self._driver.tell(Mirrored(resource, events))

    def _list(self, resource: str, attempt: int) -> None:
        entries = tuple(self._store.list(resource))
        self._tell(resource, Listed(self._store.revision, entries, self._clock(), attempt))

    def _follow(self, resource: str, since: int, attempt: int) -> None:
        try:
            subscription = self._hub.subscribe(resource, "", None, since)
        except Compacted:
            self._tell(resource, Expired(self._clock(), attempt))
            return
        except FutureRevision as error:
            self._tell(resource, Broke(str(error), self._clock(), attempt))
            return
        self._follows[subscription] = _Follow(resource, attempt, Arrivals())
        if subscription.ready:
            self._loop.call_soon(self._deliver, subscription)

    def _deliver(self, subscription: Subscription, was_held: bool = False) -> None:
        follow = self._follows.get(subscription)
        if follow is None or self._driver.stopped:
            return
        resource, attempt = follow.resource, follow.attempt
        if self._chaos is not None and not was_held and self._strikes_watch(subscription, follow):
            return
        try:
            changes = self._hub.take(subscription, _CHANGES_PER_TURN)
        except Compacted:
            self._unfollow(subscription)
            self._tell(resource, Expired(self._clock(), attempt))
            return
        now = self._clock()
        if changes:
            self._tell(resource, *[Framed(each.type, each.entry, now, attempt) for each in changes])
            follow.arrivals.delivered(changes[-1].entry.revision)
        if subscription.cut:
            self._unfollow(subscription)
            self._tell(resource, Broke("the watch was cut", now, attempt))
        elif subscription.ready:
            self._loop.call_soon(self._deliver, subscription)

    def _strikes_watch(self, subscription: Subscription, follow: _Follow) -> bool:
        """Whether a fault took the place of this delivery."""
        assert self._chaos is not None
        fate, seconds = self._chaos.of_watch(follow.resource)
        if fate == "watch_lag":
            self._loop.call_later(seconds, self._deliver, subscription, True)
        elif fate:
            self._unfollow(subscription)
            now, attempt = self._clock(), follow.attempt
            ended = (
                Expired(now, attempt) if fate == "watch_expired" else Broke("chaos broke it", now, attempt)
            )
            self._tell(follow.resource, ended)
        return bool(fate)

    def _tell_progress(self, resource: str) -> None:
        for subscription, follow in list(self._follows.items()):
            revision = self._hub.progress(subscription) if follow.resource == resource else 0
            if revision:
                self._tell(resource, Marked(revision, self._clock(), follow.attempt))

    def _forget(self, resource: str) -> None:
        for subscription in [each for each, follow in self._follows.items() if follow.resource == resource]:
            self._unfollow(subscription)
        self._driver.drop_timer(resource)

    def _unfollow(self, subscription: Subscription) -> None:
        self._follows.pop(subscription, None)
        self._hub.unsubscribe(subscription)
