"""Events of a node when answers are lost: the same happens again and again, one Event counts it, whatever was heard."""

from __future__ import annotations

import pytest

from fairlead.model.views import Json
from fairlead.port.driving import Stepped
from tests.unit.agent.room import Room, running

REASON, MESSAGE = "ClockStepped", "the wall clock was set"


def happens(room: Room, **lost: bool) -> list[str]:
    """Once more, with the first answer lost or not. What was asked for."""
    room.settle()
    asked = len(room.requests)
    room.tell(Stepped(-3600.0, MESSAGE, room.now))
    room.answer_next(**lost)
    room.settle()
    return [each.verb for each in room.requests[asked:] if each.plural == "events"]


def events(room: Room) -> list[Json]:
    _, found = room.api.get("/api/v1/namespaces/default/events")
    return [each for each in found["items"] if each["reason"] == REASON]


def counts(room: Room) -> list[int]:
    return [each["count"] for each in events(room)]


def test_what_happens_again_is_one_event_that_counts() -> None:
    room = running()
    assert happens(room) == ["create"]
    assert happens(room) == ["patch"]
    assert counts(room) == [2]


def test_a_create_whose_answer_was_lost_is_counted_on() -> None:
    room = running()
    assert happens(room, lost_after=True) == ["create"]
    assert counts(room) == [1]
    assert happens(room) == ["create", "patch"], "it exists: told by its count"
    assert counts(room) == [2]
    assert happens(room) == ["patch"]
    assert counts(room) == [3]


def test_a_create_that_was_lost_is_made_the_next_time_with_all_counted() -> None:
    room = running()
    assert happens(room, lost_before=True) == []
    assert happens(room) == ["create"]
    assert counts(room) == [2]


@pytest.mark.parametrize("lost", ["lost_before", "lost_after"])
def test_a_count_whose_answer_was_lost_is_told_the_next_time(lost: str) -> None:
    room = running()
    happens(room)
    happens(room, **{lost: True})
    assert happens(room) == ["patch"]
    assert counts(room) == [3]


def test_an_event_that_expired_begins_anew() -> None:
    room = running()
    happens(room)
    happens(room)
    (event,) = events(room)
    room.api.delete(f"/api/v1/namespaces/default/events/{event['metadata']['name']}")
    assert happens(room) == ["patch"]
    assert counts(room) == []
    assert happens(room) == ["create"]
    assert counts(room) == [1]
    assert room.agent.means.notes.dropped == 1
