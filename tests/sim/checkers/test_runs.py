"""The checker of runs of runbooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.sim.checkers.story import Json, Story, told_by

RUNS, MAPS = "runbookruns.fairlead.dev", "configmaps"


def run(phase: str, *steps: tuple[str, str], made: str = "uid-made", **more: Any) -> Json:
    """Records by name and state; the first step has made something, once it is done."""
    records = [{"name": name, "state": state} for name, state in steps]
    for each in records:
        if each["name"] == "one" and each["state"] not in ("Running", "Skipped"):
            each |= {"made": {"kind": "ConfigMap", "name": "made", "uid": made}}  # type: ignore[dict-item]
    procedure = {"steps": [{"name": "one"}, {"name": "two"}]}
    spec = {"runbook": "book", "procedure": procedure}
    return {"metadata": {"name": "run", **more}, "spec": spec, "status": {"phase": phase, "steps": records}}


def thing(uid: str = "uid-made", name: str = "made") -> Json:
    annotations = {"fairlead.dev/operation": "runbook/uid-run/create/one"}
    return {"metadata": {"name": name, "uid": uid, "annotations": annotations}}


def told(*runs: Json, rests: bool = False) -> Callable[[Story], None]:
    def tell(story: Story) -> None:
        for each in runs:
            story.commit(RUNS, each)
        if rests:
            story.rest()

    return tell


def a_step_done_twice(story: Story) -> None:
    story.commit(RUNS, run("Running", ("one", "Running")))
    story.commit(MAPS, thing())
    story.commit(MAPS, thing(), gone=True)
    story.commit(MAPS, thing("another"))


def something_left_of_an_aborted_run(story: Story) -> None:
    story.commit(MAPS, thing())
    story.commit(RUNS, run("Aborted", ("one", "Done")))
    story.rest()


def something_that_no_record_has(story: Story) -> None:
    story.commit(MAPS, thing())
    story.commit(RUNS, run("Succeeded", ("one", "Done"), made="another"))
    story.rest()


def something_left_of_a_run_that_is_gone(story: Story) -> None:
    story.commit(MAPS, thing())
    story.rest()


def test_runs_that_end_well_break_nothing() -> None:
    story = Story()
    story.commit(RUNS, run(""))
    story.commit(RUNS, run("Running", ("one", "Running")))
    story.commit(MAPS, thing())
    story.commit(RUNS, run("Running", ("one", "Done")))
    story.commit(RUNS, run("Running", ("one", "Done"), ("two", "Skipped")))
    story.commit(RUNS, run("Aborting", ("one", "Undoing"), ("two", "Skipped")))
    story.commit(MAPS, thing(), gone=True)
    story.commit(RUNS, run("Aborting", ("one", "Undone"), ("two", "Skipped")))
    story.commit(RUNS, run("Aborted", ("one", "Undone"), ("two", "Skipped")))
    story.rest()


def test_what_is_named_as_left_may_be_left() -> None:
    story = Story()
    story.commit(MAPS, thing())
    story.commit(RUNS, run("Aborted", ("one", "Left")))
    story.rest()


_DONE = ("one", "Done")
VIOLATIONS = [
    ("runs-keep-their-word", a_step_done_twice),
    ("runs-keep-their-word", something_left_of_an_aborted_run),
    ("runs-keep-their-word", something_that_no_record_has),
    ("runs-keep-their-word", something_left_of_a_run_that_is_gone),
    ("runs-keep-their-word", told(run("Running", ("two", "Running")))),
    ("runs-keep-their-word", told(run("Running", _DONE), run("Running", ("one", "Running")))),
    ("runs-keep-their-word", told(run("Running", _DONE), run("Running"))),
    ("runs-keep-their-word", told(run("Running", _DONE), run("Running", _DONE, made="another"))),
    ("runs-keep-their-word", told(run("Running", ("one", "Running"), ("two", "Running")))),
    ("runs-keep-their-word", told(run("Failed", _DONE), run("Failed", _DONE, ("two", "Running")))),
    ("runs-keep-their-word", told(run("Asking", _DONE), rests=True)),
]


@pytest.mark.parametrize(("invariant", "tell"), VIOLATIONS)
def test_a_fabricated_violation_is_told(invariant: str, tell: Callable[[Story], None]) -> None:
    assert told_by(tell) == invariant
