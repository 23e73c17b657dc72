"""Failure policies, success policies and the notation of index sets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.kinds.job.kind import KIND
from fairlead.model.kinds.job.policies import index_intervals
from tests.unit.model.kinds.workload_objects import mistakes, template, whole


def failure(rule: dict[str, Any], **spec: Any) -> list[str]:
    """What is wrong with a job with this one rule, paths from the rule on."""
    obj = whole(
        KIND,
        spec={"template": template(restartPolicy="Never"), "podFailurePolicy": {"rules": [rule]}, **spec},
    )
    start = "spec.podFailurePolicy.rules[0]"
    found = mistakes(KIND, obj)
    assert all(text.startswith(start) for text in found)
    return [text.removeprefix(start) for text in found]


def codes(**fields: Any) -> dict[str, Any]:
    return {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1], **fields}}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (codes(), []),
        (codes(containerName="main"), []),
        ({"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}, []),
        (
            {**codes(), "action": "Explode"},
            [
                '.action: Unsupported value: "Explode": '
                'supported values: "Count", "FailIndex", "FailJob", "Ignore"'
            ],
        ),
        (
            {**codes(), "action": ""},
            ['.action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]'],
        ),
        (
            {**codes(), "action": "FailIndex"},
            ['.action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set'],
        ),
        (
            codes(operator="Above"),
            ['.onExitCodes.operator: Unsupported value: "Above": supported values: "In", "NotIn"'],
        ),
        (codes(operator=""), ['.onExitCodes.operator: Required value: valid values: ["In" "NotIn"]']),
        (
            codes(containerName="ghost"),
            [
                '.onExitCodes.containerName: Invalid value: "ghost": '
                "must be one of the container or initContainer names in the pod template"
            ],
        ),
        (codes(values=[]), [".onExitCodes.values: Invalid value: []: at least one value is required"]),
        (
            codes(values=list(range(1, 257))),
            [".onExitCodes.values: Too many: 256: must have at most 255 items"],
        ),
        (
            codes(values=[0]),
            [".onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator"],
        ),
        (codes(operator="NotIn", values=[0]), []),
        (codes(values=[2, 2]), [".onExitCodes.values[1]: Duplicate value: 2"]),
        (codes(values=[3, 2]), [".onExitCodes.values: Invalid value: [3,2]: must be ordered"]),
        (
            {"action": "Count", "onPodConditions": [{"type": "Gone", "status": "Maybe"}]},
            [
                '.onPodConditions[0].status: Unsupported value: "Maybe": '
                'supported values: "False", "True", "Unknown"'
            ],
        ),
        (
            {"action": "Count", "onPodConditions": [{"type": "T"}] * 21},
            [".onPodConditions: Too many: 21: must have at most 20 items"],
        ),
        (
            {"action": "Count"},
            [
                ': Invalid value: {"action":"Count"}: '
                "specifying one of OnExitCodes and OnPodConditions is required"
            ],
        ),
    ],
)
def test_rules_of_the_failure_policy(rule: dict[str, Any], expected: list[str]) -> None:
    assert failure(rule) == expected


def test_a_rule_speaks_of_exit_codes_or_conditions_but_not_both() -> None:
    found = failure({**codes(), "onPodConditions": [{"type": "DisruptionTarget"}]})
    assert len(found) == 1
    assert found[0].endswith("specifying both OnExitCodes and OnPodConditions is not supported")


def test_failing_an_index_needs_retries_per_index() -> None:
    spec = {"completionMode": "Indexed", "completions": 2, "backoffLimitPerIndex": 1}
    assert failure({**codes(), "action": "FailIndex"}, **spec) == []


def test_a_condition_type_is_a_qualified_name() -> None:
    found = failure({"action": "Count", "onPodConditions": [{"type": "no spaces"}]})
    assert [text.partition(": ")[0] for text in found] == [".onPodConditions[0].type"]


def test_a_failure_policy_has_at_most_twenty_rules() -> None:
    spec = {"template": template(restartPolicy="Never"), "podFailurePolicy": {"rules": [codes()] * 21}}
    assert mistakes(KIND, whole(KIND, spec=spec)) == [
        "spec.podFailurePolicy.rules: Too many: 21: must have at most 20 items"
    ]


def success(*rules: dict[str, Any]) -> list[str]:
    spec = {
        "template": template(restartPolicy="Never"),
        "completionMode": "Indexed",
        "completions": 5,
        "successPolicy": {"rules": list(rules)},
    }
    return mistakes(KIND, whole(KIND, spec=spec))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"succeededCount": 5}, []),
        ({"succeededIndexes": "0,2-4", "succeededCount": 4}, []),
        ({}, [": Required value: at least one of succeededCount or succeededIndexes must be specified"]),
        (
            {"succeededCount": 6},
            [
                ".succeededCount: Invalid value: 6: "
                "must be less than or equal to 5 (the number of specified completions)"
            ],
        ),
        (
            {"succeededCount": -1},
            [".succeededCount: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            {"succeededIndexes": "0-1", "succeededCount": 3},
            [
                ".succeededCount: Invalid value: 3: must be less than or equal to 2 "
                "(the number of indexes in the specified succeededIndexes field)"
            ],
        ),
        (
            {"succeededIndexes": "7"},
            ['.succeededIndexes: Invalid value: "7": error parsing succeededIndexes: too large index: "7"'],
        ),
    ],
)
def test_rules_of_the_success_policy(rule: dict[str, Any], expected: list[str]) -> None:
    assert success(rule) == [f"spec.successPolicy.rules[0]{text}" for text in expected]


def test_a_success_policy_has_rules() -> None:
    assert success() == [
        "spec.successPolicy.rules: Required value: "
        "at least one rules must be specified when the successPolicy is specified"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1-2-3", "at most two parts separated by '-'"),
        ("x", 'cannot convert string to integer for index: "x"'),
        ("", None),
        ("1,", 'cannot convert string to integer for index: ""'),
        ("-1", 'cannot convert string to integer for index: ""'),
        ("10", 'too large index: "10"'),
        ("9" * 5000, "too large index"),
        ("3-10", 'too large index: "10"'),
        ("3-2", "non-increasing order, previous: 3, current: 2"),
        ("2,2", "non-increasing order, previous: 2, current: 2"),
        ("1-4,3", "non-increasing order, previous: 4, current: 3"),
    ],
)
def test_malformed_index_sets(text: str, message: str | None) -> None:
    if message is None:
        assert index_intervals(text, 10) == []
        return
    with pytest.raises(ValueError) as wrong:
        index_intervals(text, 10)
    assert message in str(wrong.value)


@given(st.sets(st.integers(0, 60)))
def test_every_set_of_indexes_can_be_written_and_read_back(indexes: set[int]) -> None:
    pieces: list[tuple[int, int]] = []
    for index in sorted(indexes):
        if pieces and pieces[-1][1] == index - 1:
            pieces[-1] = (pieces[-1][0], index)
        else:
            pieces.append((index, index))
    text = ",".join(str(first) if first == last else f"{first}-{last}" for first, last in pieces)
    assert index_intervals(text, 61) == pieces
