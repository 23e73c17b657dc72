"""What a Job's status may claim."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.kinds.job.kind import KIND
from tests.unit.model.kinds.workload_objects import status_mistakes

START, END = "2023-11-14T22:00:00Z", "2023-11-14T22:10:00Z"


def held(*types: str) -> list[dict[str, str]]:
    return [{"type": name, "status": "True"} for name in types]


COMPLETE = {"startTime": START, "completionTime": END, "conditions": held("SuccessCriteriaMet", "Complete")}


@pytest.mark.parametrize(
    ("status", "before", "path", "message"),
    [
        ({"active": -1}, {}, "status.active", "must be greater than or equal to 0"),
        ({"ready": 2, "active": 1}, {}, "status.ready", "cannot set more ready pods than active"),
        ({"failed": 1}, {"failed": 2}, "status.failed", "cannot decrease the failed counter"),
        ({"succeeded": 1}, {"succeeded": 2}, "status.succeeded", "cannot decrease the succeeded counter"),
        (
            COMPLETE | {"conditions": held("Complete", "Failed")},
            {},
            "status.conditions",
            "cannot set Complete=True and Failed=true conditions",
        ),
        (
            {"conditions": held("SuccessCriteriaMet", "FailureTarget")},
            {},
            "status.conditions",
            "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
        ),
        (
            {"startTime": START, "completionTime": END},
            {},
            "status.completionTime",
            "cannot set completionTime when there is no Complete=True condition",
        ),
        (
            {"startTime": START, "conditions": held("Complete")},
            {},
            "status.completionTime",
            "completionTime is required for Complete jobs",
        ),
        (
            COMPLETE | {"startTime": END, "completionTime": START},
            {},
            "status.completionTime",
            "completionTime cannot be set before startTime",
        ),
        (
            COMPLETE | {"completionTime": "2023-11-14T22:11:00Z"},
            COMPLETE,
            "status.completionTime",
            "completionTime cannot be mutated",
        ),
        (COMPLETE | {"active": 1}, {}, "status.active", "active>0 is invalid for finished job"),
        (
            COMPLETE | {"terminating": 1},
            {},
            "status.terminating",
            "terminating>0 is invalid for finished job",
        ),
        (
            {"conditions": held("Failed")},
            {},
            "status.startTime",
            "startTime is required for finished job",
        ),
        (
            COMPLETE | {"uncountedTerminatedPods": {"failed": ["a"]}},
            {},
            "status.uncountedTerminatedPods",
            "uncountedTerminatedPods needs to be empty for finished job",
        ),
        (
            {"startTime": START},
            {"startTime": START, "conditions": held("FailureTarget")},
            "status.conditions",
            "cannot disable the terminal FailureTarget=True condition",
        ),
        ({}, {"startTime": START}, "status.startTime", "startTime cannot be removed for unsuspended job"),
        (
            {"completedIndexes": "0"},
            {},
            "status.completedIndexes",
            "cannot set non-empty completedIndexes when non-indexed completion mode",
        ),
        (
            {"failedIndexes": "0"},
            {},
            "status.failedIndexes",
            "cannot set non-null failedIndexes when backoffLimitPerIndex is null",
        ),
    ],
)
def test_contradictions_are_refused(
    status: dict[str, Any], before: dict[str, Any], path: str, message: str
) -> None:
    found = status_mistakes(KIND, status, before)
    assert len(found) == 1
    assert found[0].startswith(f"{path}: ")
    assert found[0].endswith(message)


@pytest.mark.parametrize(
    ("status", "before"),
    [
        ({}, {}),
        ({"active": 2, "ready": 1, "startTime": START}, {}),
        (COMPLETE | {"succeeded": 3}, {"startTime": START, "succeeded": 2}),
        (COMPLETE, COMPLETE),
        ({"startTime": START, "conditions": held("FailureTarget", "Failed"), "failed": 7}, {"failed": 6}),
    ],
)
def test_ordinary_progress_is_accepted(status: dict[str, Any], before: dict[str, Any]) -> None:
    assert status_mistakes(KIND, status, before) == []


def test_a_suspended_job_may_lose_its_start_time() -> None:
    assert status_mistakes(KIND, {}, {"startTime": START}, suspend=True) == []


def test_index_sets_of_indexed_jobs_are_read() -> None:
    spec: dict[str, Any] = {"completions": 3, "completionMode": "Indexed", "backoffLimitPerIndex": 1}
    assert status_mistakes(KIND, {"completedIndexes": "0-1", "failedIndexes": "2"}, **spec) == []
    assert status_mistakes(KIND, {"completedIndexes": "0-3", "failedIndexes": "x"}, **spec) == [
        'status.completedIndexes: Invalid value: "0-3": error parsing completedIndexes: too large index: "3"',
        'status.failedIndexes: Invalid value: "x": '
        'error parsing failedIndexes: cannot convert string to integer for index: "x"',
    ]
