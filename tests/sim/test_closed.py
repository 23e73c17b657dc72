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
from msgspec.json import encode

from fairlead.control.instructions import DELIVERIES
from fairlead.core.errors import UsageError
from fairlead.core.times import microtime
from fairlead.replay.artifact import Artifact, RecordedLine, RecordedObject, read_artifact
from fairlead.replay.capture import closed_from
from fairlead.replay.tape import Began, Sent
from fairlead.replay.terms import hollow_nodes_of
from fairlead.sim.closed.captured import differing_field, flags_of, tape_of
from fairlead.sim.closed.midterm import play
from fairlead.sim.closed.player import ClosedReplay

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


def test_a_whole_tape_is_played_from_the_start_of_the_plane(incident: Artifact) -> None:
    found = play(incident)
    [began, _] = [each for each in tape_of(incident) if isinstance(each, Began)]
    assert (found.begins, found.mid_term) == (microtime(began.now), None)


def test_without_a_tape_it_says_what_to_do(incident: Artifact) -> None:
    lines = tuple(each for each in incident.lines if each.stream != DELIVERIES)
    with pytest.raises(UsageError, match="--closed"):
        play(structs.replace(incident, lines=lines))


def test_the_tape_has_what_the_plane_was_told(incident: Artifact) -> None:
    names = {type(each).__name__ for each in tape_of(incident)}
    assert {"Began", "Awoke", "Delivered", "WasListed", "Sent", "Struck", "WereAnswered"} <= names


def test_what_a_plane_ran_is_read_from_the_line_that_opened_its_term(incident: Artifact) -> None:
    [began, again] = [each for each in tape_of(incident) if isinstance(each, Began)]
    flags = flags_of(incident, began.identity, began.now)
    assert {"scheduler", "controller/replicaset"} <= {*flags}
    assert hollow_nodes_of(flags) == 3
    assert flags_of(incident, again.identity, again.now) == flags
    assert flags_of(incident, "another", began.now) == ()
    alone = ["fencing", "controller/namespace"]
    opened = {
        "time": "2026-11-18T00:00:00Z",
        "controller": "plane",
        "term": "aa",
        "identity": "a",
        "flags": alone,
    }
    line = RecordedLine("decisions", 1, Raw(json.dumps(opened).replace(" ", "").encode()))
    assert flags_of(structs.replace(incident, lines=(line,)), "a", 0.0) == tuple(alone)


def test_the_first_field_that_differs_is_named() -> None:
    one, other = b'{"spec":{"a":[1,{"b":2}]}}', b'{"spec":{"a":[1,{"b":3}]}}'
    assert differing_field(one, other) == ("spec.a[1].b: 2", "spec.a[1].b: 3")
    assert differing_field(one, one) is None


def forgetting_leases(incident: Artifact) -> Artifact:
    """The same, captured when history of leases no longer reached back to the start of any plane."""
    name = "leases.coordination.k8s.io"
    starts = [each.revision for each in tape_of(incident) if isinstance(each, Began)]
    kept = next(
        each.revision for each in incident.changes if each.key[0] == name and each.revision > max(starts)
    )
    there = {each.key: each for each in incident.changes if each.key[0] == name and each.revision <= kept}
    left = tuple(each for each in incident.changes if each.key[0] != name or each.revision > kept)
    objects = tuple(RecordedObject(each.key, each.uid, each.revision, each.value) for each in there.values())
    head = structs.replace(incident.head, starts={**incident.head.starts, name: kept})
    return structs.replace(incident, head=head, changes=left, objects=(*incident.objects, *objects))


def test_what_is_older_than_history_is_not_played_and_not_called_different(incident: Artifact) -> None:
    forgotten = forgetting_leases(incident)
    found = play(forgotten)
    assert found.mid_term is not None
    assert found.mid_term.why == "the history of then is no longer kept of all that there was, leases first"
    assert found.begins > max(microtime(each.now) for each in tape_of(incident) if isinstance(each, Began))
    assert (found.divergence, found.violations) == (None, [])
    told = closed_from(forgotten)
    assert told.startswith(
        f"a closed replay of it begins in mid-term, at {found.begins}: the history of then "
    )


def test_a_capture_that_begins_a_moment_after_a_start_does_not_say_that_history_is_lost(
    incident: Artifact,
) -> None:
    """The tape is written four times a second, so its first line may begin before what was asked for."""
    later = forgetting_leases(incident)
    began = max(each.now for each in tape_of(incident) if isinstance(each, Began))
    later = structs.replace(later, head=structs.replace(later.head, since=microtime(began + 0.2)))
    told = closed_from(later)
    assert "it has no start of a plane; with --closed a capture reaches back to one" in told
    found = play(later)
    assert found.mid_term is not None
    assert found.mid_term.why == "it has no start of a plane"


def test_a_tape_that_is_older_than_all_history_is_refused(incident: Artifact) -> None:
    older = [each for each in tape_of(incident) if isinstance(each, Began | Sent)]
    newest = max(each.allotted for each in older if isinstance(each, Sent))
    head = structs.replace(incident.head, starts={**incident.head.starts, "pods": newest + 1})
    lines = [each for each in incident.lines if each.stream != DELIVERIES]
    body = encode({"time": head.since, "tape": older})
    lines.append(RecordedLine(DELIVERIES, 1, Raw(body)))
    forgotten = structs.replace(incident, head=head, lines=tuple(lines))
    with pytest.raises(UsageError, match="has its history still"):
        play(forgotten)
    assert closed_from(forgotten).startswith("nothing that a plane was told has its history still")
