"""ServiceLevelObjective: defaults, each rule of validation, columns."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.problems import Problems
from fairlead.core.times import parse_time
from fairlead.model.kinds.servicelevelobjective import KIND

NOW = parse_time("2026-01-01T01:00:00Z")


def one(**spec: Any) -> dict[str, Any]:
    full = {
        "target": {"kind": "Deployment", "name": "web"},
        "objective": 99.0,
        "windowSeconds": 86400,
        **spec,
    }
    return {"metadata": {"name": "web", "namespace": "shop"}, "spec": full}


def said(objective: dict[str, Any]) -> list[str]:
    problems = Problems()
    KIND.validate(objective, problems)
    return [each.field for each in problems.causes]


def test_a_window_is_a_day_unless_it_says_otherwise() -> None:
    objective = one()
    del objective["spec"]["windowSeconds"]
    KIND.defaults(objective)
    assert objective["spec"]["windowSeconds"] == 86400
    assert said(objective) == []


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"target": {"kind": "Pod", "name": "web"}}, "spec.target.kind"),
        ({"target": {"kind": "Service"}}, "spec.target.name"),
        ({"target": {"kind": "Service", "name": "A_b"}}, "spec.target.name"),
        ({"objective": None}, "spec.objective"),
        ({"objective": 100.0}, "spec.objective"),
        ({"objective": 0.999}, "spec.objective"),
        ({"windowSeconds": 59}, "spec.windowSeconds"),
        ({"windowSeconds": 90 * 86400 + 1}, "spec.windowSeconds"),
    ],
)
def test_what_is_wrong_is_named_by_its_field(spec: dict[str, Any], field: str) -> None:
    assert said(one(**spec)) == [field]


def test_columns_are_summed_when_somebody_looks() -> None:
    objective = one()
    shown = {each.name: each.cell(objective, NOW) for each in KIND.columns if each.name != "Age"}
    assert (shown["Target"], shown["Objective"], shown["Met"]) == ("Deployment/web", "99%", "Unknown")
    objective["status"] = {
        "changes": [
            {"at": "2026-01-01T00:00:00.000000Z", "wanted": 2},
            {"at": "2026-01-01T00:07:12.000000Z", "available": 2, "wanted": 2},
        ]
    }
    shown = {each.name: each.cell(objective, NOW) for each in KIND.columns if each.name != "Age"}
    assert (shown["Spent"], shown["Availability"], shown["Burn"], shown["Met"]) == (
        "50.0%",
        "88.000%",
        "12.0",
        "True",
    )
