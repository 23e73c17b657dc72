"""A pod of which at most one may run, on a node that may have been given up: the API is asked before it is started."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from fairlead.model.marks import AT_MOST_ONE
from fairlead.port.driving import Started
from fairlead.store.contract import CommittedChange
from tests.unit.agent.room import Room

Json = dict[str, Any]
ONE = {"annotations": {AT_MOST_ONE: "true"}}


def started(metadata: Json) -> Room:
    room = Room()
    room.begin()
    room.settle()
    room.create("db", metadata=metadata)
    room.settle()
    assert len(room.machine.running()) == 1
    return room


def rebooted(room: Room) -> None:
    """The machine lost its processes, and a new agent has listed its pods but not renewed its lease."""
    room.lose_supervisor(room.uid("db"))
    room.api.now += 60.0
    room.start_agent()
    room.tell(Started(room.now, 0.5))
    while room.lists:
        room.list_next()
    room.find()


def go_on(room: Room) -> None:
    """Calls are answered; what the watch of pods has to tell comes later."""
    room.frames["pods"] = Held()
    room.pass_time(40.0)


class Held(deque[CommittedChange]):
    """A watch that lags: what it has to tell is not there yet."""

    def append(self, change: CommittedChange, /) -> None:
        """Later."""


def reads(room: Room) -> int:
    return sum(each.verb == "get" and each.plural == "pods" for each in room.requests)


def test_while_the_lease_is_held_nothing_is_asked() -> None:
    room = started(ONE)
    room.exits("db", code=1)
    room.pass_time(60.0)
    assert len(room.machine.starts) > 1
    assert reads(room) == 0


@pytest.mark.parametrize(
    "metadata",
    [
        ONE,
        {
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "u", "controller": True}
            ]
        },
    ],
)
def test_one_that_was_released_meanwhile_is_not_started_although_the_mirror_does_not_show_it(
    metadata: Json,
) -> None:
    room = started(metadata)
    rebooted(room)
    room.release("db")
    go_on(room)
    assert reads(room) >= 1
    assert room.machine.running() == []


def test_one_that_was_not_released_is_started_on_the_word_of_the_api() -> None:
    room = started(ONE)
    rebooted(room)
    go_on(room)
    assert reads(room) >= 1
    assert len(room.machine.running()) == 1


def test_one_whose_object_is_gone_is_not_started() -> None:
    room = started(ONE)
    rebooted(room)
    room.api.delete("/api/v1/namespaces/default/pods/db", {"gracePeriodSeconds": 0})
    go_on(room)
    assert room.machine.running() == []


def test_one_that_is_shown_as_released_is_not_started() -> None:
    room = started(ONE)
    room.release("db")
    room.settle()
    room.exits("db", code=1)
    room.pass_time(60.0)
    assert room.machine.running() == []


def test_others_are_started_at_once() -> None:
    room = started({})
    rebooted(room)
    room.release("db")
    go_on(room)
    assert reads(room) == 0
    assert len(room.machine.running()) == 1
