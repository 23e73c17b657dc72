"""Pods that have no node yet: those to be tried next, those that rest after a refusal, those that wait for a cause.

    ACTIVE   in the order of priority, then of age; `pop` takes from here
    RESTING  refused lately; becomes ACTIVE when its back-off is over
    WAITING  refused, and nothing that could help has happened since: the plugins that refused it say what could
    TAKEN    being tried, or on its way to a node

A cause that comes while a pod is being tried, or a change of the pod itself, is not lost: it is remembered and weighed
when the pod is refused. What waits longer than `flush_seconds` is tried anyhow, and counted: every flush that then
succeeds is a cause that a plugin forgot to name. Pure: time and chance arrive with the calls. Used by
`control/placing.py`.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from fairlead.core.backoff import backoff
from fairlead.model.key import Key
from fairlead.model.views import Pod

CAUSES_KEPT = 1024
FLUSH = "Flush"  # the cause of a try that nothing but time called for


class State(StrEnum):
    """A word each: its hash is that of the word, and pods are counted by it as they come."""

    ACTIVE = "active"
    RESTING = "backoff"
    WAITING = "unschedulable"
    TAKEN = "taken"


@dataclass(frozen=True, slots=True)
class WaitingSettings:
    backoff_seconds: float = 1.0
    backoff_max_seconds: float = 10.0
    flush_seconds: float = 300.0


class WaitingPod(msgspec.Struct, eq=False, gc=False):
    pod: Pod
    since: float  # when it was first seen without a node
    number: int  # which came first, among equals
    state: State = State.ACTIVE
    queued_at: float = 0.0  # when it entered its present state
    attempts: int = 0
    refused_by: frozenset[str] = frozenset()
    wakes_on: frozenset[str] = frozenset()
    woken_by: str = ""  # the cause of its last try
    taken_at: int = 0  # how many causes there had been when it was taken
    has_changed: bool = False  # itself, since it was taken
    ready_at: float = 0.0
    stamp: int = 0  # tells its latest place in a heap from former ones


class TakenPod(msgspec.Struct, frozen=True, gc=False):
    pod: Pod
    attempts: int  # this one included
    waited_seconds: float  # in the queue, since it was last put there
    since: float
    woken_by: str


class WaitingPods:
    def __init__(
        self, settings: WaitingSettings | None = None, priority_of: Callable[[Pod], int] | None = None
    ) -> None:
        """`priority_of`: with which a pod is to be tried; its own, without it."""
        self.settings = settings or WaitingSettings()
        self._priority_of = priority_of or _own_priority
        self._entries: dict[Key, WaitingPod] = {}
        self._active: list[tuple[int, float, int, int, Key]] = []
        self._timed: list[tuple[float, int, Key]] = []  # ends of rests and of long waits
        self._by_cause: dict[str, dict[Key, None]] = {}
        self._causes: list[str] = []  # the latest, for pods that are being tried meanwhile
        self._causes_before = 0
        self._numbers = 0
        self._stamps = 0
        # How often pods came into a state, by what happened; whoever begins with a new queue may count on.
        self.incoming: defaultdict[tuple[State, str], int] = defaultdict(int)
        self.flushed = 0  # tried because they had waited long, and for no other cause

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def counts(self) -> dict[str, int]:
        counts = {state.value: 0 for state in State}
        for entry in self._entries.values():
            counts[entry.state.value] += 1
        return counts

    def oldest_since(self) -> float:
        """When the one that has been without a node for longest was first seen; 0: there is none."""
        return min((entry.since for entry in self._entries.values()), default=0.0)

    def get(self, key: Key) -> WaitingPod | None:
        return self._entries.get(key)

    def position(self, key: Key) -> int:
        """How many would be tried before it, counting those that can be tried now; -1 if it is not one of them."""
        entry = self._entries.get(key)
        if entry is None or entry.state is not State.ACTIVE:
            return -1
        mine = self._place(entry)
        others = (each for each in self._entries.values() if each.state is State.ACTIVE)
        return sum(self._place(each) < mine for each in others)

    def apply(self, settings: WaitingSettings) -> None:
        """Back-offs that have begun end as they were to; how long pods wait at most is as it is now said."""
        before, self.settings = self.settings, settings
        if settings.flush_seconds == before.flush_seconds:
            return
        for key, entry in self._entries.items():
            if entry.state is State.WAITING:
                self._stamps += 1
                entry.stamp = self._stamps
                heapq.heappush(self._timed, (entry.queued_at + settings.flush_seconds, entry.stamp, key))

    # What happens

    def put(self, key: Key, pod: Pod, now: float, again: bool) -> None:
        """A pod without a node is new, or has changed; `again`: in something that its placement depends on."""
        entry = self._entries.get(key)
        if entry is not None and entry.pod.metadata.uid != pod.metadata.uid:
            self.gone(key)
            entry = None
        if entry is None:
            self._numbers += 1
            entry = self._entries[key] = WaitingPod(pod, now, self._numbers)
            self._activate(key, entry, now, "PodAdded")
            return
        before, entry.pod = entry.pod, pod
        if before.spec.priority != pod.spec.priority and entry.state is State.ACTIVE:
            self._activate(key, entry, now, entry.woken_by)
        elif again and entry.state is State.TAKEN:
            entry.has_changed = True
        elif again and entry.state is State.WAITING:
            self._wake(key, entry, now, "PodUpdated")

    def gone(self, key: Key) -> None:
        """It has a node, has ended or is no more."""
        entry = self._entries.pop(key, None)
        if entry is not None and entry.state is State.WAITING:
            self._unlist(key, entry)

    def pop(self, now: float) -> TakenPod | None:
        """The next to be tried. It stays with the queue until `refused`, `put_back` or `gone`."""
        if self._timed:
            self._ripen(now)
        while self._active:
            *_, stamp, key = heapq.heappop(self._active)
            entry = self._entries.get(key)
            if entry is None or entry.stamp != stamp or entry.state is not State.ACTIVE:
                continue
            waited = now - entry.queued_at
            entry.attempts += 1
            entry.has_changed = False
            entry.taken_at = self._causes_before + len(self._causes)
            self._enter(entry, State.TAKEN, now)
            return TakenPod(entry.pod, entry.attempts, waited, entry.since, entry.woken_by)
        return None

    def refused(
        self, key: Key, uid: str, by: frozenset[str], wakes_on: frozenset[str], now: float, chance: float
    ) -> None:
        """No node took it. If something that could help has happened meanwhile it only rests, else it waits."""
        entry = self._taken(key, uid)
        if entry is None:
            return
        entry.refused_by, entry.wakes_on = by, wakes_on
        entry.ready_at = now + self._backoff(entry.attempts, chance)
        missed = max(0, entry.taken_at - self._causes_before)
        cause = next((each for each in self._causes[missed:] if each in wakes_on), "")
        if entry.has_changed:
            cause = "PodUpdated"
        if cause or entry.taken_at < self._causes_before:
            self._rest(key, entry, now, cause or "Overflow")
            return
        self.incoming[State.WAITING, "ScheduleAttemptFailure"] += 1
        self._enter(entry, State.WAITING, now)
        for name in sorted(wakes_on):
            self._by_cause.setdefault(name, {})[key] = None
        heapq.heappush(self._timed, (now + self.settings.flush_seconds, entry.stamp, key))

    def put_back(self, key: Key, uid: str, now: float, chance: float) -> None:
        """What was decided for it could not be carried out: tried again after a back-off, whatever happens."""
        entry = self._taken(key, uid)
        if entry is not None:
            entry.ready_at = now + self._backoff(entry.attempts, chance)
            self._rest(key, entry, now, "BindFailed")

    def caused(self, cause: str, now: float) -> None:
        """Something happened that may help pods that wait for it."""
        self._causes.append(cause)
        if len(self._causes) > CAUSES_KEPT:
            half = CAUSES_KEPT // 2
            self._causes_before += half
            del self._causes[:half]
        for key in list(self._by_cause.get(cause, ())):
            self._wake(key, self._entries[key], now, cause)

    def reorder(self, raised: Iterable[Key], now: float) -> None:
        """Priorities are others than before; those of `raised` may go where they did not fit."""
        for key in raised:
            entry = self._entries.get(key)
            if entry is not None:
                self.put(key, entry.pod, now, True)
        self._active = [
            (*self._place(entry), entry.stamp, key)
            for key, entry in self._entries.items()
            if entry.state is State.ACTIVE
        ]
        heapq.heapify(self._active)

    def next_ready_at(self, now: float) -> float | None:
        """When there is something to pop; None: not before something happens."""
        self._ripen(now)
        while self._active:
            *_, stamp, key = self._active[0]
            entry = self._entries.get(key)
            if entry is not None and entry.stamp == stamp and entry.state is State.ACTIVE:
                return now
            heapq.heappop(self._active)
        while self._timed:
            at, stamp, key = self._timed[0]
            entry = self._entries.get(key)
            if entry is not None and entry.stamp == stamp:
                return at
            heapq.heappop(self._timed)
        return None

    def listed(self) -> Iterator[tuple[Key, WaitingPod]]:
        """All of them, for people."""
        yield from self._entries.items()

    # Inside

    def _taken(self, key: Key, uid: str) -> WaitingPod | None:
        """None if it is not this pod any more that is being tried under this name."""
        entry = self._entries.get(key)
        if entry is None or entry.state is not State.TAKEN or entry.pod.metadata.uid != uid:
            return None
        return entry

    def _ripen(self, now: float) -> None:
        while self._timed and self._timed[0][0] <= now:
            _, stamp, key = heapq.heappop(self._timed)
            entry = self._entries.get(key)
            if entry is None or entry.stamp != stamp:
                continue
            if entry.state is State.WAITING:
                self.flushed += 1
                self._activate(key, entry, now, FLUSH)
            elif entry.state is State.RESTING:
                self._activate(key, entry, now, entry.woken_by, "BackoffComplete")

    def _wake(self, key: Key, entry: WaitingPod, now: float, cause: str) -> None:
        if entry.ready_at > now:
            self._rest(key, entry, now, cause)
        else:
            self._activate(key, entry, now, cause)

    def _rest(self, key: Key, entry: WaitingPod, now: float, cause: str) -> None:
        if entry.state is State.WAITING:
            self._unlist(key, entry)
        entry.woken_by = cause
        self.incoming[State.RESTING, cause] += 1
        self._enter(entry, State.RESTING, now)
        heapq.heappush(self._timed, (entry.ready_at, entry.stamp, key))

    def _activate(self, key: Key, entry: WaitingPod, now: float, cause: str, event: str = "") -> None:
        if entry.state is State.WAITING:
            self._unlist(key, entry)
        entry.woken_by = cause
        self.incoming[State.ACTIVE, event or cause] += 1
        self._enter(entry, State.ACTIVE, now)
        priority, since, number = self._place(entry)
        heapq.heappush(self._active, (priority, since, number, entry.stamp, key))

    def _enter(self, entry: WaitingPod, state: State, now: float) -> None:
        self._stamps += 1
        entry.state, entry.queued_at, entry.stamp = state, now, self._stamps

    def _unlist(self, key: Key, entry: WaitingPod) -> None:
        """It waits for no cause any more."""
        for name in entry.wakes_on:
            waiting = self._by_cause.get(name)
            if waiting is not None:
                waiting.pop(key, None)
                if not waiting:
                    del self._by_cause[name]

    def _place(self, entry: WaitingPod) -> tuple[int, float, int]:
        return -self._priority_of(entry.pod), entry.since, entry.number

    def _backoff(self, attempts: int, chance: float) -> float:
        settings = self.settings
        plain = backoff(attempts, settings.backoff_seconds, settings.backoff_max_seconds)
        return plain * (0.75 + 0.5 * chance)


def _own_priority(pod: Pod) -> int:
    return pod.spec.priority
