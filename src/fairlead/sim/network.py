"""The way between one process and the API server: calls (`calls.py`), and the lists and watches of its mirrors.

A watch delivers what its subscription has, later when it lags; it may repeat what it brought, break (the mirror goes on
from its revision) or expire (410). A list may be lost, come in another order, or be that of a replica which lags: the
state of some seconds ago, with its revision. A mirror refuses one that is older than its copy, and follows a first one
from there (`cache/mirror.py`). Either may be made to a second server that is behind (`older_server.py`): a list shows
what that one knows, a watch brings what it learns, and one that asks to go on from what it does not know yet is
refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from math import factorial

from fairlead.cache import events as mirrored
from fairlead.sim.calls import DELAYS_MS, CallLink
from fairlead.sim.chance import Chance, FaultStream, Stream
from fairlead.sim.older_server import LOOK_AGAIN_MS
from fairlead.sim.processes.server import SimulatedServer
from fairlead.sim.time import Timeline
from fairlead.store.contract import CommittedChange, Compacted, Entry, FutureRevision
from fairlead.store.watch import Subscription

_WATCH_DELAYS = (
    256  # of a watch: what changes meanwhile arrives together, and mirrors are never quite up to date
)
_CHANGES_PER_DELIVERY = 256
_REPEATED_MAX = 8
_STALE_MS_MAX = 20_000
_ORDERED_MAX = 20  # entries of which every order has a number

Tell = Callable[..., None]  # one or several mirrored.Event: what arrives together
Clock = Callable[[], float]
_Changes = list[CommittedChange]
_Chances = tuple[Stream, FaultStream, Stream, FaultStream, FaultStream, FaultStream]  # of a watch


@dataclass(slots=True, eq=False)
class FollowedWatch:
    attempt: int
    tell: Tell
    clock: Clock
    delays: Stream
    lags: FaultStream
    lag: Stream
    breaks: FaultStream
    expires: FaultStream
    repeats: FaultStream
    is_due: bool = False
    is_held: bool = False
    unknown: _Changes = field(default_factory=list)  # what the server that is behind has yet to learn
    delivered: _Changes = field(default_factory=list)  # the last few


def in_order(entries: tuple[Entry, ...], number: int, orders: int) -> tuple[Entry, ...]:
    """In the order of this number, of so many: 0 is as they are, 1 the other way round, and then each order there is.
    More entries than `_ORDERED_MAX` have too many orders: some of them."""
    if number < 2:
        return entries[::-1] if number else entries
    if len(entries) > _ORDERED_MAX:
        places = sorted(range(len(entries)), key=lambda at: blake2b(b"%d %d" % (number, at)).digest())
        return tuple(entries[at] for at in places)
    left, found = list(entries), []
    number = (
        1 if number == orders - 1 else number
    )  # the last is the other way round, and has changed places with 1
    while left:
        orders //= len(left)
        found.append(left.pop(number // orders))
        number %= orders
    return tuple(found)


class Link(CallLink):
    def __init__(self, name: str, timeline: Timeline, chance: Chance, server: SimulatedServer) -> None:
        """`name`: of the process at this end."""
        super().__init__(name, timeline, chance, server)
        self.paused_until = 0  # the process at this end takes nothing from its watches until then
        self.stalled: dict[str, int] = {}  # a resource whose lists and watches alone bring nothing until then
        self._progress_delay = chance.stream("progress.delay", name)
        self._follows: dict[Subscription, FollowedWatch] = {}
        self._asked: set[str] = set()  # whose progress will be told next
        # By resource, since they are asked for again and again.
        self._of_lists: dict[str, tuple[Stream, FaultStream, FaultStream, FaultStream]] = {}
        self._of_watches: dict[str, tuple[Stream, _Chances]] = {}
        # By resource, whether it is listed and watched through the server that is behind.
        self._elsewhere: dict[str, bool] = {}
        self.expired = 0

    def list(self, resource: str, attempt: int, tell: Tell, clock: Clock) -> None:
        delay = 1 + self._list_chances(resource)[0].choose(4 * DELAYS_MS)
        self._timeline.after(delay, self._list, resource, attempt, tell, clock)

    def _list(self, resource: str, attempt: int, tell: Tell, clock: Clock) -> None:
        server = self._server
        lost = self._timeline.ms < max(self._unheard_until(resource), self.mute_until) or not server.up
        unlucky = self._list_chances(resource)[1].happens(self.faults.list_lost)
        if lost or unlucky:
            self._timeline.after(
                1000, lambda: tell(mirrored.ListFailed("no answer in time", clock(), attempt))
            )
            return
        entries, revision = self._listed(resource)
        tell(mirrored.Listed(revision, entries, clock(), attempt))

    def _listed(self, resource: str) -> tuple[tuple[Entry, ...], int]:
        _, _, stale, reordered = self._list_chances(resource)
        since = self._timeline.ms
        if self._connects_elsewhere(resource):
            since = min(since, self._server.older.knows_until())
        if stale.happens(self.faults.list_stale):
            since -= 500 + self._chance.stream("list.stale", stale.actor).choose(_STALE_MS_MAX)
        revision = self._server.revision_at(since, resource)
        entries = self._entries(resource, revision)
        if reordered.happens(self.faults.list_reordered) and entries:
            orders = factorial(min(len(entries), _ORDERED_MAX))
            number = self._chance.details("list.order", reordered).choose(orders)
            entries = in_order(entries, number, orders)
        return entries, revision

    def _list_chances(self, resource: str) -> tuple[Stream, FaultStream, FaultStream, FaultStream]:
        found = self._of_lists.get(resource)
        if found is None:
            chance, actor = self._chance, f"{self.name} {resource}"
            found = self._of_lists[resource] = (
                chance.stream("list.delay", actor),
                chance.faults("list_lost", actor),
                chance.faults("list_stale", actor),
                chance.faults("list_reordered", actor),
            )
        return found

    def _watch_chances(self, resource: str) -> tuple[Stream, _Chances]:
        found = self._of_watches.get(resource)
        if found is None:
            chance, actor = self._chance, f"{self.name} {resource}"
            lags = chance.faults("watch_lag", actor)
            of_a_watch = (
                chance.stream("watch.delay", actor),
                lags,
                chance.details("watch.lag", lags),
                chance.faults("watch_broken", actor),
                chance.faults("watch_expired", actor),
                chance.faults("watch_repeated", actor),
            )
            found = self._of_watches[resource] = (chance.stream("follow.delay", actor), of_a_watch)
        return found

    def follow(self, resource: str, since: int, attempt: int, tell: Tell, clock: Clock) -> None:
        delay = 1 + self._watch_chances(resource)[0].choose(DELAYS_MS)
        self._timeline.after(delay, self._follow, resource, since, attempt, tell, clock)

    def _follow(self, resource: str, since: int, attempt: int, tell: Tell, clock: Clock) -> None:
        server = self._server
        if not server.up or self._timeline.ms < max(self._unheard_until(resource), self.mute_until):
            self._timeline.after(1000, lambda: tell(mirrored.Broke("no connection", clock(), attempt)))
            return
        if self._connects_elsewhere(resource) and since > self._known_elsewhere(resource):
            self._timeline.after(1000, lambda: tell(mirrored.Broke("not known here yet", clock(), attempt)))
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
        self._follows[subscription] = FollowedWatch(attempt, tell, clock, *self._watch_chances(resource)[1])
        if subscription.ready:
            self.wake(subscription)

    def wake(self, subscription: Subscription) -> bool:
        """There is something to deliver. False if the subscription is not of this link."""
        follow = self._follows.get(subscription)
        if follow is None:
            return False
        if not follow.is_due:
            follow.is_due = True
            self._timeline.after(self._delay(follow), self._deliver, subscription)
        return True

    def _delay(self, follow: FollowedWatch) -> int:
        """Milliseconds until what there is to deliver arrives."""
        delay = 1 + follow.delays.choose(_WATCH_DELAYS)
        if follow.lags.happens(self.faults.watch_lag):
            delay += 500 + follow.lag.choose(12_000)
        return delay

    def _deliver(self, subscription: Subscription) -> None:
        follow = self._follows.get(subscription)
        if follow is None:
            return
        away = max(self._unheard_until(subscription.resource), self.paused_until) - self._timeline.ms
        follow.is_held = away > 0
        if away > 0:
            self._timeline.after(away, self._deliver, subscription)
            return
        follow.is_due = False
        if follow.breaks.happens(self.faults.watch_broken):
            self._end(
                subscription, follow, mirrored.Broke("the connection broke", follow.clock(), follow.attempt)
            )
            return
        if follow.expires.happens(self.faults.watch_expired):
            self.expired += 1
            self._end(subscription, follow, mirrored.Expired(follow.clock(), follow.attempt))
            return
        try:
            changes = self._server.hub.take(subscription, _CHANGES_PER_DELIVERY)
        except Compacted:
            self._end(subscription, follow, mirrored.Expired(follow.clock(), follow.attempt))
            return
        if self._elsewhere.get(subscription.resource) or follow.unknown:
            changes = self._learnt(subscription, follow, changes)
        now = follow.clock()
        if follow.repeats.happens(self.faults.watch_repeated):
            changes = [*follow.delivered, *changes]
        if changes:
            follow.delivered = changes[-_REPEATED_MAX:]
            follow.tell(*[mirrored.Framed(each.type, each.entry, now, follow.attempt) for each in changes])
        if subscription.cut:
            self._end(subscription, follow, mirrored.Broke("the watch was cut", now, follow.attempt))
        elif subscription.ready:
            self.wake(subscription)
        elif follow.unknown and not follow.is_due:
            follow.is_due = True
            self._timeline.after(LOOK_AGAIN_MS, self._deliver, subscription)

    def _connects_elsewhere(self, resource: str) -> bool:
        """To which of two servers a list or a watch goes."""
        found = self._chance.faults("older_server", f"{self.name} {resource}")
        self._elsewhere[resource] = found.happens(self.faults.older_server)
        return self._elsewhere[resource]

    def _known_elsewhere(self, resource: str) -> int:
        return self._server.revision_at(self._server.older.knows_until(), resource)

    def _learnt(self, subscription: Subscription, follow: FollowedWatch, changes: _Changes) -> _Changes:
        """What the server at the other end knows of these; the rest comes when it does."""
        changes = [*follow.unknown, *changes]
        known = changes[-1].entry.revision if changes else 0
        if self._elsewhere.get(subscription.resource):
            known = self._known_elsewhere(subscription.resource)
        follow.unknown = [each for each in changes if each.entry.revision > known]
        return [each for each in changes if each.entry.revision <= known]

    def ask_progress(self, resource: str) -> None:
        """How far its watch is; only one that has nothing left to deliver can tell."""
        if not self._asked:
            self._timeline.after(1 + self._progress_delay.choose(DELAYS_MS), self._tell_progress)
        self._asked.add(resource)

    def _tell_progress(self) -> None:
        asked, self._asked = self._asked, set()
        if self._timeline.ms < max(self.cut_until, self.deaf_until, self.mute_until, self.paused_until):
            return
        for subscription, follow in list(self._follows.items()):
            if subscription.resource not in asked:
                continue
            if self._timeline.ms < self._unheard_until(subscription.resource):
                continue
            if follow.unknown:
                continue  # there is something left to deliver, once the server knows of it
            if revision := self._server.hub.progress(subscription):
                if self._elsewhere.get(subscription.resource):
                    revision = min(revision, self._known_elsewhere(subscription.resource))
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
        return self._entries(resource, self._server.store.revision)

    def _entries(self, resource: str, revision: int) -> tuple[Entry, ...]:
        return tuple(self._server.store.list_at(resource, "", revision))

    def _subscribe(self, resource: str, since: int) -> Subscription:
        return self._server.hub.subscribe(resource, "", None, since)

    def _unheard_until(self, resource: str) -> int:
        until = self.cut_until if self.cut_until > self.deaf_until else self.deaf_until
        return max(until, self.stalled.get(resource, 0)) if self.stalled else until

    def join(self) -> None:
        """Whatever was cut works again."""
        now = self._timeline.ms
        self.cut_until, self.deaf_until = min(self.cut_until, now), min(self.deaf_until, now)
        self.mute_until = min(self.mute_until, now)
        self.stalled.clear()
        self._elsewhere.clear()
        for subscription, follow in self._follows.items():
            if follow.is_held:  # its delivery was put off until the end of a fault that has ended now
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

    def _end(self, subscription: Subscription, follow: FollowedWatch, event: mirrored.Event) -> None:
        del self._follows[subscription]
        self._server.hub.unsubscribe(subscription)
        follow.tell(event)
