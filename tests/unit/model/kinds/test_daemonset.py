"""DaemonSets: defaults, rules, status, columns."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.kinds.daemonset import KIND
from tests.unit.model.kinds.workload_objects import (
    defaulted,
    mistakes,
    row,
    shown,
    status_mistakes,
    template,
    update_mistakes,
    workload,
)


def test_defaults() -> None:
    spec = defaulted(KIND, workload(KIND))["spec"]
    assert spec["updateStrategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0},
    }
    assert spec["revisionHistoryLimit"] == 10
    assert "replicas" not in spec
    assert mistakes(KIND, workload(KIND)) == []


@pytest.mark.parametrize(
    ("unavailable", "surge", "expected"),
    [
        (0, 1, []),
        ("10%", 0, []),
        (0, "10%", []),
        (0, 0, ["maxUnavailable: Required value: cannot be 0 when maxSurge is 0"]),
        ("0%", "0%", ["maxUnavailable: Required value: cannot be 0 when maxSurge is 0"]),
        (1, 1, ["maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero"]),
        ("101%", 0, ['maxUnavailable: Invalid value: "101%": must not be greater than 100%']),
        (0, "101%", ['maxSurge: Invalid value: "101%": must not be greater than 100%']),
        (-1, 0, ["maxUnavailable: Invalid value: -1: must be greater than or equal to 0"]),
    ],
)
def test_rolling_update_amounts(unavailable: Any, surge: Any, expected: list[str]) -> None:
    rolling = {"maxUnavailable": unavailable, "maxSurge": surge}
    found = mistakes(KIND, workload(KIND, updateStrategy={"type": "RollingUpdate", "rollingUpdate": rolling}))
    assert found == [f"spec.updateStrategy.rollingUpdate.{text}" for text in expected]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"updateStrategy": {"type": "OnDelete"}}, []),
        (
            {"updateStrategy": {"type": "Now"}},
            ['spec.updateStrategy: Unsupported value: "Now": supported values: "OnDelete", "RollingUpdate"'],
        ),
        ({"selector": {}}, ["spec.selector: Invalid value: {}: empty selector is invalid for daemonset"]),
        (
            {"selector": {"matchLabels": {"app": "x"}}},
            [
                'spec.template.metadata.labels: Invalid value: {"app":"web"}: '
                "`selector` does not match template `labels`"
            ],
        ),
        (
            {"template": template(restartPolicy="Never", activeDeadlineSeconds=1)},
            [
                'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
                "spec.template.spec.activeDeadlineSeconds: Forbidden: "
                "activeDeadlineSeconds in DaemonSet is not Supported",
            ],
        ),
        (
            {"minReadySeconds": -1},
            ["spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0"],
        ),
    ],
)
def test_specs(spec: dict[str, Any], expected: list[str]) -> None:
    assert mistakes(KIND, workload(KIND, **spec)) == expected


def test_the_selector_never_changes() -> None:
    selector = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    found = update_mistakes(KIND, workload(KIND, selector=selector), workload(KIND))
    assert [text.partition(":")[0] for text in found] == ["spec.selector"]


@pytest.mark.parametrize(
    "name", ["currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"]
)
def test_counters_of_the_status_are_not_negative(name: str) -> None:
    expected = [f"status.{name}: Invalid value: -1: must be greater than or equal to 0"]
    assert status_mistakes(KIND, {name: -1}) == expected


def test_collisions_only_grow() -> None:
    found = status_mistakes(KIND, {}, {"collisionCount": 1})
    assert found == ["status.collisionCount: Invalid value: 0: cannot be decremented"]


def test_columns_are_those_of_kubectl() -> None:
    assert shown(KIND) == [
        "DESIRED", "CURRENT", "READY", "UP-TO-DATE", "AVAILABLE", "NODE SELECTOR", "AGE"
    ]  # fmt: skip
    assert shown(KIND, wide=True)[7:] == ["CONTAINERS", "IMAGES", "SELECTOR", "PROGRESS"]
    obj = workload(KIND, template=template(nodeSelector={"zone": "a", "disk": "ssd"}))
    obj["status"] = {"desiredNumberScheduled": 5, "numberReady": 4}
    cells = row(KIND, obj)
    assert (cells["Desired"], cells["Ready"], cells["Available"]) == (5, 4, 0)
    assert cells["Node Selector"] == "disk=ssd,zone=a"
    assert row(KIND, workload(KIND))["Node Selector"] == "<none>"
