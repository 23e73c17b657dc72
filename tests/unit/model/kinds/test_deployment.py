"""Deployments: defaults, rules, what may change, status, columns."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.kinds.deployment import KIND
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

PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)


def test_a_minimal_deployment_is_valid_and_gets_kubernetes_defaults() -> None:
    obj = workload(KIND)
    spec = defaulted(KIND, obj)["spec"]
    assert mistakes(KIND, obj) == []
    assert spec["replicas"] == 1
    assert spec["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
    }
    assert (spec["revisionHistoryLimit"], spec["progressDeadlineSeconds"]) == (10, 600)
    assert spec["template"]["spec"]["restartPolicy"] == "Always"
    assert spec["template"]["spec"]["containers"][0]["terminationMessagePath"] == "/dev/termination-log"


def test_given_values_are_kept_by_the_defaults() -> None:
    given = {"replicas": 0, "strategy": {"type": "Recreate"}, "revisionHistoryLimit": 0}
    spec = defaulted(KIND, workload(KIND, **given))["spec"]
    assert {name: spec[name] for name in given} == given


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"replicas": -1}, ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]),
        (
            {"minReadySeconds": -1, "revisionHistoryLimit": -2},
            [
                "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
                "spec.revisionHistoryLimit: Invalid value: -2: must be greater than or equal to 0",
            ],
        ),
        (
            {"progressDeadlineSeconds": 30, "minReadySeconds": 30},
            ["spec.progressDeadlineSeconds: Invalid value: 30: must be greater than minReadySeconds"],
        ),
        ({"selector": None}, ["spec.selector: Required value"]),
        ({"selector": {}}, ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"]),
        (
            {"selector": {"matchLabels": {"app": "db"}}},
            [
                'spec.template.metadata.labels: Invalid value: {"app":"web"}: '
                "`selector` does not match template `labels`"
            ],
        ),
        (
            {"template": template(restartPolicy="Never", activeDeadlineSeconds=5)},
            [
                'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
                "spec.template.spec.activeDeadlineSeconds: Forbidden: "
                "activeDeadlineSeconds in ReplicaSet is not Supported",
            ],
        ),
        (
            {"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}},
            [
                "spec.strategy.rollingUpdate: Forbidden: "
                "may not be specified when strategy `type` is 'Recreate'"
            ],
        ),
        (
            {"strategy": {"type": "Sometimes"}},
            [
                'spec.strategy.type: Unsupported value: "Sometimes": '
                'supported values: "Recreate", "RollingUpdate"'
            ],
        ),
    ],
)
def test_wrong_specs_are_refused_with_their_paths(spec: dict[str, Any], expected: list[str]) -> None:
    assert mistakes(KIND, workload(KIND, **spec)) == expected


@pytest.mark.parametrize(
    ("unavailable", "surge", "expected"),
    [
        (0, 1, []),
        ("0%", "1%", []),
        ("100%", "200%", []),
        (0, 0, ["maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"]),
        ("0%", 0, ['maxUnavailable: Invalid value: "0%": may not be 0 when `maxSurge` is 0']),
        (-1, 1, ["maxUnavailable: Invalid value: -1: must be greater than or equal to 0"]),
        (1, -1, ["maxSurge: Invalid value: -1: must be greater than or equal to 0"]),
        ("101%", 1, ['maxUnavailable: Invalid value: "101%": must not be greater than 100%']),
        (1, "5", [f'maxSurge: Invalid value: "5": {PERCENT}']),
        (1, "half%", [f'maxSurge: Invalid value: "half%": {PERCENT}']),
    ],
)
def test_rolling_update_amounts(unavailable: Any, surge: Any, expected: list[str]) -> None:
    rolling = {"maxUnavailable": unavailable, "maxSurge": surge}
    found = mistakes(KIND, workload(KIND, strategy={"type": "RollingUpdate", "rollingUpdate": rolling}))
    assert found == [f"spec.strategy.rollingUpdate.{text}" for text in expected]


def test_a_percentage_of_thousands_of_digits_is_a_mistake_and_not_a_crash() -> None:
    rolling = {"maxUnavailable": "9" * 10_000 + "%"}
    found = mistakes(KIND, workload(KIND, strategy={"rollingUpdate": rolling}))
    assert len(found) == 1
    assert found[0].endswith("must not be greater than 100%")


def test_all_mistakes_are_reported_at_once() -> None:
    found = mistakes(KIND, {"metadata": {"name": "web"}, "spec": {"replicas": -1}})
    paths = [text.partition(":")[0] for text in found]
    assert paths[:2] == ["spec.replicas", "spec.selector"]
    assert "spec.template.spec.containers" in paths


def test_the_selector_never_changes_and_the_rest_may() -> None:
    old = workload(KIND)
    assert update_mistakes(KIND, workload(KIND, replicas=5, template=template(hostname="a")), old) == []
    selector = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "app", "operator": "Exists"}]}
    found = update_mistakes(KIND, workload(KIND, selector=selector), old)
    assert len(found) == 1
    assert found[0].startswith('spec.selector: Invalid value: {"matchLabels"')
    assert found[0].endswith(": field is immutable")


@pytest.mark.parametrize(
    ("status", "before", "expected"),
    [
        ({"replicas": 3, "readyReplicas": 3, "availableReplicas": 2, "updatedReplicas": 3}, {}, []),
        (
            {"replicas": -1},
            {},
            ["status.replicas: Invalid value: -1: must be greater than or equal to 0"]
            + [
                f"status.{name}: Invalid value: 0: cannot be greater than status.replicas"
                for name in ("updatedReplicas", "readyReplicas", "availableReplicas")
            ],
        ),
        (
            {"replicas": 1, "readyReplicas": 2},
            {},
            ["status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas"],
        ),
        (
            {"replicas": 3, "readyReplicas": 1, "availableReplicas": 2},
            {},
            ["status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas"],
        ),
        (
            {"collisionCount": 1},
            {"collisionCount": 2},
            ["status.collisionCount: Invalid value: 1: cannot be decremented"],
        ),
    ],
)
def test_status(status: dict[str, Any], before: dict[str, Any], expected: list[str]) -> None:
    assert status_mistakes(KIND, status, before) == expected


def test_columns_are_those_of_kubectl() -> None:
    assert shown(KIND) == ["READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert shown(KIND, wide=True)[4:] == ["CONTAINERS", "IMAGES", "SELECTOR", "PROGRESS"]
    obj = defaulted(KIND, workload(KIND, replicas=3))
    obj["spec"]["template"]["spec"]["containers"].append({"name": "side", "image": "envoy"})
    obj["status"] = {"readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1}
    assert row(KIND, obj) == {
        "Ready": "2/3",
        "Up-to-date": 3,
        "Available": 1,
        "Age": "60s",
        "Containers": "main,side",
        "Images": "nginx:1.27,envoy",
        "Selector": "app=web",
        "Progress": "<none>",
    }
    assert row(KIND, workload(KIND, replicas=0))["Ready"] == "0/0"


def test_the_scale_subresource_finds_its_numbers() -> None:
    assert KIND.scale is not None
    assert KIND.scale.spec_replicas == ("spec", "replicas")
    assert KIND.scale.status_replicas == ("status", "replicas")
    assert KIND.scale.selector == ("spec", "selector")
    assert KIND.subresources == ("status", "scale")
