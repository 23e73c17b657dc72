"""Blocked decisions that say the same are merged, and none is lost: the attempts of a key are told without a gap."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead.control.merging import Merging, without_counters
from fairlead.model.key import Key
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver

KEY = Key("pods", "default", "web")
PODS = "/api/v1/namespaces/default/pods"


def line(number: int) -> Any:
    return lambda attempts: json.dumps([number, attempts]).encode()


def told(merging: Merging, said: str, number: int, key: Key = KEY) -> tuple[list[Any], str]:
    found = merging.blocked("c", key, said, f"t-{number}", line(number))
    return [json.loads(each) for each in found.lines], found.id


def test_the_same_is_written_each_time_the_count_has_doubled() -> None:
    merging = Merging()
    written = [(number, *told(merging, "no room", number)) for number in range(1, 17)]
    lines = [(number, found) for number, found, _ in written if found]
    assert lines == [
        (1, [[1, None]]),
        (2, [[2, [2, 2]]]),
        (4, [[4, [3, 4]]]),
        (8, [[8, [5, 8]]]),
        (16, [[16, [9, 16]]]),
    ]
    assert [each for _, _, each in written][4:9] == ["t-4", "t-4", "t-4", "t-8", "t-8"], (
        "the one that was written"
    )
    assert merging.merged == 15


def test_what_was_counted_is_written_before_something_else() -> None:
    merging = Merging()
    for number in range(1, 8):
        told(merging, "no room", number)
    found, decision = told(merging, "no quota", 8)
    assert found == [[7, [5, 7]], [8, None]]
    assert decision == "t-8"
    assert told(merging, "no quota", 9)[0] == [[9, [2, 2]]], "counting began anew"
    assert merging.other("c", KEY) == ()
    assert told(merging, "no quota", 10)[0] == [[10, None]]


def test_the_end_of_a_term_writes_all_that_was_counted() -> None:
    merging = Merging()
    other = KEY._replace(name="other")
    for number in range(1, 4):
        told(merging, "no room", number)
        told(merging, "no room", number, other)
    assert [json.loads(each) for each in merging.end()] == [[3, [3, 3]], [3, [3, 3]]]
    assert merging.end() == ()
    assert told(merging, "no room", 1)[0] == [[1, None]]


def test_of_too_many_keys_the_quiet_one_is_written_and_forgotten() -> None:
    merging = Merging(keys_max=2)
    keys = [KEY._replace(name=name) for name in ("a", "b", "c")]
    for number in range(1, 4):
        told(merging, "no room", number, keys[0])
    told(merging, "no room", 1, keys[1])
    told(merging, "no room", 4, keys[0])
    told(merging, "no room", 5, keys[0])
    assert told(merging, "no room", 1, keys[2])[0] == [[1, None]], "b had nothing to write"
    assert told(merging, "no room", 2, keys[1])[0] == [[5, [5, 5]], [2, None]], "a is forgotten, and told of"


@pytest.mark.parametrize(
    ("message", "without"),
    [
        ("the name is taken (attempt 3)", "the name is taken (attempt)"),
        ("after 3 attempts 12 are left", "after 3 attempts are left"),
        ("3 of 5 nodes", "3 of 5 nodes"),
    ],
)
def test_counters_of_attempts_make_no_difference(message: str, without: str) -> None:
    assert without_counters(message) == without


class World:
    """A pod that fits nowhere, tried again whenever another goes."""

    def __init__(self) -> None:
        self.api = InProcess()
        self.driver = Driver(self.api)
        self.driver.run(10)
        self._make("big", "100")
        self.driver.run(5)

    def _make(self, name: str, cpu: str) -> None:
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"containers": [container]},
        }
        assert self.api.post(PODS, body)[0] == 201

    def stir(self, times: int) -> None:
        for _ in range(times):
            self._make("small", "1")
            self.driver.run(5)
            self.api.delete(f"{PODS}/small?gracePeriodSeconds=0")
            self.driver.run(30)

    def attempts(self) -> list[tuple[int, int]]:
        """Which attempts its records stand for."""
        return [
            tuple(each["attempts"]) if "attempts" in each else (each["attempt"], each["attempt"])
            for each in self.driver.records
            if each["controller"] == "scheduler" and each.get("object") == "pods/default/big"
        ]


def covered(ranges: list[tuple[int, int]]) -> list[int]:
    return [number for first, last in ranges for number in range(first, last + 1)]


def test_attempts_that_come_to_the_same_are_few_records_without_a_gap() -> None:
    world = World()
    world.stir(12)
    placer = world.driver.plane.placer
    assert placer is not None
    entry = placer.waiting.get(Key("pods", "default", "big"))
    assert entry is not None
    assert entry.attempts >= 10, "it was tried again and again"
    before = world.attempts()
    assert len(before) <= 6, before
    for each in world.driver.plane.end_term():
        world.driver.records.append(json.loads(each.body))
    ranges = world.attempts()
    assert covered(ranges) == list(range(1, entry.attempts + 1)), "each attempt is in one record"
    last = world.driver.records[-1]
    if "attempts" in last:
        batch = world.driver.records[-2]
        assert batch["batch"] == last["batch"], "what it shares with others is beside it"
        assert len(ranges) == len(before) + 1


def test_every_id_that_a_write_or_an_event_names_has_a_record() -> None:
    world = World()
    world.stir(6)
    known = {each["id"] for each in world.driver.records if "id" in each}
    named = {
        decision
        for _, _, note in world.api.journal.notes("audit", 0, 10_000)
        if (decision := json.loads(note.body).get("decision"))
    }
    assert len(named) > 5
    assert named <= known
    events = world.api.get("/api/v1/namespaces/default/events")[1]["items"]
    told_of = {
        each["metadata"]["annotations"]["fairlead.dev/decision"]
        for each in events
        if "fairlead.dev/decision" in each["metadata"].get("annotations", {})
    }
    assert told_of
    assert told_of <= known


def test_a_plane_that_leads_no_longer_writes_what_it_counted() -> None:
    world = World()
    world.stir(6)
    counted = len(world.attempts())
    series = world.driver.plane.health.merging._series
    assert any(each.unwritten for each in series.values())
    world.driver.plane.leadership.may_act = lambda now: False  # type: ignore[method-assign]
    world.driver.run(30)
    assert not series
    assert len(world.attempts()) >= counted
    covered_now = covered(world.attempts())
    assert covered_now == list(range(1, covered_now[-1] + 1))
