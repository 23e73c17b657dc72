"""The work queue against a simple model: lists, scanned from end to end.

The model knows the rules and none of the tricks: it keeps every waiting key in one list and searches it. Whatever
order adds, delays, turns, failures and settings come in, both must give the same turns at the same times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fairlead.model.key import Key
from fairlead.queue.entry import Priority
from fairlead.queue.heat import Quarantined
from fairlead.queue.settings import QueueSettings
from fairlead.queue.work import WorkQueue

KEYS = [Key("pods", namespace, name) for namespace in ("", "x", "y") for name in "abc"]
PASSES_MAX = 4
CALM = QueueSettings(backoff_seconds=1.0, backoff_max_seconds=8.0, hot_turns_max=0, passes_max=2, keys_max=6)

keys = st.sampled_from(KEYS)
priorities = st.sampled_from(list(Priority))
chances = st.sampled_from([0.0, 0.25, 0.5, 0.75])
# Few and round times, so that equal ones are common.
spans = st.sampled_from([0.0, 0.5, 1.0, 2.0, 5.0, 20.0])


@dataclass
class Place:
    key: Key
    priority: int
    ready_at: float
    order: int  # by when it was given its time
    lined_up: int = -1  # by when it joined the line of its priority; -1: not due yet


class QueueMachine(RuleBasedStateMachine):
    @initialize(rate=st.sampled_from([0.0, 0.5, 2.0]), burst=st.integers(1, 3))
    def begin(self, rate: float, burst: int) -> None:
        self.settings = replace(CALM, rate_per_second=rate, rate_burst=burst)
        self.queue: WorkQueue[Key] = WorkQueue(self.settings)
        self.now = 100.0
        self.tick = 0
        self.waiting: list[Place] = []
        self.working: dict[Key, Place | None] = {}
        self.turn_of: dict[Key, int] = {}  # priority of the turn in progress
        self.failures: dict[Key, int] = {}
        self.rings: dict[int, list[str]] = {priority: [] for priority in Priority}
        self.passed: dict[int, int] = dict.fromkeys(Priority, 0)
        self.tokens, self.refilled_at = float(burst), self.now
        self.pops = self.collapsed = self.overloads = 0

    # The model

    def next_order(self) -> int:
        self.tick += 1
        return self.tick

    def line(self, priority: int) -> list[Place]:
        return [each for each in self.waiting if each.lined_up >= 0 and each.priority == priority]

    def line_up(self, place: Place) -> None:
        place.lined_up = self.next_order()
        ring = self.rings[place.priority]
        if place.key.namespace not in ring:
            ring.append(place.key.namespace)

    def admit_due(self) -> None:
        due = [each for each in self.waiting if each.lined_up < 0 and each.ready_at <= self.now]
        for each in sorted(due, key=lambda each: (each.ready_at, each.order)):
            self.line_up(each)

    def merge(self, place: Place, at: float, priority: int) -> None:
        if place.lined_up >= 0:
            if priority > place.priority:
                left = place.priority
                place.priority = priority
                if not self.line(left):
                    self.rings[left], self.passed[left] = [], 0
                self.line_up(place)
            return
        place.priority = max(place.priority, priority)
        if at < place.ready_at:
            place.ready_at, place.order = at, self.next_order()

    def model_add(self, key: Key, at: float, priority: int) -> None:
        self.admit_due()
        at = max(at, self.now)
        found = next((each for each in self.waiting if each.key == key), None)
        if found is not None:
            self.merge(found, at, priority)
            self.admit_due()
            self.collapsed += 1
            return
        if key in self.working:
            again = self.working[key]
            if again is not None:
                again.priority, again.ready_at = max(again.priority, priority), min(again.ready_at, at)
                self.collapsed += 1
                return
            self.working[key] = Place(key, priority, at, 0)
        else:
            self.waiting.append(Place(key, priority, at, self.next_order()))
            self.admit_due()
        self.overloads += self.depth() > self.settings.keys_max

    def depth(self) -> int:
        return len(self.waiting) + sum(again is not None for again in self.working.values())

    def refill(self) -> None:
        gained = (self.now - self.refilled_at) * self.settings.rate_per_second
        self.tokens, self.refilled_at = min(self.settings.rate_burst, self.tokens + gained), self.now

    def model_pop(self) -> Place | None:
        self.admit_due()
        self.refill()
        live = [priority for priority in sorted(Priority, reverse=True) if self.line(priority)]
        if not live or (self.settings.rate_per_second and self.tokens < 1):
            return None
        self.tokens -= 1
        overdue = [each for each in live if self.passed[each] >= self.settings.passes_max]
        chosen = max(overdue, key=lambda each: (self.passed[each], each)) if overdue else live[0]
        for priority in live:
            self.passed[priority] = 0 if priority == chosen else self.passed[priority] + 1
            assert self.passed[priority] <= PASSES_MAX + len(Priority) - 1, "starved"
        line, ring = self.line(chosen), self.rings[chosen]
        filled = {each.key.namespace for each in line}
        while ring[0] not in filled:
            ring.pop(0)
        namespace = ring.pop(0)
        place = min(
            (each for each in line if each.key.namespace == namespace), key=lambda each: each.lined_up
        )
        self.waiting.remove(place)
        if any(each.key.namespace == namespace for each in self.line(chosen)):
            ring.append(namespace)
        return place

    # The rules

    @rule(span=spans)
    def pass_time(self, span: float) -> None:
        self.now += span

    @rule(key=keys, priority=priorities)
    def add(self, key: Key, priority: Priority) -> None:
        self.queue.add(key, self.now, priority)
        self.model_add(key, self.now, priority)

    @rule(key=keys, span=spans, priority=priorities)
    def add_at(self, key: Key, span: float, priority: Priority) -> None:
        at = self.now + span
        self.queue.add_at(key, self.now, at, priority)
        self.model_add(key, at, priority)

    @rule(some=st.lists(keys, max_size=5), span=spans)
    def resync(self, some: list[Key], span: float) -> None:
        queued, collapsed = self.queue.resync(some, self.now, span)
        before = self.collapsed
        for position, key in enumerate(some):
            self.model_add(key, self.now + position * (span / len(some)), Priority.LOW)
        assert collapsed == self.collapsed - before
        assert queued + collapsed == len(some)

    @rule()
    def pop(self) -> None:
        turn, expected = self.queue.pop(self.now), self.model_pop()
        if turn is None or expected is None:
            assert turn is None
            assert expected is None
            return
        assert turn.key not in self.working, "two workers on one key"
        assert (turn.key, turn.priority) == (expected.key, expected.priority)
        assert turn.waited_seconds == self.now - expected.ready_at >= 0
        assert turn.failures == self.failures.get(turn.key, 0)
        self.working[turn.key] = None
        self.turn_of[turn.key] = turn.priority
        self.pops += 1

    @precondition(lambda self: self.working)
    @rule(data=st.data(), chance=chances)
    def fail(self, data: st.DataObject, chance: float) -> None:
        key = data.draw(st.sampled_from(list(self.working)))
        attempt = self.failures[key] = self.failures.get(key, 0) + 1
        at = self.now + self.settings.delay(attempt, chance)
        self.model_add(key, at, self.turn_of[key])
        assert self.queue.retry(key, self.now, chance) == at

    @precondition(lambda self: self.working)
    @rule(data=st.data(), well=st.booleans())
    def done(self, data: st.DataObject, well: bool) -> None:
        key = data.draw(st.sampled_from(list(self.working)))
        if well:
            self.queue.forget(key)
            self.failures.pop(key, None)
        self.queue.done(key, self.now)
        self.admit_due()
        again = self.working.pop(key)
        if again is None:
            self.failures.pop(key, None)
            return
        again.ready_at, again.order = max(again.ready_at, self.now), self.next_order()
        self.waiting.append(again)
        self.admit_due()

    @rule(passes_max=st.integers(1, PASSES_MAX), keys_max=st.integers(0, 8))
    def change_settings(self, passes_max: int, keys_max: int) -> None:
        self.settings = replace(self.settings, passes_max=passes_max, keys_max=keys_max)
        self.queue.apply(self.settings, self.now)

    # What always holds

    @invariant()
    def the_numbers_agree(self) -> None:
        if not hasattr(self, "queue"):
            return
        snapshot = self.queue.snapshot(self.now)
        lined_up = [each for each in self.waiting if each.lined_up >= 0]
        assert snapshot.depth == len(self.queue) == self.depth()
        assert (snapshot.ready, snapshot.delayed) == (len(lined_up), len(self.waiting) - len(lined_up))
        assert list(self.working) == [each.key for each in snapshot.longest_running]
        assert {each.key: each.failures for each in snapshot.most_retried} == self.failures
        oldest = max(0.0, *(self.now - each.ready_at for each in self.waiting), 0.0)
        assert snapshot.oldest_waiting_seconds == oldest
        counts = snapshot.counts
        assert (counts.collapsed, counts.overloads) == (self.collapsed, self.overloads)
        assert counts.added - counts.collapsed == counts.popped + snapshot.depth
        assert counts.popped == counts.done + snapshot.in_progress == self.pops

    @invariant()
    def the_timer_is_exact(self) -> None:
        if not hasattr(self, "queue"):
            return
        expected = None
        if self.waiting:
            expected = max(self.now, min(each.ready_at for each in self.waiting))
            self.refill()
            if self.settings.rate_per_second and self.tokens < 1:
                expected = max(expected, self.now + (1 - self.tokens) / self.settings.rate_per_second)
        assert self.queue.next_ready_at(self.now) == expected


QueueMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)
TestQueue = QueueMachine.TestCase


@given(
    depths=st.lists(st.integers(1, 30), min_size=2, max_size=6),
    priority=priorities,
    arrivals=st.lists(st.integers(0, 5), max_size=40),
)
@settings(max_examples=150, deadline=None)
def test_k_namespaces_with_work_are_all_served_by_any_k_turns_in_a_row(
    depths: list[int], priority: Priority, arrivals: list[int]
) -> None:
    queue: WorkQueue[Key] = WorkQueue()
    left = dict.fromkeys(range(len(depths)), 0)
    served: list[int] = []
    number = 0

    def add(space: int) -> None:
        nonlocal number
        number += 1
        left[space] += 1
        queue.add(Key("pods", str(space), str(number)), 0.0, priority)

    for space, depth in enumerate(depths):
        for _ in range(depth):
            add(space)
    pending = [space for space in arrivals if space < len(depths)]
    while (turn := queue.pop(0.0)) is not None:
        space = int(turn.key.namespace)
        if all(left.values()):
            served.append(space)
            recent = served[-len(depths) :]
            assert len(set(recent)) == len(recent)
        else:
            served.clear()
        left[space] -= 1
        if pending:
            add(pending.pop())
    assert not any(left.values())


@given(steps=st.lists(st.sampled_from([0.0, 0.125, 0.5, 1.0, 3.0]), min_size=30, max_size=120))
@settings(max_examples=150, deadline=None)
def test_a_key_that_always_wants_to_run_is_bounded_and_a_calm_one_is_never_slowed(steps: list[float]) -> None:
    knobs = QueueSettings(
        hot_turns_max=5, hot_window_seconds=10.0, quarantine_interval_seconds=2.0, quarantine_seconds=10.0
    )
    queue: WorkQueue[Key] = WorkQueue(knobs)
    greedy, calm = Key("pods", "x", "greedy"), Key("pods", "x", "calm")
    now, calm_again_at = 0.0, 0.0
    starts: list[float] = []  # of the greedy key, since it was last found hot or released
    is_held = False
    for step in steps:
        now += step
        queue.add(greedy, now)
        calm_wants = now >= calm_again_at
        if calm_wants:
            queue.add(calm, now)
            calm_again_at = now + 4.0
        while (turn := queue.pop(now)) is not None:
            queue.done(turn.key, now)
            reports = queue.take_reports()
            if reports:
                assert [each.key for each in reports] == [greedy] * len(reports)
                is_held, starts = isinstance(reports[-1], Quarantined), []
            if turn.key == greedy:
                starts.append(now)
                span = now - starts[-2] if len(starts) > 1 else 2.0
                assert not is_held or span >= 2.0
                assert is_held or len(starts) < 11 or now - starts[-11] >= 10.0
            else:
                calm_wants = False
        assert not calm_wants, "the calm key had to wait"


@given(
    calls=st.lists(st.tuples(st.integers(0, 4), keys, spans, priorities, chances), max_size=120),
)
@settings(max_examples=50, deadline=None)
def test_the_same_calls_give_the_same_answers(
    calls: list[tuple[int, Key, float, Priority, float]],
) -> None:
    def play() -> list[object]:
        queue: WorkQueue[Key] = WorkQueue(QueueSettings(hot_turns_max=3, rate_per_second=2.0, rate_burst=2))
        now, working, answers = 0.0, [], list[object]()
        for what, key, span, priority, chance in calls:
            if what == 0:
                now += span
            elif what == 1:
                queue.add_at(key, now, now + span, priority)
            elif what == 2 and (turn := queue.pop(now)) is not None:
                working.append(turn.key)
                answers.append(turn)
            elif what == 3 and working:
                answers.append(queue.retry(working[0], now, chance))
            elif what == 4 and working:
                queue.done(working.pop(0), now)
        return [*answers, queue.snapshot(now), queue.take_reports()]

    assert play() == play()
