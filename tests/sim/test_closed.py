"""Lesson 020's incident, captured from a live plane under injected faults, as a test: played again from its tape.

`examples/duplicate_reservation/run.sh` made the file. What is asserted are invariants and what there is in the end, not
that every commit is the same: another release may do its work in another way.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from msgspec import Raw, structs

from fairlead.control.instructions import DELIVERIES
from fairlead.core.errors import UsageError
from fairlead.replay.artifact import Artifact, RecordedLine, read_artifact
from fairlead.replay.tape import Began
from fairlead.sim.closed.captured import differing_field, flags_of, tape_of
from fairlead.sim.closed.player import ClosedReplay, play

FILE = Path(__file__).parents[1] / "incidents" / "duplicate-reservation.incident.gz"


@pytest.fixture(scope="module")
def incident() -> Artifact:
    return read_artifact(gzip.decompress(FILE.read_bytes()))


def intents(found: ClosedReplay) -> list[str]:
    """Of reservations at the end."""
    kept = [each.data for each in found.objects if each.key.resource == "reservations.fairlead.dev"]
    return [json.loads(data)["spec"]["intent"].rpartition("-")[2] for data in kept]


def test_a_lost_answer_a_late_watch_and_a_restart_lead_to_one_reservation(incident: Artifact) -> None:
    found = play(incident)
    assert found.violations == []
    assert intents(found) == ["1"], "one pod waits, and one reservation is made for it"
    assert (found.starts, found.faults) == (2, {"reply_lost": 2})
    assert found.equal > 30, "it begins as it began then"


def test_a_controller_that_reads_a_lost_answer_as_a_failure_is_found(incident: Artifact) -> None:
    found = play(incident, "fairlead.sim.zoo.duplicate_reservation:live")
    assert found.divergence is not None
    assert found.divergence.controller == "override-capacity"
    assert [each.partition(":")[0] for each in found.violations] == ["one-reservation"]
    assert intents(found) == ["1", "1"]


def test_without_the_start_of_a_plane_it_says_what_to_do(incident: Artifact) -> None:
    lines = tuple(each for each in incident.lines if each.stream != DELIVERIES)
    with pytest.raises(UsageError, match="--closed"):
        play(structs.replace(incident, lines=lines))


def test_the_tape_has_what_the_plane_was_told(incident: Artifact) -> None:
    names = {type(each).__name__ for each in tape_of(incident)}
    assert {"Began", "Awoke", "Delivered", "WasListed", "Sent", "Struck", "WereAnswered"} <= names


def test_what_a_plane_ran_is_read_from_the_line_that_opened_its_term(incident: Artifact) -> None:
    [began, again] = [each for each in tape_of(incident) if isinstance(each, Began)]
    flags = flags_of(incident, began.identity, began.now)
    assert {"scheduler", "controller/replicaset", "controller/hollow"} <= flags
    assert flags_of(incident, again.identity, again.now) == flags
    assert flags_of(incident, "another", began.now) == frozenset()
    alone = ["fencing", "controller/namespace"]
    opened = {
        "time": "2026-11-18T00:00:00Z",
        "controller": "plane",
        "term": "aa",
        "identity": "a",
        "flags": alone,
    }
    line = RecordedLine("decisions", 1, Raw(json.dumps(opened).replace(" ", "").encode()))
    assert flags_of(structs.replace(incident, lines=(line,)), "a", 0.0) == set(alone)


def test_the_first_field_that_differs_is_named() -> None:
    one, other = b'{"spec":{"a":[1,{"b":2}]}}', b'{"spec":{"a":[1,{"b":3}]}}'
    assert differing_field(one, other) == ("spec.a[1].b: 2", "spec.a[1].b: 3")
    assert differing_field(one, one) is None
