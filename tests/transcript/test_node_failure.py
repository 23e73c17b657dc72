"""The worked example of a binding during node failure, as a transcript: its answer is lost, and the node is late.

Six steps, each a row or the absence of one: the workload is read by its identity ("look at"), a binding that is there is
found and waited for, one that is not is tried again after a rest and elsewhere, the node gets nothing new and loses
nothing, and what has come of it is published. FAIRLEAD_TRANSCRIPTS=write writes the transcript anew; review the
difference like code.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fairlead.sim.run import Runner
from fairlead.sim.world import Run
from fairlead.sim.worlds import risk_api
from tests.sim.directed import Asked, calls, calm, strike
from tests.transcript.telling_node_failure import NodeFailureTelling

TRANSCRIPT = Path(__file__).parent / "node_failure.txt"
SCENES = (
    ("the binding is committed, its answer is lost", "reply_lost"),
    ("the binding is lost on its way", "request_lost"),
    ("the binding arrives after its sender gave up", "request_late"),
)


@pytest.fixture(scope="module")
def runner() -> Runner:
    return Runner(risk_api.scenario(), risk_api.FAULTS)


@pytest.fixture(scope="module")
def undisturbed(runner: Runner) -> Run:
    run = calm(runner)
    assert run.violation is None
    return run


def binding(run: Run) -> Asked:
    return next(each for each in calls(run) if each.subresource == "binding")


def test_the_binding_during_node_failure_reads_as_the_transcript_shows(
    runner: Runner, undisturbed: Run
) -> None:
    first = NodeFailureTelling(undisturbed.trail or ())
    scenes = ["# the node is late, nothing else goes wrong\n" + first.text()]
    for title, fault in SCENES:
        struck = strike(runner, binding(undisturbed), fault)
        assert struck.violation is None, title
        telling = NodeFailureTelling(struck.trail or ())
        scenes.append(f"# {title}; from there on\n" + telling.text(unlike=first))
    text = "\n".join(scenes)
    if os.environ.get("FAIRLEAD_TRANSCRIPTS") == "write":
        TRANSCRIPT.write_text(text)
    assert text == TRANSCRIPT.read_text()


@pytest.mark.parametrize(
    ("fault", "bindings"),
    [
        ("reply_lost", ["replica 1 to node-b7", "replica 2 to node-b8"]),
        ("request_lost", ["replica 1 to node-b7", "replica 2 to node-b8", "replica 1 to node-b8"]),
        ("request_late", ["replica 1 to node-b7", "replica 2 to node-b8"]),
    ],
)
def test_there_is_one_binding_per_replica_none_to_a_suspect_node_and_nothing_is_deleted(
    runner: Runner, undisturbed: Run, fault: str, bindings: list[str]
) -> None:
    struck = strike(runner, binding(undisturbed), fault)
    rows = NodeFailureTelling(struck.trail or ()).rows
    assert [row[3].removeprefix("bind ") for row in rows if row[3].startswith("bind ")] == bindings
    assert not [row for row in rows if "released" in row[3] or "gone" in row[3]]
    deleted = [step for step in struck.trail or () if step.kind == "commit" and step.text == "DELETED"]
    assert deleted == []
