"""What a create like one before rests on is looked at once in each state of the store, and again in the next."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.api.sound_reader import Sound
from fairlead.model.key import Key
from fairlead.store.contract import Entry
from tests.inprocess import InProcess
from tests.unit.api.test_damaged import rot
from tests.unit.api.test_spec_cache import (
    RANGE,
    SPEC,
    Counting,
    CountingRepeats,
    create,
    other,
    pod,
    remembering,
)


class CountingReads(Sound):
    """Says how often a list was asked for."""

    lists = 0

    def list(self, resource: str, namespace: str = "") -> Sequence[Entry]:
        self.lists += 1
        return super().list(resource, namespace)


class Room:
    """A server that has seen a create, and what its next ones were found to be like."""

    def __init__(self) -> None:
        self.repeats = CountingRepeats()
        self.server = remembering(InProcess(), Counting(), self.repeats)
        self.read = CountingReads(self.server.store)
        object.__setattr__(self.server.desk, "sound", self.read)
        for number in range(2):
            self.create(f"first-{number}")
        assert self.repeats.known == 1

    def create(self, name: str) -> None:
        self.server.send(create(pod(name, SPEC)))

    def lists_of_plans(self, count: int) -> int:
        """How many lists are asked for by so many creates between two commits."""
        before = self.read.lists
        for number in range(count):
            self.server.plan(create(pod(f"planned-{number}", SPEC)))
        return self.read.lists - before


def test_it_is_looked_at_once_between_two_commits() -> None:
    room = Room()
    once = room.lists_of_plans(1)
    assert once > 0
    assert room.lists_of_plans(5) == 0
    room.create("another")
    assert room.lists_of_plans(5) == once
    assert room.repeats.known == 1 + 1 + 5 + 1 + 5


def test_a_commit_of_what_it_rests_on_ends_it() -> None:
    room = Room()
    room.lists_of_plans(2)
    known = room.repeats.known
    room.server.send(other("limitranges", "", "default", RANGE))
    room.create("limited")
    assert room.repeats.known == known
    created = room.server.store.get(Key("pods", "default", "limited"))
    assert created is not None
    assert b'"limits":{"cpu":"2"}' in created.data


def test_a_journal_that_is_read_again_at_the_same_revision_is_looked_at_again() -> None:
    room = Room()
    once, revision = room.lists_of_plans(2), room.server.store.revision
    room.server.store._durable.reload(room.server.journal.recover())
    assert room.server.store.revision == revision
    assert room.lists_of_plans(5) == once


def test_what_is_damaged_since_the_journal_was_read_again_is_refused() -> None:
    room = Room()
    room.lists_of_plans(2)
    known, revision = room.repeats.known, room.server.store.revision
    rot(room.server, Key("namespaces", "", "default"))
    assert room.server.store.revision == revision
    status, answer = room.server.post("/api/v1/namespaces/default/pods", pod("third", SPEC))
    assert (status, answer["reason"]) == (500, "StorageReadError")
    assert room.repeats.known == known
