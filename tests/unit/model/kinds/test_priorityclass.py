"""PriorityClasses: defaults, reserved names, bounds, what may change, columns."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.kind import Json
from fairlead.model.kinds.priorityclass import KIND
from tests.unit.model.kinds.workload_objects import defaulted, mistakes, row, shown, update_mistakes, whole

RESERVED = "priority class names with 'system-' prefix are reserved for system use only"


def priority(name: str = "high", **fields: Any) -> Json:
    return whole(KIND, name, **fields)


def test_defaults() -> None:
    after = defaulted(KIND, priority(value=5))
    assert after["preemptionPolicy"] == "PreemptLowerPriority"
    assert after["value"] == 5


@pytest.mark.parametrize(
    ("name", "fields", "expected"),
    [
        ("high", {"value": 1_000_000_000}, []),
        ("low", {"value": -2_147_483_648}, []),
        ("system-node-critical", {"value": 2_000_001_000}, []),
        ("system-cluster-critical", {"value": 2_000_000_000}, []),
        (
            "high",
            {"value": 1_000_000_001},
            ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
        ),
        (
            "system-mine",
            {"value": 1},
            [
                f"metadata.name: Forbidden: {RESERVED}. error: "
                "system-mine is not a known system priority class"
            ],
        ),
        (
            "system-node-critical",
            {"value": 1},
            [
                f"metadata.name: Forbidden: {RESERVED}. error: "
                "value of system-node-critical PriorityClass must be 2000001000"
            ],
        ),
        (
            "system-node-critical",
            {"value": 2_000_001_000, "globalDefault": True},
            [
                f"metadata.name: Forbidden: {RESERVED}. error: "
                "globalDefault of system-node-critical PriorityClass must be false"
            ],
        ),
        (
            "high",
            {"value": 1, "preemptionPolicy": "Always"},
            [
                'preemptionPolicy: Unsupported value: "Always": '
                'supported values: "Never", "PreemptLowerPriority"'
            ],
        ),
    ],
)
def test_values_and_names(name: str, fields: dict[str, Any], expected: list[str]) -> None:
    assert mistakes(KIND, priority(name, **fields)) == expected


def test_value_and_preemption_never_change_and_the_rest_may() -> None:
    old = priority(value=1)
    assert update_mistakes(KIND, priority(value=1, description="x", globalDefault=True), old) == []
    assert update_mistakes(KIND, priority(value=2, preemptionPolicy="Never"), old) == [
        "value: Forbidden: may not be changed in an update.",
        'preemptionPolicy: Invalid value: "Never": field is immutable',
    ]


def test_columns_are_those_of_kubectl() -> None:
    assert shown(KIND) == ["VALUE", "GLOBAL-DEFAULT", "AGE", "PREEMPTIONPOLICY"]
    cells = row(KIND, defaulted(KIND, priority(value=7, globalDefault=True)))
    assert (cells["Value"], cells["Global-Default"]) == (7, True)
    assert cells["PreemptionPolicy"] == "PreemptLowerPriority"
    assert row(KIND, priority())["Global-Default"] is False


def test_it_belongs_to_no_namespace() -> None:
    assert not KIND.namespaced
    assert KIND.resource == "priorityclasses.scheduling.k8s.io"
