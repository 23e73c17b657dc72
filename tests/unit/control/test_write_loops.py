"""Write loops: which writes are the same, how many of them are a loop, when it is over."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.control.write_loops import (
    CONTENTS_KEPT_MAX,
    LOOPS_KEPT_MAX,
    WRITES_KEPT_MAX,
    WriteLoops,
    WriteLoopSettings,
    describe_loop,
)
from fairlead.core.times import timestamp
from fairlead.decision.effects import Change, ChangeStatus

SETTINGS = WriteLoopSettings(repeats_max=3, window_seconds=10.0)


def status(patch: dict[str, Any], name: str = "web", revision: int = 1) -> ChangeStatus:
    key = ("deployments.apps", "apps/v1", "deployments", "default", name)
    return ChangeStatus(f"c/u/status/{revision}", *key, "u", revision, {"status": patch})


def found_by(*patches: dict[str, Any], every: float = 0.1) -> list[int]:
    """The writes, by number, at which a loop was news."""
    loops = WriteLoops(SETTINGS)
    news = []
    for number, patch in enumerate(patches):
        found = loops.wrote("deployment", status(patch, revision=number), number * every)
        if found is not None and found[1]:
            news.append(number)
    return news


@pytest.mark.parametrize(
    ("patches", "expected"),
    [
        ([{"replicas": 1}] * 10, [4]),
        ([{"replicas": number % 2} for number in range(14)], [7, 8]),
        ([{"replicas": number} for number in range(100)], []),
        ([{"conditions": [{"type": "A", "lastUpdateTime": timestamp(n)}]} for n in range(10)], [4]),
        ([{"conditions": [{"type": "A", "message": f"{n} of 9"}]} for n in range(8)], []),
    ],
    ids=["the same", "two by turns", "progress", "only the time differs", "the words differ"],
)
def test_a_loop_is_the_same_content_again_and_again(
    patches: list[dict[str, Any]], expected: list[int]
) -> None:
    assert found_by(*patches) == expected


def test_the_same_now_and_then_is_none() -> None:
    assert found_by(*[{"replicas": 1}] * 30, every=4.0) == []


def test_objects_controllers_and_parts_are_counted_apart() -> None:
    loops = WriteLoops(SETTINGS)
    whole = Change(
        identity="c/u/x",
        resource="deployments.apps",
        api_version="apps/v1",
        plural="deployments",
        namespace="default",
        name="web",
        uid="u",
        revision=1,
        patch={"status": {"a": 1}},
    )
    for _ in range(3):
        assert loops.wrote("deployment", status({"a": 1}), 0.0) is None
        assert loops.wrote("deployment", status({"a": 1}, "other"), 0.0) is None
        assert loops.wrote("replicaset", status({"a": 1}), 0.0) is None
        assert loops.wrote("deployment", whole, 0.0) is None
    assert loops.loops(0.0) == ()


def test_a_loop_is_shown_while_it_lasts_and_forgotten_a_window_after() -> None:
    loops = WriteLoops(SETTINGS)
    for number in range(9):
        loops.wrote("deployment", status({"replicas": 1, "ready": 2}), number * 0.5)
    (loop,) = loops.loops(13.0)
    assert (loop.object, loop.part, loop.writes) == ("deployments.apps/default/web", "status", 8)
    assert loop.fields == ("status.ready", "status.replicas")
    assert "wrote the same to deployments.apps/default/web 8 times" in describe_loop(loop)
    assert loops.loops(14.5) == ()
    assert loops.found == 1


def test_nothing_is_a_loop_when_it_is_switched_off() -> None:
    loops = WriteLoops(WriteLoopSettings(repeats_max=0))
    assert {loops.wrote("deployment", status({"a": 1}), 0.0) for _ in range(1000)} == {None}


def test_memory_is_bounded() -> None:
    loops = WriteLoops(WriteLoopSettings(repeats_max=1, window_seconds=1e6))
    for number in range(WRITES_KEPT_MAX + 10):
        for _ in range(3):
            loops.wrote("deployment", status({"a": 1}, f"web-{number}"), 0.0)
    assert len(loops.loops(0.0)) == LOOPS_KEPT_MAX
    assert len(loops._written) == WRITES_KEPT_MAX


def test_an_object_that_makes_progress_for_long_is_not_remembered_word_for_word() -> None:
    loops = WriteLoops(WriteLoopSettings(repeats_max=1, window_seconds=1e6))
    for number in range(10 * CONTENTS_KEPT_MAX):
        assert loops.wrote("deployment", status({"ready": number}), 0.0) is None
    (written,) = loops._written.values()
    assert len(written.contents) <= CONTENTS_KEPT_MAX
