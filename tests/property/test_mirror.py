"""A mirror against a store with history, across a network that is unkind.

The model keeps the resource as it was at every revision. Each call of the mirror is a channel: what one watch
sends arrives in order, but between calls anything may happen: delays, answers of calls that were given up long ago,
duplicates, breaks, 410, lists of the past. Whatever happens, the mirror is the model at the mirror's revision.
"""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fairlead.cache.events import (
    Broke,
    Changed,
    Event,
    Expired,
    Framed,
    Instruction,
    Listed,
    ListFailed,
    Marked,
)
from fairlead.cache.mirror import Mirror
from fairlead.model.key import Key
from fairlead.model.views import PODS, Pod, View
from fairlead.port.driving import Follow, ListAll, Started, WakeAt, Woke
from fairlead.store.contract import ADDED, DELETED, MODIFIED, Entry
from tests.unit.cache.objects import entry, unreadable

NAMES = st.sampled_from("abcd")
CHANCE = st.sampled_from([0.0, 0.3, 0.99])


class Server:
    """The model: every state of the resource by revision."""

    def __init__(self) -> None:
        self.states: list[dict[Key, Entry]] = [{}]
        self.changes: list[tuple[str, Entry]] = []
        self.floor = 0
        self.made = 0

    @property
    def revision(self) -> int:
        return len(self.states) - 1

    def write(self, name: str, readable: bool) -> None:
        key = Key("pods", "default", name)
        old = self.states[-1].get(key)
        if old is None:
            self.made += 1
        uid = old.uid if old is not None else f"uid-{self.made}"
        new = (entry if readable else unreadable)(name, self.revision + 1, uid=uid)
        self.changes.append((MODIFIED if old is not None else ADDED, new))
        self.states.append({**self.states[-1], key: new})

    def delete(self, name: str) -> None:
        state = dict(self.states[-1])
        old = state.pop(Key("pods", "default", name), None)
        if old is not None:
            self.changes.append((DELETED, entry(name, self.revision + 1, uid=old.uid)))
            self.states.append(state)

    def write_elsewhere(self) -> None:
        """Another resource's change: a revision that no watch of this one shows."""
        self.states.append(self.states[-1])

    def next_after(self, revision: int) -> tuple[str, Entry] | None:
        return next((change for change in self.changes if change[1].revision > revision), None)


class Channel:
    """One call of the mirror. A watch has a position; `ended` calls send nothing more."""

    def __init__(self, call: ListAll | Follow) -> None:
        self.attempt = call.attempt
        self.watch = isinstance(call, Follow)
        self.position = call.since_revision if isinstance(call, Follow) else 0
        self.ended = False


class Mirroring(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.server = Server()
        self.mirror: Mirror[Pod] = Mirror(PODS)
        self.channels: list[Channel] = []
        self.delivered: deque[Event] = deque(maxlen=50)
        self.replayed: dict[Key, View] = {}
        self.revision_before = 0
        self.now = 1000.0
        self.wake_at = 0.0

    # Driving

    def tell(self, event: Event) -> None:
        self.delivered.append(event)
        for instruction in self.mirror.handle(event):
            self.carry_out(instruction)
        assert self.mirror.revision >= self.revision_before
        self.revision_before = self.mirror.revision

    def carry_out(self, instruction: Instruction) -> None:
        match instruction:
            case ListAll() | Follow():
                self.channels.append(Channel(instruction))
            case WakeAt(at):
                assert at > self.now
                self.wake_at = at
            case Changed(before, after, key):
                assert before is not None or after is not None
                assert self.replayed.get(key) is before
                assert before != after, "a change that is none"
                self.replayed.pop(key, None)
                if after is not None:
                    self.replayed[key] = after

    def open(self, watch: bool | None = None) -> list[Channel]:
        return [each for each in self.channels if not each.ended and watch in (None, each.watch)]

    def deliver(self, channel: Channel, lag: int = 0) -> None:
        """The next thing a call sends. `lag` makes a list as old, and a bookmark as careful."""
        server, attempt = self.server, channel.attempt
        if not channel.watch:
            channel.ended = True
            revision = max(0, server.revision - lag)
            self.tell(Listed(revision, tuple(server.states[revision].values()), self.now, attempt))
        elif channel.position < server.floor:
            channel.ended = True
            self.tell(Expired(self.now, attempt))
        elif (change := server.next_after(channel.position)) is not None:
            channel.position = change[1].revision
            self.tell(Framed(*change, self.now, attempt))
        else:
            channel.position = max(channel.position, server.revision - lag)
            self.tell(Marked(channel.position, self.now, attempt))

    # What happens

    @initialize(chance=CHANCE)
    def start(self, chance: float) -> None:
        self.tell(Started(self.now, chance))

    @rule(name=NAMES, readable=st.sampled_from([True, True, True, False]))
    def write(self, name: str, readable: bool) -> None:
        self.server.write(name, readable)

    @rule(name=NAMES, again=st.booleans())
    def delete(self, name: str, again: bool) -> None:
        self.server.delete(name)
        if again:
            self.server.write(name, True)

    @rule()
    def write_elsewhere(self) -> None:
        self.server.write_elsewhere()

    @rule(keep=st.integers(0, 3))
    def compact(self, keep: int) -> None:
        self.server.floor = max(self.server.floor, self.server.revision - keep)

    @precondition(lambda self: self.open())
    @rule(data=st.data(), times=st.integers(1, 4), lag=st.sampled_from([0, 0, 1, 2, 5]))
    def arrive(self, data: st.DataObject, times: int, lag: int) -> None:
        channel = data.draw(st.sampled_from(self.open()))
        for _ in range(times):
            if not channel.ended:
                self.deliver(channel, lag)

    @precondition(lambda self: self.open(watch=False))
    @rule()
    def fail_to_list(self) -> None:
        channel = self.open(watch=False)[-1]
        channel.ended = True
        self.tell(ListFailed("Timeout", self.now, channel.attempt))

    @precondition(lambda self: self.open(watch=True))
    @rule(silently=st.booleans())
    def break_newest_watch(self, silently: bool) -> None:
        """The client gives up, while the other end may still be sending."""
        channel = self.open(watch=True)[-1]
        channel.ended = not silently
        self.tell(Broke("Closed", self.now, channel.attempt))

    @precondition(lambda self: self.open(watch=True))
    @rule()
    def expire_newest_watch(self) -> None:
        channel = self.open(watch=True)[-1]
        channel.ended = True
        self.tell(Expired(self.now, channel.attempt))

    @precondition(lambda self: self.channels)
    @rule(lag=st.integers(0, 4))
    def relist(self, lag: int) -> None:
        """What takes several steps to come about by chance: a list, perhaps of the past, over a copy."""
        if self.channels[-1].watch:
            self.channels[-1].ended = True
            self.tell(Expired(self.now, self.channels[-1].attempt))
        self.now = max(self.now, self.wake_at)
        self.tell(Woke(self.now, 0.5))
        if not self.channels[-1].ended:
            self.deliver(self.channels[-1], lag)

    @precondition(lambda self: self.channels)
    @rule()
    def catch_up(self) -> None:
        self.now = max(self.now, self.wake_at)
        self.tell(Woke(self.now, 0.5))
        for _ in range(8):
            if not self.channels[-1].ended:
                self.deliver(self.channels[-1])

    @precondition(lambda self: self.delivered)
    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        back = data.draw(st.integers(1, len(self.delivered)) | st.integers(1, min(3, len(self.delivered))))
        event = self.delivered[-back]
        if isinstance(event, Woke):
            event = Woke(self.now, event.chance)
        self.tell(event)

    @rule(chance=CHANCE, late=st.booleans())
    def wake(self, chance: float, late: bool) -> None:
        self.now = max(self.now, self.wake_at + 100.0) if late else self.now + 0.05
        self.tell(Woke(self.now, chance))

    @rule(ahead=st.integers(0, 2))
    def hear(self, ahead: int) -> None:
        self.mirror.heard_of(max(0, self.server.revision - ahead))

    # What holds

    @invariant()
    def the_mirror_is_the_model_at_its_revision(self) -> None:
        mirror = self.mirror
        expected = self.server.states[mirror.revision] if mirror.synced else {}
        readable = {view.metadata.name: view.metadata.revision for view in mirror.index.all()}
        hidden = {key.name: each.revision for key, each in mirror.unreadable.items()}
        assert readable.keys().isdisjoint(hidden)
        assert {**readable, **hidden} == {key.name: each.revision for key, each in expected.items()}

    @invariant()
    def the_changes_replayed_are_the_mirror(self) -> None:
        assert [self.replayed[key] for key in sorted(self.replayed)] == list(self.mirror.index.all())

    @invariant()
    def it_knows_how_far_behind_it_is(self) -> None:
        mirror = self.mirror
        assert mirror.revision <= mirror.newest_seen <= self.server.revision
        assert mirror.behind == mirror.newest_seen - mirror.revision
        assert mirror.passed(mirror.revision) == mirror.synced
        assert not mirror.passed(mirror.revision + 1)

    def teardown(self) -> None:
        """Faults stop: it comes to equal the newest, without further trouble."""
        if not self.channels:
            return
        for _ in range(2 * len(self.server.changes) + 10):
            if self.mirror.passed(self.server.revision):
                break
            self.now = max(self.now, self.wake_at)
            self.tell(Woke(self.now, 0.5))
            current = self.channels[-1]
            if not current.ended:
                self.deliver(current)
        assert self.mirror.revision == self.server.revision
        assert self.mirror.behind == 0
        self.the_mirror_is_the_model_at_its_revision()
        self.the_changes_replayed_are_the_mirror()


class LongMirroring(Mirroring):
    """Longer."""


TestMirroring = Mirroring.TestCase
TestMirroring.settings = settings(max_examples=60, stateful_step_count=50)
TestSoakMirroring = pytest.mark.soak(LongMirroring.TestCase)
TestSoakMirroring.settings = settings(max_examples=2000, stateful_step_count=100)
