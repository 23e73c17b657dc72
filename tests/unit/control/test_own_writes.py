"""Writes that the mirrors do not show yet: who waits for them, and who goes on."""

from __future__ import annotations

import pytest

from fairlead.control.own_writes import OwnWrites, Write
from fairlead.model.key import Key

A, B = Write(Key("pods", "default", "a"), 5, False), Write(Key("pods", "default", "b"), 6, False)


class World:
    def __init__(self) -> None:
        self.shown: set[Write] = set()
        self.lacking: set[Key] = set()
        self.own = OwnWrites[str](lambda write: write in self.shown, lambda key: key in self.lacking)


@pytest.fixture
def world() -> World:
    return World()


def test_whoever_waits_goes_on_when_all_of_its_writes_are_shown(world: World) -> None:
    own = world.own
    own.wrote("waits", (A, B))
    own.park("waits")
    world.shown.add(A)
    assert not own.shows("waits")
    assert own.unpark() == []
    assert own.parked
    world.shown.add(B)
    assert own.unpark() == ["waits"]
    assert own.unpark() == []
    assert not own.parked


def test_writes_of_those_who_do_not_wait_are_forgotten_once_they_are_shown(world: World) -> None:
    world.own.wrote("goes", (A,))
    world.own.unpark()
    assert world.own.unseen
    world.shown.add(A)
    world.own.unpark()
    assert not world.own.unseen


@pytest.mark.parametrize("lacking", [True, False])
def test_whoever_made_what_came_and_went_unseen_goes_on_once(world: World, lacking: bool) -> None:
    made, kept = Write(Key("pods", "default", "c"), 7, True), Write(Key("pods", "default", "d"), 8, True)
    world.own.wrote("one", [made, kept])
    world.lacking = {made.key} if lacking else set()
    world.shown = {made}
    assert world.own.unpark() == (["one"] if lacking else [])
    world.shown.add(kept)
    assert world.own.unpark() == []
    assert not world.own.unseen


def test_what_was_changed_and_has_gone_is_told_by_its_own_end(world: World) -> None:
    world.own.wrote("one", [A])
    world.lacking, world.shown = {A.key}, {A}
    assert world.own.unpark() == []
