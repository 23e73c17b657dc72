"""A failing run becomes a file that plays to the byte, names where other code differs, and explains itself."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import fairlead
from fairlead.core import codec
from fairlead.core.errors import UsageError
from fairlead.decision.contract import Decision
from fairlead.decision.decider import Decider
from fairlead.model.views import REPLICASETS
from fairlead.replay.artifact import read_artifact, write_artifact
from fairlead.sim.account import account, shown
from fairlead.sim.chance import Chance
from fairlead.sim.documents import faults_document, faults_of, scenario_document, scenario_of
from fairlead.sim.player import FoundBy, play_again, record, trail_of
from fairlead.sim.run import Runner
from fairlead.sim.trail import NO_CAUSE, Trail, TrailStep
from fairlead.sim.worlds.roster import WORLDS
from tests.sim import tiny
from tests.sim.artifacts import planted_artifact, planted_case, planted_run


def somebody() -> Decider:
    return Decider(
        name="somebodys", reads=(REPLICASETS,), wakes=(), decide=lambda reading, key, now: Decision()
    )


KEPT = Path(__file__).parent / "corpus"


def test_a_run_is_played_again_to_the_byte_from_its_file() -> None:
    artifact = read_artifact(write_artifact(planted_artifact()))
    replayed = play_again(artifact)
    assert replayed.same
    assert replayed.divergence is None
    assert replayed.invariant == tiny.BROKEN
    _, run = planted_run()
    assert replayed.run.digest == run.digest == artifact.head.digest  # as it was when the seed drew it
    assert [step[:5] for step in artifact.steps] == [tuple(step)[1:6] for step in run.trail or ()]


def test_it_says_of_which_version_the_controllers_are_but_of_those_of_others() -> None:
    usual = planted_artifact()
    assert {each.version for each in usual.controllers} == {fairlead.__version__}
    scenario = replace(tiny.scenario(), controllers=(somebody,))
    other = record(replace(planted_case(), scenario=scenario, choices=()), "", FoundBy("tiny"))
    assert {each.name: each.version for each in other.controllers}["somebodys"] == ""


def test_on_other_code_the_first_step_that_differs_is_named() -> None:
    artifact = planted_artifact()
    replayed = play_again(artifact, plant="")
    assert not replayed.same
    assert replayed.invariant == ""
    parted = replayed.divergence
    assert parted is not None
    before = [step[:5] for step in artifact.steps[: parted.step]]
    assert before == [tuple(step)[1:6] for step in (replayed.run.trail or ())[: parted.step]]
    assert parted.one == str(trail_of(artifact)[parted.step])
    assert parted.other == str((replayed.run.trail or ())[parted.step])
    assert parted.one != parted.other


def test_a_run_in_which_only_chance_was_asked_otherwise_is_not_the_same() -> None:
    artifact = planted_artifact()
    artifact = type(artifact)(
        **{name: getattr(artifact, name) for name in artifact.__struct_fields__ if name != "faults"},
        faults={**artifact.faults, "sync_slow": 0.5},
    )
    replayed = play_again(
        artifact
    )  # calm but for what is recorded: the fault is asked for, and does not fire
    assert replayed.divergence is None
    assert not replayed.same


def test_a_run_starts_from_the_objects_in_the_file() -> None:
    scenario = tiny.scenario()
    standing = replace(scenario, standing=scenario.steps[:1], steps=scenario.steps[1:])
    artifact = record(replace(planted_case(), scenario=standing, choices=()), "", FoundBy("tiny"))
    assert [each.key[0] for each in artifact.objects].count("nodes") == 1
    assert play_again(artifact).same
    fewer = type(artifact)(
        **{name: getattr(artifact, name) for name in artifact.__struct_fields__ if name != "objects"},
        objects=tuple(each for each in artifact.objects if each.key[0] != "nodes"),
    )
    assert play_again(fewer).divergence is not None


def test_a_failure_tells_by_whose_write_on_what_view_and_after_which_faults() -> None:
    told = account(trail_of(planted_artifact()))
    assert told is not None
    assert told.violation.text.startswith(tiny.BROKEN)
    assert told.writer.startswith(("replicaset of plane-", "late replicaset of plane-"))
    assert told.write is not None
    assert told.write.text.startswith(f"{told.revision} pods/default/web-")
    assert told.decision is not None
    assert '"controller":"replicaset"' in told.decision.data
    assert told.decision.ms <= told.write.ms
    assert told.read.keys() == {"pods", "replicasets.apps", "scheduleroverrides.fairlead.dev"}
    assert all(told.read[each.resource] < int(each.step.text.split()[0]) for each in told.unseen)
    fired = [step.text.partition(" ")[0] for step in told.faults]
    assert {"reply_lost", "request_late", "request_lost"} & set(fired)
    assert told.causes[-1] == told.write
    assert any(step.kind == "call" and "create pods" in step.text for step in told.causes)
    lines = list(told.lines())
    assert len(lines) <= 40
    assert all(len(line) <= 160 for line in lines if not line.startswith("  what"))
    assert f"at revision {told.revision}" in lines[0]


def test_an_end_that_is_not_as_without_faults_is_accounted_for_too() -> None:
    whole = tiny.scenario()
    runner = Runner(whole, tiny.FAULTS, calm=replace(whole, steps=whole.steps[:1]))
    run = runner.play(Chance.replay(()), trail=True)
    assert run.violation is not None
    assert run.violation.invariant == "ends-as-without-faults"
    assert run.trail is not None
    told = account(run.trail)
    assert told is not None
    assert told.violation.text == str(run.violation)


def test_a_run_that_broke_nothing_has_no_account() -> None:
    assert account(trail_of(record(replace(planted_case(), choices=()), "", FoundBy("tiny")))) is None


@pytest.mark.parametrize("world", sorted(WORLDS))
def test_every_world_can_be_written_down_and_read_back(world: str) -> None:
    scenario, faults = WORLDS[world]
    document = codec.decode(codec.encode(scenario_document(scenario())))
    assert codec.decode(codec.encode(scenario_document(scenario_of(document)))) == document
    assert faults_of(codec.decode(codec.encode(faults_document(faults)))) == faults


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"nonsense": 1}, 'no field "nonsense"'),
        ({"planes": "two"}, "planes: Expected `int`"),
        ({"steps": 5}, "steps: Expected `array`"),
        ({"steps": [{"verb": "create"}]}, "a step cannot be read .*version"),
        ({"steps": [{"at": 1.0, "verb": "create", "colour": "red"}]}, "a step cannot be read .*colour"),
        ({"controllers": ["nowhere:nothing"]}, "cannot be loaded"),
        ({"name": "x"}, "not complete"),
    ],
)
def test_what_is_wrong_with_a_scenario_is_said(document: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        scenario_of(document)


def test_a_placement_that_breaks_something_is_told_with_what_its_batch_had_read() -> None:
    shared = '{"time":"t","controller":"scheduler","batch":4,"reads":{"nodes":[3,5]},"assumed":[]}'
    others = '{"time":"s","controller":"scheduler","batch":4,"reads":{"nodes":[1,1]},"assumed":[]}'
    attempt = '{"time":"t","controller":"scheduler","object":"pods/default/web","batch":4,"position":0}'
    steps = [
        TrailStep(0, 10, "server", "committed", "4 nodes//node-0 by people"),
        TrailStep(1, 10, "plane-0", "record", "", shared),
        TrailStep(2, 10, "plane-0", "record", "", others),
        TrailStep(3, 10, "plane-0", "record", "", attempt),
        TrailStep(4, 10, "plane-0", "call", "bind pods default/web", "", 3),
        TrailStep(5, 10, "server", "committed", "5 pods/default/web by scheduler of plane-0", "", 4),
        TrailStep(6, 10, "checker", "violation", "full: the node is full", "", 5),
    ]
    told = account(Trail(steps))
    assert told is not None
    assert told.decision is not None
    assert told.decision.data == attempt
    assert told.read == {"nodes": 3}
    assert [each.step.number for each in told.unseen] == [0]


def test_a_failure_names_the_commit_that_shows_it_and_not_the_last_of_its_batch() -> None:
    scenario, faults = WORLDS["certificates"]
    run = Runner(scenario(), faults, "fairlead.sim.zoo.approved_by_address:plant").play(Chance(0), trail=True)
    assert run.violation is not None
    assert run.trail is not None
    told = account(run.trail)
    assert told is not None
    assert told.revision == run.violation.revision > 0
    assert told.writer == "user jane"
    noted = Trail(run.trail[:-1])
    noted.append(
        TrailStep(len(noted), 1, "server", "committed", f"{told.revision + 1} pods//other by people")
    )
    assert noted.shown_by(told.revision, len(noted) - 1) == told.violation.cause
    assert noted.shown_by(0, len(noted) - 1) == NO_CAUSE


@pytest.mark.parametrize("name", ["event_forgotten", "lease_of_nobody", "status_skipped_on_refusal"])
def test_what_no_write_broke_is_blamed_on_none(name: str) -> None:
    run = play_again(read_artifact((KEPT / f"{name}.jsonl").read_bytes())).run
    told = account(run.trail or Trail())
    assert told is not None
    assert (told.write, told.decision, told.revision) == (None, None, 0)
    assert not any(line.startswith(("  written", "  decided")) for line in told.lines())


def test_of_many_kinds_that_were_read_those_that_had_changed_come_first() -> None:
    reads = {f"kind-number-{at}": [7, 7] for at in range(20)}
    record = json.dumps({"time": "t", "controller": "replicaset", "object": "x", "reads": reads})
    steps = [
        TrailStep(0, 10, "server", "committed", "8 kind-number-19/default/a by people"),
        TrailStep(1, 10, "plane-0", "record", "", record),
        TrailStep(2, 10, "plane-0", "call", "1 replicaset create pods default//", "", 1),
        TrailStep(3, 10, "server", "committed", "9 pods/default/b by replicaset of plane-0", "", 2),
        TrailStep(4, 10, "world", "violation", "it: broke", "", 3),
    ]
    told = account(Trail(steps))
    assert told is not None
    [line] = [each for each in told.lines() if each.startswith("  decided")]
    assert "having read kind-number-19 at 7, kind-number-0 at 7, " in line
    assert line.endswith(", ...")
    assert len(line) <= 150


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (
            '{"controller":"scheduler","batch":2,"pods":["default/web@10"]}',
            "scheduler takes up batch 2: default/web@10",
        ),
        (
            '{"controller":"plane","term":"af8d","identity":"plane-0-1"}',
            "plane of plane-0-1 begins term af8d",
        ),
    ],
)
def test_a_record_that_is_about_no_object_is_told_in_words_of_its_own(record: str, told: str) -> None:
    assert shown(TrailStep(1, 10, "plane-0", "record", "", record)) == told
