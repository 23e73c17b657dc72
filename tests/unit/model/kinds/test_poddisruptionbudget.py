"""PodDisruptionBudgets: amounts, selector, warnings, status, columns."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.kind import Json
from fairlead.model.kinds.poddisruptionbudget import KIND
from tests.unit.model.kinds.workload_objects import (
    mistakes,
    row,
    shown,
    status_mistakes,
    update_mistakes,
    whole,
)


def budget(**spec: Any) -> Json:
    return whole(KIND, spec={"selector": {"matchLabels": {"app": "web"}}, **spec})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": 1}, []),
        ({"minAvailable": 0}, []),
        ({"maxUnavailable": "100%"}, []),
        ({"minAvailable": 1, "selector": {}}, []),
        ({"minAvailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow"}, []),
        (
            {"minAvailable": -1},
            ["spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            {"maxUnavailable": "101%"},
            ['spec.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
        ),
        (
            {"maxUnavailable": "few"},
            [
                'spec.maxUnavailable: Invalid value: "few": a valid percent string must be a numeric string '
                "followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
            ],
        ),
        (
            {"minAvailable": 1, "unhealthyPodEvictionPolicy": "Never"},
            [
                'spec.unhealthyPodEvictionPolicy: Unsupported value: "Never": '
                'supported values: "AlwaysAllow", "IfHealthyBudget"'
            ],
        ),
        (
            {"minAvailable": 1, "selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            [
                "spec.selector.matchExpressions[0].values: Required value: "
                "must be specified when `operator` is 'In' or 'NotIn'"
            ],
        ),
    ],
)
def test_specs(spec: dict[str, Any], expected: list[str]) -> None:
    assert mistakes(KIND, budget(**spec)) == expected


def test_a_budget_does_not_say_both() -> None:
    found = mistakes(KIND, budget(minAvailable=1, maxUnavailable=1))
    assert len(found) == 1
    assert found[0].startswith("spec: Invalid value: {")
    assert found[0].endswith(": minAvailable and maxUnavailable cannot be both set")


def test_a_budget_that_says_neither_is_accepted_with_a_warning() -> None:
    assert mistakes(KIND, budget()) == []
    assert KIND.warnings(budget()) == [
        "spec: neither minAvailable nor maxUnavailable is set; such a budget allows no disruption"
    ]
    assert KIND.warnings(budget(minAvailable=0)) == []


def test_everything_may_change() -> None:
    assert update_mistakes(KIND, budget(maxUnavailable=1, selector={}), budget(minAvailable=2)) == []


@pytest.mark.parametrize("name", ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"])
def test_counters_of_the_status_are_not_negative(name: str) -> None:
    expected = [f"status.{name}: Invalid value: -1: must be greater than or equal to 0"]
    assert status_mistakes(KIND, {name: -1}) == expected


def test_columns_are_those_of_kubectl() -> None:
    assert shown(KIND, wide=True) == ["MIN AVAILABLE", "MAX UNAVAILABLE", "ALLOWED DISRUPTIONS", "AGE"]
    obj = {**budget(minAvailable="50%"), "status": {"disruptionsAllowed": 2}}
    cells = row(KIND, obj)
    assert (cells["Min Available"], cells["Max Unavailable"]) == ("50%", "N/A")
    assert cells["Allowed Disruptions"] == 2
    assert row(KIND, budget(maxUnavailable=0))["Max Unavailable"] == "0"
