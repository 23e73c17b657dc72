"""Each store against a plain dict with history: any order of transactions, failures, restarts, compactions.

The model keeps every state by revision. Reads of present and past, lists, changes and watches (with and
without a selector, started at any revision, read at any pace) must agree with it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fairlead.model.key import Key
from fairlead.store.contract import (
    Absent,
    AtRevision,
    CommitFailed,
    CommitOutcome,
    Committed,
    CommittedChange,
    Compacted,
    Entry,
    HasUid,
    Journal,
    Precondition,
    PreconditionFailed,
    Put,
    Remove,
    Retention,
)
from fairlead.store.events import Append, FloorsMoved
from fairlead.store.machine import StoreLimits
from fairlead.store.memory import MemoryJournal
from fairlead.store.phases import StorePhase
from fairlead.store.sqlite import SqliteJournal
from fairlead.store.watch import Subscription
from tests.conformance.store_harness import Harness, delete, put, transact

RESOURCES = ("nodes", "pods")
KEYS = [Key(resource, space, name) for resource in RESOURCES for space in ("x", "y") for name in "abc"]
NARROW = StoreLimits(batch_changes_max=3, window_changes_max=2, window_bytes_max=10_000)


class Version(NamedTuple):
    revision: int
    uid: str
    value: str


class Step(NamedTuple):
    """One change in the model."""

    revision: int
    type: str
    key: Key
    uid: str
    value: str
    before: Version | None


State = dict[Key, Version]


def as_version(entry: Entry | None) -> Version | None:
    if entry is None:
        return None
    assert b'"resourceVersion":"%d"' % entry.revision in entry.data
    return Version(entry.revision, entry.uid, entry.data.split(b'"value":"')[1][:-2].decode())


def odd(entry: Entry) -> bool:
    version = as_version(entry)
    assert version is not None
    return version.value in ("1", "3")


def holds(asked: Precondition, current: Version | None) -> bool:
    if isinstance(asked, Absent):
        return current is None
    if isinstance(asked, AtRevision):
        return current is not None and current.revision == asked.revision
    return current is not None and current.uid == asked.uid


class Watcher(NamedTuple):
    subscription: Subscription
    since: int
    seen: list[tuple[str, Key, int]]


def expected_for(watcher: Watcher, steps: list[Step]) -> list[tuple[str, Key, int]]:
    wanted = watcher.subscription
    told = []
    for step in steps:
        if step.key.resource != wanted.resource or wanted.namespace not in ("", step.key.namespace):
            continue
        now = step.type != "DELETED" and (wanted.accepts is None or step.value in ("1", "3"))
        was = step.before is not None and (wanted.accepts is None or step.before.value in ("1", "3"))
        if now or was:
            name = "MODIFIED" if now and was else "ADDED" if now else "DELETED"
            told.append((name, step.key, step.revision))
    return told


operations = st.lists(
    st.tuples(st.sampled_from(["put", "put", "delete"]), st.sampled_from(KEYS), st.sampled_from("0123")),
    max_size=3,
    unique_by=lambda operation: operation[1],
)
questions = st.lists(
    st.tuples(st.sampled_from([Absent, AtRevision, HasUid]), st.sampled_from(KEYS), st.booleans()), max_size=2
)


class StoreAgainstDict(RuleBasedStateMachine):
    """Subclasses say where the journal lives."""

    def opener(self) -> Callable[[], Journal]:
        journal = MemoryJournal()
        return lambda: journal

    @initialize(narrow=st.booleans())
    def start(self, narrow: bool) -> None:
        self.harness = Harness(self.opener(), NARROW if narrow else StoreLimits())
        self.steps: list[Step] = []  # durable
        self.states: list[State] = [{}]  # durable, by revision
        self.pending: list[Step] = []
        self.expected: dict[int, tuple[int, ...] | Version | None] = {}
        self.watchers: list[Watcher] = []
        self.floors = dict.fromkeys(RESOURCES, 0)

    def teardown(self) -> None:
        if hasattr(self, "harness"):
            self.harness.close()

    @property
    def present(self) -> State:
        """With what is pending."""
        state = dict(self.states[-1])
        for step in self.pending:
            self.apply(state, step)
        return state

    @staticmethod
    def apply(state: State, step: Step) -> None:
        if step.type == "DELETED":
            del state[step.key]
        else:
            state[step.key] = Version(step.revision, step.uid, step.value)

    def make_durable(self, steps: list[Step]) -> None:
        for step in steps:
            state = dict(self.states[-1])
            self.apply(state, step)
            self.states.append(state)
            self.steps.append(step)

    # What people do

    @rule(operations=operations, questions=questions)
    def submit(self, operations: list[tuple[str, Key, str]], questions: list[tuple[type, Key, bool]]) -> None:
        state = self.present
        when = [self.question(kind, key, right, state) for kind, key, right in questions]
        made = [self.operation(kind, key, value, state) for kind, key, value in operations]
        implied = [HasUid(one.key, one.uid) for one in made if isinstance(one, Remove)]
        ticket = self.harness.submit(transact(*made, when=when))
        for asked in (*when, *implied):
            if not holds(asked, state.get(asked.key)):
                self.expected[ticket] = state.get(asked.key)
                return
        revision = len(self.states) + len(self.pending)
        for number, one in enumerate(made):
            before = state.get(one.key)
            kind = "DELETED" if isinstance(one, Remove) else "MODIFIED" if before else "ADDED"
            self.pending.append(
                Step(
                    revision=revision + number,
                    type=kind,
                    key=one.key,
                    uid=one.uid,
                    value=operations[number][2],
                    before=before,
                )
            )
        self.expected[ticket] = tuple(range(revision, revision + len(made)))

    @staticmethod
    def question(kind: type, key: Key, right: bool, state: State) -> Precondition:
        current = state.get(key)
        if kind is Absent:
            return Absent(key)
        if kind is AtRevision:
            return AtRevision(key, (current.revision if current else 1) + (0 if right else 1))
        return HasUid(key, current.uid if current and right else "other")

    @staticmethod
    def operation(kind: str, key: Key, value: str, state: State) -> Put | Remove:
        current = state.get(key)
        uid = current.uid if current else f"uid-{value}"
        return put(key, value, uid) if kind == "put" else delete(key, uid, value)

    @rule()
    def settle(self) -> None:
        self.harness.settle()
        self.make_durable(self.pending)
        self.pending = []
        self.check_outcomes()

    @rule(key=st.sampled_from(KEYS[:2]), value=st.sampled_from("0123"))
    def write(self, key: Key, value: str) -> None:
        """The common case: one durable write to one of few objects."""
        self.submit([("put", key, value)], [])
        self.settle()

    @rule()
    def flush(self) -> None:
        self.harness.flush()

    @precondition(lambda self: self.harness.store.phase is StorePhase.GATHERING)
    @rule(moment=st.sampled_from(["before", "after"]))
    def an_append_fails(self, moment: str) -> None:
        self.harness.flush()
        append = self.harness.asked[0]
        assert isinstance(append, Append)
        self.harness.journal.fail_next = moment if append.batch.changes or append.batch.notes else ""
        waiting = self.expected.keys() - self.harness.outcomes.keys()
        self.harness.carry_out()
        if moment == "after":
            self.make_durable(self.pending[: len(append.batch.changes)])
        self.pending = []
        for ticket in waiting:
            assert isinstance(self.harness.outcomes[ticket], CommitFailed)
            del self.expected[ticket]

    @rule()
    def restart(self) -> None:
        self.harness.restart()
        self.pending = []
        self.expected.clear()
        self.watchers.clear()

    @rule(seconds=st.sampled_from([0.0, 5.0, 20.0]), budget=st.sampled_from([2, 100]))
    def compact(self, seconds: float, budget: int) -> None:
        if self.harness.store.phase is StorePhase.APPENDING:
            return
        self.harness.now += 1.0
        floors = self.harness.journal.compact(self.harness.now, {"": Retention(seconds=seconds)}, budget)
        self.harness.send(FloorsMoved(floors))
        for resource, floor in floors.items():
            assert self.floors[resource] <= floor < len(self.states)
            self.floors[resource] = floor

    @rule(
        resource=st.sampled_from(RESOURCES),
        namespace=st.sampled_from(["", "x"]),
        selective=st.booleans(),
        back=st.integers(0, 8),
    )
    def watch(self, resource: str, namespace: str, selective: bool, back: int) -> None:
        since = max(self.harness.store.revision - back, 0)
        try:
            made = self.harness.hub.subscribe(resource, namespace, odd if selective else None, since)
        except Compacted:
            assert since < self.floors[resource]
            return
        assert since >= self.floors[resource]
        self.watchers.append(Watcher(made, since, []))

    @rule(limit=st.integers(1, 3))
    def take(self, limit: int) -> None:
        for watcher in list(self.watchers):
            self.take_one(watcher, limit)

    def take_one(self, watcher: Watcher, limit: int) -> None:
        try:
            changes = self.harness.hub.take(watcher.subscription, limit)
        except Compacted:
            assert watcher.subscription.position < self.floors[watcher.subscription.resource]
            self.watchers.remove(watcher)
            return
        watcher.seen.extend(self.told(change) for change in changes)

    @staticmethod
    def told(change: CommittedChange) -> tuple[str, Key, int]:
        as_version(change.entry)
        return change.type, change.entry.key, change.entry.revision

    # What must hold

    def check_outcomes(self) -> None:
        for ticket, expected in self.expected.items():
            outcome: CommitOutcome = self.harness.outcomes[ticket]
            if isinstance(expected, tuple) and not isinstance(expected, Version):
                assert isinstance(outcome, Committed)
                assert tuple(entry.revision for entry in outcome.entries) == expected
            else:
                assert isinstance(outcome, PreconditionFailed)
                assert as_version(outcome.current) == expected
        self.expected.clear()

    @invariant()
    def the_present_is_what_is_durable(self) -> None:
        store, state = self.harness.store, self.states[-1]
        assert store.revision == len(self.states) - 1
        for key in KEYS:
            assert as_version(store.get(key)) == state.get(key)
        for resource in RESOURCES:
            for namespace in ("", "x"):
                self.same_list(store.list(resource, namespace), state, resource, namespace)

    @staticmethod
    def same_list(entries: object, state: State, resource: str, namespace: str) -> None:
        assert isinstance(entries, tuple)
        wanted = [key for key in KEYS if key.resource == resource and namespace in ("", key.namespace)]
        assert [(entry.key, as_version(entry)) for entry in entries] == [
            (key, state[key]) for key in wanted if key in state
        ]

    @rule(back=st.integers(0, 12))
    def the_past_is_what_it_was(self, back: int) -> None:
        store = self.harness.store
        revision = max(store.revision - back, 0)
        for resource in RESOURCES:
            if revision < self.floors[resource]:
                continue
            state = self.states[revision]
            for key in KEYS:
                if key.resource == resource:
                    assert as_version(store.get_at(key, revision)) == state.get(key)
            self.same_list(store.list_at(resource, "", revision), state, resource, "")
            self.same_list(store.list_at(resource, "x", revision), state, resource, "x")
            steps = [s for s in self.steps if s.revision > revision and s.key.resource == resource]
            changes = store.changes_after(revision, resource, 100)
            assert [self.told(change) for change in changes] == [(s.type, s.key, s.revision) for s in steps]
            assert [as_version(change.before) for change in changes] == [s.before for s in steps]

    @rule()
    def watchers_end_up_with_everything_once(self) -> None:
        for watcher in list(self.watchers):
            while watcher in self.watchers and watcher.subscription.ready:
                self.take_one(watcher, 100)
        for watcher in self.watchers:
            steps = [step for step in self.steps if step.revision > watcher.since]
            assert watcher.seen == expected_for(watcher, steps)
            assert self.harness.hub.progress(watcher.subscription) == self.harness.store.revision


class SqliteAgainstDict(StoreAgainstDict):
    """On disk; synchronous OFF, because durability is proven elsewhere and this must be quick."""

    def opener(self) -> Callable[[], Journal]:
        self.directory = tempfile.mkdtemp(prefix="fairlead-store-")
        return lambda: SqliteJournal(f"{self.directory}/store.db", synchronous="OFF", checkpoint_pages=20)

    def teardown(self) -> None:
        super().teardown()
        if hasattr(self, "directory"):
            shutil.rmtree(self.directory)


class SoakMemoryAgainstDict(StoreAgainstDict):
    """Longer."""


class SoakSqliteAgainstDict(SqliteAgainstDict):
    """Longer."""


def _settings(examples: int, steps: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


TestMemoryAgainstDict = StoreAgainstDict.TestCase
TestMemoryAgainstDict.settings = _settings(100, 50)
TestSqliteAgainstDict = SqliteAgainstDict.TestCase
TestSqliteAgainstDict.settings = _settings(60, 50)
TestSoakMemoryAgainstDict = pytest.mark.soak(SoakMemoryAgainstDict.TestCase)
TestSoakMemoryAgainstDict.settings = _settings(400, 100)
TestSoakSqliteAgainstDict = pytest.mark.soak(SoakSqliteAgainstDict.TestCase)
TestSoakSqliteAgainstDict.settings = _settings(250, 100)
