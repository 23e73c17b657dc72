"""The work queue: which key gets the next turn. A plain data structure; `now` and chance are arguments.

Between the mirrors, which add keys, and `control/`, which pops them. The simulator uses the same class.

    (absent) --add--> ready --pop--> in progress --done--> (absent)
    (absent) --add_at--> delayed --due--> ready     in progress --add--> in progress, again --done--> ready / delayed

Promises
- A key has one place. Adds to a waiting key collapse: the highest priority and the earliest time win.
- A key in progress is never popped. However often it is added meanwhile, it has exactly one turn afterwards.
- An add is never lost or refused. Beyond `keys_max` it is counted, and the snapshot says overloaded.
- Higher priorities go first, but one passed over `passes_max` times is served. Within a priority namespaces take turns.
- A failed key waits longer each time, a hot key runs at a bounded rate, and all together obey the overall rate.
- The same calls give the same answers. No operation looks through all keys (tidying up is amortised).

A worker pops, works, then calls `forget` (it went well) or `retry` (it did not) or neither, and always `done`.
`now` must not go back between calls; if it does, order and ages suffer for that long and nothing else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from heapq import nsmallest
from itertools import islice
from typing import Generic, Protocol

from fairlead.queue.delayed import Delayed
from fairlead.queue.entry import K, KeyInProgress, Priority, QueuedKey, TakenKey
from fairlead.queue.failures import Failures
from fairlead.queue.heat import Heat, Quarantined, Released
from fairlead.queue.histogram import Histogram
from fairlead.queue.lines import FairLine
from fairlead.queue.rate import Rate
from fairlead.queue.settings import QueueSettings
from fairlead.queue.snapshot import HotKey, QueueCounts, QueueSnapshot, Retried, Running

# Popped entries that `_arrivals` may hold beyond the ready ones before it is rewritten.
_SLACK = 64
# Due entries that one call moves at most: no call takes long because a million keys became due while nobody asked.
_ADMITTED_MAX = 256
_PRIORITIES = tuple(sorted(Priority))


class Backoff(Protocol):
    """How long to wait after a failure: QueueSettings, or the retry policy of an effect."""

    def delay(self, attempt: int, chance: float) -> float: ...


class WorkQueue(Generic[K]):
    def __init__(self, settings: QueueSettings | None = None) -> None:
        self.settings = settings or QueueSettings()
        self.waits = Histogram()  # from ready to popped
        self.works = Histogram()  # from popped to done
        self.added = self.collapsed = self.popped = self.finished = self.retried = self.overloads = 0
        self._waiting: dict[K, QueuedKey[K]] = {}
        self._working: dict[K, KeyInProgress[K]] = {}  # in the order they started
        self._again = 0
        self._ready = 0
        self._lines: tuple[FairLine[K], ...] = tuple(map(FairLine, _PRIORITIES))
        self._descending = self._lines[::-1]
        self._delayed: Delayed[K] = Delayed()
        self._arrivals: deque[QueuedKey[K]] = deque()  # as they became ready, with some popped ones
        self._rate = Rate(self.settings.rate_per_second, self.settings.rate_burst)
        self._failures: Failures[K] = Failures()
        self._heat: Heat[K] = Heat(self.settings)

    def __len__(self) -> int:
        """Keys with a turn before them."""
        return len(self._waiting) + self._again

    def apply(self, settings: QueueSettings, now: float) -> None:
        """Use these settings from now on. What waits keeps the time it was given."""
        self.settings = settings
        self._rate.apply(settings.rate_per_second, settings.rate_burst)
        self._heat.apply(settings, now)

    # Adding

    def add(self, key: K, now: float, priority: Priority = Priority.NORMAL) -> None:
        """This key deserves a turn."""
        self.add_at(key, now, now, priority)

    def add_at(self, key: K, now: float, at: float, priority: Priority = Priority.NORMAL) -> None:
        """This key deserves a turn at `at`, or earlier if someone else wants one earlier."""
        if now >= self._delayed.wake_at:
            self._admit_due(now)
        self.added += 1
        if at < now:
            at = now
        if self._heat.held:
            at = self._heat.earliest(key, now, at)
        entry = self._waiting.get(key)
        if entry is not None:
            self._merge(entry, now, at, priority)
            self.collapsed += 1
            return
        work = self._working.get(key)
        if work is None:
            entry = self._waiting[key] = QueuedKey(key, priority, at)
            self._place(entry, now)
        elif work.again is None:
            work.again = QueuedKey(key, priority, at)
            self._again += 1
        else:
            again = work.again
            again.priority = max(again.priority, priority)
            again.ready_at = min(again.ready_at, at)
            self.collapsed += 1
            return
        if len(self._waiting) + self._again > self.settings.keys_max:
            self.overloads += 1

    def retry(self, key: K, now: float, chance: float, backoff: Backoff | None = None) -> float:
        """The key's turn failed: count it and give it another after a back-off. When that ends.

        It keeps its priority. An add from elsewhere may still bring it forward: something changed.
        """
        attempt = self._failures.count(key)
        at = now + (backoff or self.settings).delay(attempt, chance)
        work = self._working.get(key)
        self.retried += 1
        self.add_at(key, now, at, Priority(work.priority) if work else Priority.NORMAL)
        return at

    def forget(self, key: K) -> None:
        """The key's turn went well: its next failure is the first."""
        self._failures.clear(key)

    def resync(
        self, keys: Sequence[K], now: float, spread: float, priority: Priority = Priority.LOW
    ) -> tuple[int, int]:
        """Give each key a turn within `spread` seconds, evenly, in the order given. (queued, collapsed)"""
        before = self.collapsed
        step = spread / len(keys) if keys else 0.0
        for position, key in enumerate(keys):
            self.add_at(key, now, now + position * step, priority)
        collapsed = self.collapsed - before
        return len(keys) - collapsed, collapsed

    # Working

    def pop(self, now: float) -> TakenKey[K] | None:
        """The next turn, or None: nothing is ready, or the rate is used up. `next_ready_at` says until when."""
        if now >= self._delayed.wake_at:
            self._admit_due(now)
        if not self._ready:
            return None
        if self._rate.is_limited:
            if self._rate.ready_at(now) > now:
                return None
            self._rate.take(now)
        entry = self._choose().take()
        key, priority = entry.key, entry.priority
        self._ready -= 1
        del self._waiting[key]
        entry.is_ready = False
        self._working[key] = KeyInProgress(priority, now)
        self.popped += 1
        self._heat.started(key, now)
        waited = now - entry.ready_at
        self.waits.observe(waited)
        return TakenKey(key, priority, waited, self._failures.of(key) if self._failures else 0)

    def done(self, key: K, now: float) -> None:
        """The turn is over, however it went. A key that was not popped is the caller's mistake: KeyError."""
        if now >= self._delayed.wake_at:
            self._admit_due(now)
        work = self._working.pop(key)
        self.finished += 1
        self.works.observe(now - work.started_at)
        again = work.again
        if again is not None:
            self._again -= 1
            again.ready_at = max(again.ready_at, now)
            self._waiting[key] = again
            self._place(again, now)
        elif self._failures:
            self._failures.clear(key)

    def next_ready_at(self, now: float) -> float | None:
        """When `pop` has something next, at the earliest `now`; None: not before something is added or done."""
        if not self._waiting:
            return None
        due = now
        first = self._delayed.first()
        if first is not None and not self._ready:
            due = max(now, first.ready_at)
        return max(due, self._rate.ready_at(now)) if self._rate.is_limited else due

    # Hot keys

    def quarantine(self, key: K, now: float, times: int) -> None:
        """Slow this key down: it did the same thing so many times. It is let go when it is calm."""
        self._heat.hold(key, now, times)

    def take_reports(self) -> tuple[Quarantined[K] | Released[K], ...]:
        """Which keys became hot, or calm again, since the last call."""
        if not self._heat.reports:
            return ()
        reports = tuple(self._heat.reports)
        self._heat.reports.clear()
        return reports

    # Seeing

    def snapshot(self, now: float, top: int = 10) -> QueueSnapshot[K]:
        """Everything a person or a metric wants to know; at most `top` keys of each sort are named."""
        oldest = self._oldest(now)
        self._heat.release_calm(now)
        held = nsmallest(top, self._heat.held.items(), key=lambda each: each[1].since)
        working = islice(self._working.items(), top)
        return QueueSnapshot(
            now=now,
            depth=len(self),
            ready=self._ready,
            ready_by_priority=tuple((Priority(line.priority).name, line.live) for line in self._descending),
            delayed=self._delayed.live,
            in_progress=len(self._working),
            again=self._again,
            overloaded=len(self) > self.settings.keys_max,
            oldest_waiting_seconds=max(0.0, now - oldest.ready_at) if oldest else 0.0,
            oldest_waiting=oldest.key if oldest else None,
            next_ready_at=self.next_ready_at(now),
            failing=len(self._failures),
            most_retried=tuple(Retried(key, count) for key, count in self._failures.top(top)),
            longest_running=tuple(
                Running(key, max(0.0, now - work.started_at), work.again is not None) for key, work in working
            ),
            held=len(self._heat.held),
            longest_held=tuple(
                HotKey(key, max(0.0, now - hold.since), hold.turns, hold.put_off, hold.until)
                for key, hold in held
            ),
            counts=QueueCounts(
                added=self.added,
                collapsed=self.collapsed,
                popped=self.popped,
                done=self.finished,
                retried=self.retried,
                overloads=self.overloads,
                quarantined=self._heat.found,
            ),
            settings=self.settings,
        )

    # Moving

    def _choose(self) -> FairLine[K]:
        """The highest priority with something ready, unless another was passed over too often."""
        passes_max = self.settings.passes_max
        chosen: FairLine[K] | None = None
        for line in self._descending:
            if line.live == self._ready:
                line.passed = 0
                return line
            if line.live and (chosen is None or (line.passed > chosen.passed and line.passed >= passes_max)):
                chosen = line
        assert chosen is not None, "something is ready, so some line has it"
        for line in self._descending:
            if line.live:
                line.passed += 1
        chosen.passed = 0
        return chosen

    def _place(self, entry: QueuedKey[K], now: float) -> None:
        if entry.ready_at <= now:
            self._make_ready(entry)
        else:
            self._delayed.push(entry)

    def _make_ready(self, entry: QueuedKey[K]) -> None:
        entry.is_ready = True
        self._ready += 1
        self._lines[entry.priority].push(entry)
        self._arrivals.append(entry)
        if len(self._arrivals) > 2 * self._ready + _SLACK:
            self._arrivals = deque(each for each in self._arrivals if each.is_ready)

    def _admit_due(self, now: float) -> None:
        """What is due becomes ready; after a long pause not all at once, but faster than it can be popped."""
        for _ in range(_ADMITTED_MAX):
            entry = self._delayed.pop_due(now)
            if entry is None:
                return
            self._make_ready(entry)

    def _merge(self, entry: QueuedKey[K], now: float, at: float, priority: int) -> None:
        """A waiting key was added once more."""
        if entry.is_ready:
            if priority > entry.priority:
                self._lines[entry.priority].leave(entry)
                entry.priority = priority
                self._lines[priority].push(entry)
            return
        entry.priority = max(entry.priority, priority)
        if at < entry.ready_at:
            entry.ready_at = at
            if at <= now:
                self._delayed.leave()
                self._make_ready(entry)
            else:
                self._delayed.hasten(entry)

    def _oldest(self, now: float) -> QueuedKey[K] | None:
        """The entry that could run for longest, also if it is due and nobody asked since."""
        arrivals = self._arrivals
        while arrivals and not arrivals[0].is_ready:
            arrivals.popleft()
        due = self._delayed.first()
        if due is None or due.ready_at > now or (arrivals and arrivals[0].ready_at <= due.ready_at):
            return arrivals[0] if arrivals else None
        return due
