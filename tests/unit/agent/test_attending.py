"""ConfigMaps and Secrets that change while pods use them: watched, read again at once, and never too often."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.agent import contract as c
from fairlead.agent.pace import Pace
from tests.unit.agent.room import Room

MAP = ("configmaps", "default", "m")


def volume(name: str = "m", kind: str = "configMap") -> dict[str, Any]:
    field = "name" if kind == "configMap" else "secretName"
    return {"name": name, kind: {field: name}}


def begun(pace: Pace | None = None) -> Room:
    room = Room(pace)
    room.begin()
    room.settle()
    return room


def files(room: Room, name: str = "web") -> dict[str, bytes]:
    """What the pod's first volume holds now."""
    uid = room.uid(name)
    told = [each for each in room.machine.told if isinstance(each, c.Open | c.Refresh) and each.uid == uid]
    return {file[0]: file[1] for file in told[-1].volumes[0].files or ()}


def reads(room: Room, resource: str = "configmaps") -> int:
    return sum(1 for each in room.requests if each.verb == "get" and each.plural == resource)


@pytest.mark.parametrize(
    ("resource", "kind", "value", "changed"),
    [("configmaps", "configMap", "1", "2"), ("secrets", "secret", "MQ==", "Mg==")],
)
def test_a_change_reaches_the_volume_within_moments(
    resource: str, kind: str, value: str, changed: str
) -> None:
    room = begun()
    room.put(resource, "m", data={"k": value})
    room.create(volumes=[volume(kind=kind)])
    room.settle()
    assert files(room) == {"k": b"1"}
    room.put(resource, "m", data={"k": changed})
    room.pass_time(2)
    assert files(room) == {"k": b"2"}


def test_it_is_watched_once_for_all_pods_and_no_longer_than_one_reads_it() -> None:
    room = begun()
    room.put("configmaps", "m", data={"k": "1"})
    for name in ("web", "web-2"):
        room.create(name, volumes=[volume()])
    room.pass_time(2)
    assert room.attended == {MAP}
    before = reads(room)
    room.put("configmaps", "m", data={"k": "2"})
    room.pass_time(2)
    assert (files(room), files(room, "web-2"), reads(room)) == ({"k": b"2"}, {"k": b"2"}, before + 1)
    room.delete("web", grace=0)
    room.pass_time(2)
    assert room.attended == {MAP}
    room.delete("web-2", grace=0)
    room.pass_time(2)
    assert room.attended == set()


def test_one_that_changes_all_the_time_is_read_about_once_a_second() -> None:
    room = begun()
    room.put("configmaps", "m", data={"k": "0"})
    room.create(volumes=[volume()])
    room.pass_time(2)
    before = reads(room)
    for number in range(100):
        room.put("configmaps", "m", data={"k": str(number)})
        room.pass_time(0.1)
    assert reads(room) - before <= 11
    room.pass_time(2)
    assert files(room) == {"k": b"99"}


def test_only_so_many_are_watched_and_the_rest_is_read_by_the_minute() -> None:
    room = begun(Pace(attended_max=2))
    for number in range(3):
        room.put("configmaps", f"m{number}", data={"k": "1"})
        room.create(f"web-{number}", volumes=[volume(f"m{number}")])
        room.settle()
    assert len(room.attended) == 2
    room.put("configmaps", "m2", data={"k": "2"})
    room.pass_time(2)
    assert files(room, "web-2") == {"k": b"1"}
    room.pass_time(60)
    assert files(room, "web-2") == {"k": b"2"}
    room.delete("web-0", grace=0)
    room.pass_time(2)
    assert room.attended == {("configmaps", "default", "m1"), ("configmaps", "default", "m2")}


def test_a_watch_that_ended_is_opened_again_and_nothing_is_missed() -> None:
    room = begun()
    room.put("configmaps", "m", data={"k": "1"})
    room.create(volumes=[volume()])
    room.pass_time(5)
    room.attended.clear()  # the server ended it
    room.tell(c.Stirred(*MAP, 0, room.now))
    room.put("configmaps", "m", data={"k": "2"})
    assert room.attended == set()  # with back-off
    room.pass_time(5)
    assert room.attended == {MAP}
    assert files(room) == {"k": b"2"}


def test_a_refused_watch_is_tried_ever_more_rarely() -> None:
    room = begun()
    room.put("configmaps", "m", data={"k": "1"})
    room.create(volumes=[volume()])
    room.settle()
    room.refuses_watches = True
    room.attended.clear()
    room.tell(c.Stirred(*MAP, 0, room.now))
    tried = 0

    def count(wanted: c.Attend, show: Any = room._show) -> None:
        nonlocal tried
        tried += 1
        show(wanted)

    room._show = count  # type: ignore[method-assign]
    room.pass_time(600)
    assert 10 < tried < 40


def test_one_that_is_made_later_is_found_at_once() -> None:
    room = begun()
    room.create(volumes=[volume()])
    room.settle()
    room.put("configmaps", "m", data={"k": "1"})
    room.pass_time(1.5)
    assert files(room) == {"k": b"1"}


def test_what_cannot_change_is_not_watched() -> None:
    room = begun()
    room.put("configmaps", "m", data={"k": "1"}, immutable=True)
    room.create(volumes=[volume()])
    room.pass_time(2)
    assert room.attended == set()


def test_a_server_that_goes_back_is_not_asked_without_end() -> None:
    room = begun()
    room.put("configmaps", "m", data={"k": "1"})
    room.create(volumes=[volume()])
    room.pass_time(5)
    before = reads(room)
    room.tell(c.Stirred(*MAP, 10**9, room.now))
    room.pass_time(20)
    assert reads(room) - before <= 2
