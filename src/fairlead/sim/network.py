"""The way between one plane and the API server: it delays, loses, tells too late, and is cut now and then.

A call has one fate, drawn when it leaves:

    as it should     request arrives, reply arrives
    request_lost     nothing arrives; the caller gives up after TIMEOUT_MS and knows nothing
    request_late     the caller gives up, and then the request arrives and is carried out
    reply_lost       carried out, but the caller never learns of it

While the way is cut both directions lose; while it is deaf only what comes back does. A watch delivers what its
subscription has, later when it lags; it may break (the mirror goes on from its revision) or expire (410).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from fairlead.api.access.users import User
from fairlead.cache import events as mirrored
from fairlead.port.outcome import Outcome, Unknown, outcome_of
from fairlead.port.request import Reply, Request
from fairlead.sim.chance import Chance, FaultStream, Stream
from fairlead.sim.checkers.contract import LATE
from fairlead.sim.faults import Faults
from fairlead.sim.processes.server import SimulatedServer
from fairlead.sim.time import Timeline
from fairlead.store.contract import Compacted, Entry, FutureRevision
from fairlead.store.watch import Subscription

TIMEOUT_MS = 10_000
_LATE_MS_MAX = 5_000
_DELAYS = 16  # milliseconds, each way, of a calm network
_WATCH_DELAYS = (
    256  # of a watch: what changes meanwhile arrives together, and mirrors are never quite up to date
)
_CHANGES_PER_DELIVERY = 256
FATES = ("request_lost", "request_late", "reply_lost")

Heard = Callable[[Outcome], None]
Tell = Callable[..., None]  # one or several mirrored.Event: what arrives together
Clock = Callable[[], float]


@dataclass(slots=True, eq=False)
class _Follow:
    attempt: int
    tell: Tell
    clock: Clock
    delays: Stream
    lags: FaultStream
    lag: Stream
    breaks: FaultStream
    is_due: bool = False


class Link:
    def __init__(self, name: str, timeline: Timeline, chance: Chance, server: SimulatedServer) -> None:
        """`name`: of the process at this end."""
        self.name = name
        self.set_faults(Faults())
        self.cut_until = 0  # milliseconds
        self.deaf_until = 0
        self.paused_until = 0  # the process at this end takes nothing from its watches until then
        self.stalled: dict[str, int] = {}  # a resource whose lists and watches alone bring nothing until then
        self._timeline = timeline
        self._chance = chance
        self._calls: dict[tuple[str, str, str], tuple[Stream, FaultStream, Stream]] = {}
        self._progress_delay = chance.stream("progress.delay", name)
        self._server = server
        self._follows: dict[Subscription, _Follow] = {}
        self._asked: set[str] = set()  # whose progress will be told next
        self.timeouts_after_commit: dict[str, int] = {}  # by verb and subresource
        self.expired = 0

    def set_faults(self, faults: Faults) -> None:
        self.faults = faults
        self._fates = tuple((name, getattr(faults, name)) for name in FATES)

    # Calls

    def call(self, request: Request, user: User, origin: str, heard: Heard) -> None:
        kind = (user.name, request.verb, what_of(request))
        delays, fates, late = self._calls.get(kind) or self._chances_of(kind)
        delay = delays.choose(_DELAYS * _DELAYS)
        there, back = 1 + delay % _DELAYS, 1 + delay // _DELAYS
        fate = self._fate(fates)
        if fate in ("request_lost", "request_late"):
            self._timeline.after(TIMEOUT_MS, heard, Unknown("no answer in time"))
        if fate == "request_lost":
            return
        if fate == "request_late":
            there = TIMEOUT_MS + 1 + late.choose(_LATE_MS_MAX)
        self._timeline.after(there, self._arrive, request, user, origin, heard, fate, back)

    def _chances_of(self, kind: tuple[str, str, str]) -> tuple[Stream, FaultStream, Stream]:
        """Calls of one kind draw from streams of their own: one call more or less of another moves none of them."""
        user, verb, what = kind
        actor = f"{self.name} {user.rpartition(':')[2]} {verb} {what}"
        chance = self._chance
        fates = chance.faults("call", actor)
        streams = (chance.stream("call.delay", actor), fates, chance.details("call.late", fates))
        self._calls[kind] = streams
        return streams

    def _fate(self, fates: FaultStream) -> str:
        fate = fates.pick(self._fates)
        return "request_lost" if self._timeline.ms < self.cut_until else fate

    def _arrive(self, request: Request, user: User, origin: str, heard: Heard, fate: str, back: int) -> None:
        if fate == "request_late":
            self._server.send(request, user, LATE + origin if origin else "", _nobody)
            return
        # Only what a leader writes is an effect; leases are not.
        what = f"{request.verb} {request.subresource}".rstrip() if origin else ""
        self._server.send(request, user, origin, partial(self._answer, heard, fate, back, what))

    def _answer(self, heard: Heard, fate: str, back: int, what: str, reply: Reply | None) -> None:
        timeline = self._timeline
        if fate == "reply_lost" or timeline.ms < self.cut_until or timeline.ms < self.deaf_until:
            if reply is not None and reply.status < 300:
                self.timeouts_after_commit[what] = self.timeouts_after_commit.get(what, 0) + 1
            timeline.after(TIMEOUT_MS, heard, Unknown("no answer in time"))
        elif reply is None:
            timeline.after(back, heard, Unknown("the connection broke"))
        else:
            timeline.after(back, heard, outcome_of(reply))

    # Mirrors

    def list(self, resource: str, attempt: int, tell: Tell, clock: Clock) -> None:
        delay = 1 + self._chance.stream("list.delay", f"{self.name} {resource}").choose(4 * _DELAYS)
        self._timeline.after(delay, self._list, resource, attempt, tell, clock)

    def _list(self, resource: str, attempt: int, tell: Tell, clock: Clock) -> None:
        server = self._server
        lost = self._timeline.ms < self._unheard_until(resource) or not server.up
        unlucky = self._chance.faults("list_lost", f"{self.name} {resource}").happens(self.faults.list_lost)
        if lost or unlucky:
            self._timeline.after(
                1000, lambda: tell(mirrored.ListFailed("no answer in time", clock(), attempt))
            )
            return
        entries, revision = self._entries(resource)
        tell(mirrored.Listed(revision, entries, clock(), attempt))

    def _watch_chances(self, resource: str) -> tuple[Stream, FaultStream, Stream, FaultStream]:
        chance, actor = self._chance, f"{self.name} {resource}"
        delays, lags = chance.stream("watch.delay", actor), chance.faults("watch_lag", actor)
        return delays, lags, chance.details("watch.lag", lags), chance.faults("watch_broken", actor)

    def follow(self, resource: str, since: int, attempt: int, tell: Tell, clock: Clock) -> None:
        delay = 1 + self._chance.stream("follow.delay", f"{self.name} {resource}").choose(_DELAYS)
        self._timeline.after(delay, self._follow, resource, since, attempt, tell, clock)

    def _follow(self, resource: str, since: int, attempt: int, tell: Tell, clock: Clock) -> None:
        server = self._server
        if not server.up or self._timeline.ms < self._unheard_until(resource):
            self._timeline.after(1000, lambda: tell(mirrored.Broke("no connection", clock(), attempt)))
            return
        try:
            subscription = self._subscribe(resource, since)
        except Compacted:
            self.expired += 1
            tell(mirrored.Expired(clock(), attempt))
            return
        except FutureRevision as error:
            tell(mirrored.Broke(str(error), clock(), attempt))
            return
        server.watched(since)
        self._follows[subscription] = _Follow(attempt, tell, clock, *self._watch_chances(resource))
        if subscription.ready:
            self.wake(subscription)

    def wake(self, subscription: Subscription) -> bool:
        """There is something to deliver. False if the subscription is not of this link."""
        follow = self._follows.get(subscription)
        if follow is None:
            return False
        if not follow.is_due:
            follow.is_due = True
            delay = 1 + follow.delays.choose(_WATCH_DELAYS)
            if follow.lags.happens(self.faults.watch_lag):
                delay += 500 + follow.lag.choose(12_000)
            self._timeline.after(delay, self._deliver, subscription)
        return True

    def _deliver(self, subscription: Subscription) -> None:
        follow = self._follows.get(subscription)
        if follow is None:
            return
        away = max(self._unheard_until(subscription.resource), self.paused_until) - self._timeline.ms
        if away > 0:
            self._timeline.after(away, self._deliver, subscription)
            return
        follow.is_due = False
        if follow.breaks.happens(self.faults.watch_broken):
            self._end(
                subscription, follow, mirrored.Broke("the connection broke", follow.clock(), follow.attempt)
            )
            return
        try:
            changes = self._server.hub.take(subscription, _CHANGES_PER_DELIVERY)
        except Compacted:
            self._end(subscription, follow, mirrored.Expired(follow.clock(), follow.attempt))
            return
        now = follow.clock()
        if changes:
            follow.tell(*[mirrored.Framed(each.type, each.entry, now, follow.attempt) for each in changes])
        if subscription.cut:
            self._end(subscription, follow, mirrored.Broke("the watch was cut", now, follow.attempt))
        elif subscription.ready:
            self.wake(subscription)

    def ask_progress(self, resource: str) -> None:
        """How far its watch is; only one that has nothing left to deliver can tell."""
        if not self._asked:
            self._timeline.after(1 + self._progress_delay.choose(_DELAYS), self._tell_progress)
        self._asked.add(resource)

    def _tell_progress(self) -> None:
        asked, self._asked = self._asked, set()
        if self._timeline.ms < max(self.cut_until, self.deaf_until, self.paused_until):
            return
        for subscription, follow in list(self._follows.items()):
            if self._timeline.ms < self._unheard_until(subscription.resource):
                continue
            if subscription.resource in asked and (revision := self._server.hub.progress(subscription)):
                follow.tell(mirrored.Marked(revision, follow.clock(), follow.attempt))

    def expire(self, resource: str) -> None:
        """Have a mirror that follows list again: the only way to know that it has seen all there was."""
        self._timeline.after(1, self._expire, resource)

    def forget(self, resource: str) -> None:
        """Nobody at this end cares for it any more."""
        for subscription in [each for each in self._follows if each.resource == resource]:
            del self._follows[subscription]
            self._server.hub.unsubscribe(subscription)

    def _expire(self, resource: str) -> None:
        for subscription, follow in list(self._follows.items()):
            if subscription.resource == resource:
                self._end(subscription, follow, mirrored.Expired(follow.clock(), follow.attempt))

    def listed(self, resource: str) -> tuple[Entry, ...]:
        """What a list would bring now."""
        return self._entries(resource)[0]

    def _entries(self, resource: str) -> tuple[tuple[Entry, ...], int]:
        store = self._server.store
        return tuple(store.list(resource)), store.revision

    def _subscribe(self, resource: str, since: int) -> Subscription:
        return self._server.hub.subscribe(resource, "", None, since)

    def _unheard_until(self, resource: str) -> int:
        return max(self.cut_until, self.deaf_until, self.stalled.get(resource, 0))

    def join(self) -> None:
        """Whatever was cut works again."""
        now = self._timeline.ms
        self.cut_until, self.deaf_until = min(self.cut_until, now), min(self.deaf_until, now)
        self.stalled.clear()
        for subscription, follow in self._follows.items():
            if (
                follow.is_due
            ):  # what was held back comes now, and not when it would have without the end of faults
                self._timeline.after(1, self._deliver, subscription)

    def break_watches(self) -> None:
        """All at once, as when the server dies or a proxy is restarted."""
        for subscription, follow in list(self._follows.items()):
            if subscription not in self._follows:
                return  # told of the one before, the plane at this end has died
            self._end(
                subscription, follow, mirrored.Broke("the connection broke", follow.clock(), follow.attempt)
            )

    def close(self) -> None:
        """The plane at this end is gone."""
        for subscription in self._follows:
            self._server.hub.unsubscribe(subscription)
        self._follows = {}

    def _end(self, subscription: Subscription, follow: _Follow, event: mirrored.Event) -> None:
        del self._follows[subscription]
        self._server.hub.unsubscribe(subscription)
        follow.tell(event)


def what_of(request: Request) -> str:
    """What a call is about, as a part of the names of choices: pods/binding."""
    return f"{request.plural}/{request.subresource}" if request.subresource else request.plural


def _nobody(reply: Reply | None) -> None:
    """The caller has given up."""
