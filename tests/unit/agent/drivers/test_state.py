"""state.json as somebody else may have left it: what is not sound is as good as none, and never an error."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairlead.agent.drivers import state as states
from fairlead.agent.drivers.directories import PodIdentity
from fairlead.agent.drivers.lean_stdlib import to_json
from fairlead.agent.drivers.sandboxes import sandbox

ENDED = {
    "attempt": 0,
    "exit_code": 137,
    "signal": 9,
    "reason": "Error",
    "message": "",
    "started": 5.0,
    "finished": 6.0,
}
RUN = {"name": "c", "attempt": 1, "started": 7.5, "pid": 12, "ended": None, "previous": ENDED}


def sound() -> dict[str, Any]:
    return {**states.new_state(100.0), "containers": [copy.deepcopy(RUN)]}


def load(directory: Path) -> dict[str, Any] | None:
    place = os.open(directory, os.O_RDONLY)
    try:
        return states.load(place)
    finally:
        os.close(place)


def save(directory: Path, state: dict[str, Any]) -> None:
    place = os.open(directory, os.O_RDONLY)
    try:
        states.save(place, state)
    finally:
        os.close(place)


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    assert load(tmp_path) is None
    save(tmp_path, sound())
    found = load(tmp_path)
    assert found == sound() | {"offset": found and found["offset"]}
    assert found is not None
    assert states.mark_lost(found)
    save(tmp_path, found)
    assert load(tmp_path) == found


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("pid",), -1),
        (("pid",), "1"),
        (("pid",), True),
        (("offset",), 1e300),
        (("offset",), float("nan")),
        (("deadline",), None),
        (("fenced",), 1),
        (("containers",), None),
        (("containers",), {"c": RUN}),
        (("format",), 2),
        (("containers", 0, "name"), ""),
        (("containers", 0, "name"), "x" * 64),
        (("containers", 0, "name"), 7),
        (("containers", 0, "attempt"), 1 << 40),
        (("containers", 0, "started"), "now"),
        (("containers", 0, "ended"), "yes"),
        (("containers", 0, "ended"), {"attempt": 0}),
        (("containers", 0, "previous", "exit_code"), -9),
        (("containers", 0, "previous", "message"), "x" * 5000),
        (("containers", 0, "previous", "finished"), 1e11),
    ],
)
def test_what_is_not_sound_is_as_good_as_none(tmp_path: Path, place: tuple[Any, ...], value: object) -> None:
    state = sound()
    inner: Any = state
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    (tmp_path / states.FILE).write_text(to_json(state))
    assert load(tmp_path) is None


def test_a_state_without_a_word_of_walls_is_an_older_supervisors(tmp_path: Path) -> None:
    state = sound()
    del state["walls"]
    save(tmp_path, state)
    identity = PodIdentity("uid", "default", "p", "")
    assert sandbox(identity, load(tmp_path), True, "", 0.0).outdated
    assert not sandbox(identity, sound(), True, "", 0.0).outdated
    assert not sandbox(identity, None, True, "", 0.0).outdated, "nothing was started yet"


@pytest.mark.parametrize("key", sorted(states.new_state(0.0).keys() - {"walls"}))
def test_nothing_may_be_missing(tmp_path: Path, key: str) -> None:
    state = sound()
    del state[key]
    (tmp_path / states.FILE).write_text(to_json(state))
    assert load(tmp_path) is None


@pytest.mark.parametrize(
    "put",
    [
        lambda path: path.write_bytes(b"\xff\xfe\0"),
        lambda path: path.write_text("[]"),
        lambda path: path.write_text("[" * 100_000),
        lambda path: path.write_text('{"format": ' + "9" * 5000 + "}"),
        lambda path: path.mkdir(),
        lambda path: os.mkfifo(path),
        lambda path: path.symlink_to("/dev/zero"),
    ],
)
def test_whatever_is_in_its_place_nobody_waits_for_it(tmp_path: Path, put: Callable[[Path], Any]) -> None:
    put(tmp_path / states.FILE)
    assert load(tmp_path) is None


def test_a_link_in_the_place_of_what_is_being_written_is_replaced_and_not_followed(tmp_path: Path) -> None:
    """Neither a link nor a second name of somebody else's file: both would be emptied and written."""
    other = tmp_path / "other"
    for put in (os.symlink, os.link):
        other.write_text("somebody else's")
        put(other, tmp_path / f".{states.FILE}")
        save(tmp_path, sound())
        assert other.read_text() == "somebody else's"
        assert load(tmp_path) is not None
