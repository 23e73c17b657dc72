"""HorizontalPodAutoscalers: defaults, bounds, metrics by type, behaviour, columns."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.kind import Json
from fairlead.model.kinds.horizontalpodautoscaler.kind import KIND
from tests.unit.model.kinds.workload_objects import defaulted, mistakes, row, shown, status_mistakes, whole

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def autoscaler(**spec: Any) -> Json:
    return whole(KIND, spec={"scaleTargetRef": TARGET, "maxReplicas": 10, **spec})


def resource(**target: Any) -> Json:
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def container(**fields: Any) -> Json:
    target = {"type": "Utilization", "averageUtilization": 50}
    inner = {"name": "cpu", "container": "main", "target": target, **fields}
    return {"type": "ContainerResource", "containerResource": inner}


def pods(**target: Any) -> Json:
    return {"type": "Pods", "pods": {"metric": {"name": "qps"}, "target": target}}


def outside(**target: Any) -> Json:
    return {"type": "External", "external": {"metric": {"name": "depth"}, "target": target}}


def thing(**target: Any) -> Json:
    described = {"kind": "Service", "name": "front"}
    inner = {"metric": {"name": "rps"}, "describedObject": described, "target": target}
    return {"type": "Object", "object": inner}


def test_defaults() -> None:
    spec = defaulted(KIND, autoscaler())["spec"]
    assert spec["minReplicas"] == 1
    target = {"type": "Utilization", "averageUtilization": 80}
    assert spec["metrics"] == [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    assert "behavior" not in spec
    assert mistakes(KIND, autoscaler()) == []


def test_behaviour_is_completed_only_when_some_is_given() -> None:
    given = {"scaleDown": {"stabilizationWindowSeconds": 60}}
    behavior = defaulted(KIND, autoscaler(behavior=given))["spec"]["behavior"]
    assert behavior["scaleUp"] == {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ],
    }
    assert behavior["scaleDown"] == {
        "stabilizationWindowSeconds": 60,
        "selectPolicy": "Max",
        "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
    }
    bare = defaulted(KIND, autoscaler(behavior={}))["spec"]["behavior"]
    assert "stabilizationWindowSeconds" not in bare["scaleDown"]


def test_target_amounts_are_kept_in_their_canonical_spelling() -> None:
    metrics = [pods(type="AverageValue", averageValue="1000m"), outside(type="Value", value=0.5)]
    after = defaulted(KIND, autoscaler(metrics=metrics))["spec"]["metrics"]
    assert after[0]["pods"]["target"]["averageValue"] == "1"
    assert after[1]["external"]["target"]["value"] == "500m"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minReplicas": 10}, []),
        ({"minReplicas": 0}, ["spec.minReplicas: Invalid value: 0: must be greater than or equal to 1"]),
        (
            {"maxReplicas": 0},
            [
                "spec.maxReplicas: Invalid value: 0: must be greater than 0",
                "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
            ],
        ),
        (
            {"minReplicas": 11},
            ["spec.maxReplicas: Invalid value: 10: must be greater than or equal to `minReplicas`"],
        ),
        (
            {"scaleTargetRef": {}},
            ["spec.scaleTargetRef.kind: Required value", "spec.scaleTargetRef.name: Required value"],
        ),
        (
            {"scaleTargetRef": {"kind": "a/b", "name": ".."}},
            [
                "spec.scaleTargetRef.kind: Invalid value: \"a/b\": may not contain '/'",
                "spec.scaleTargetRef.name: Invalid value: \"..\": may not be '..'",
            ],
        ),
    ],
)
def test_bounds_and_target(spec: dict[str, Any], expected: list[str]) -> None:
    assert mistakes(KIND, autoscaler(**spec)) == expected


BOTH_RAW = "may not set both a target raw value and a target utilization"
NEITHER_RAW = "must set either a target raw value or a target utilization"
TYPES = '"ContainerResource", "External", "Object", "Pods", "Resource"'


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (resource(type="Utilization", averageUtilization=50), []),
        (resource(type="AverageValue", averageValue="500m"), []),
        (container(), []),
        (pods(type="AverageValue", averageValue="1k"), []),
        (outside(type="Value", value="30"), []),
        (thing(type="Value", value="30"), []),
        (thing(type="AverageValue", averageValue="30"), []),
        (
            resource(type="Utilization", averageUtilization=0),
            [".resource.target.averageUtilization: Invalid value: 0: must be greater than 0"],
        ),
        (
            resource(type="AverageValue", averageValue="0"),
            ['.resource.target.averageValue: Invalid value: "0": must be positive'],
        ),
        (
            resource(type="Utilization"),
            [f".resource.target.averageUtilization: Required value: {NEITHER_RAW}"],
        ),
        (
            resource(type="Utilization", averageUtilization=1, averageValue="1"),
            [f".resource.target.averageValue: Forbidden: {BOTH_RAW}"],
        ),
        (
            resource(type="Some", averageUtilization=1),
            [
                '.resource.target.type: Invalid value: "Some": '
                "must be either Utilization, Value, or AverageValue"
            ],
        ),
        (container(container=""), [".containerResource.container: Required value: must specify a container"]),
        (container(name=""), [".containerResource.name: Required value: must specify a resource name"]),
        (
            pods(type="Value", value="1"),
            [".pods.target.averageValue: Required value: must specify a positive target averageValue"],
        ),
        (
            outside(type="Value"),
            [
                ".external.target.averageValue: Required value: "
                "must set either a target value for metric or a per-pod target"
            ],
        ),
        (
            outside(type="Value", value="1", averageValue="1"),
            [
                ".external.target.value: Forbidden: "
                "may not set both a target value for metric and a per-pod target"
            ],
        ),
        (
            outside(type="Value", value="-1"),
            ['.external.target.value: Invalid value: "-1": must be positive'],
        ),
        (
            thing(type="Value"),
            [".object.target.averageValue: Required value: must set either a target value or averageValue"],
        ),
        (
            {"type": "Pods", "pods": {"metric": {}, "target": {"type": "AverageValue", "averageValue": "1"}}},
            [".pods.metric.name: Required value: must specify a metric name"],
        ),
        (
            {"type": "Pods"},
            [".pods: Required value: must populate information for the given metric source"],
        ),
        (
            {**pods(type="AverageValue", averageValue="1"), "resource": {"name": "cpu"}},
            [".resource: Forbidden: must populate the given metric source only"],
        ),
        ({"type": "Luck"}, [f'.type: Unsupported value: "Luck": supported values: {TYPES}']),
    ],
)
def test_metrics_by_type(metric: Json, expected: list[str]) -> None:
    found = mistakes(KIND, autoscaler(metrics=[metric]))
    assert found == [f"spec.metrics[0]{text}" for text in expected]


GOOD = {"type": "Pods", "value": 1, "periodSeconds": 60}


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({"stabilizationWindowSeconds": 3600, "policies": [GOOD]}, []),
        (
            {"stabilizationWindowSeconds": -1},
            [".stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero"],
        ),
        (
            {"stabilizationWindowSeconds": 3601},
            [".stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600"],
        ),
        (
            {"selectPolicy": "Mean"},
            ['.selectPolicy: Unsupported value: "Mean": supported values: "Disabled", "Max", "Min"'],
        ),
        ({"policies": []}, [".policies: Required value: must specify at least one Policy"]),
        (
            {"policies": [{**GOOD, "type": "Nodes"}]},
            ['.policies[0].type: Unsupported value: "Nodes": supported values: "Percent", "Pods"'],
        ),
        (
            {"policies": [GOOD, {**GOOD, "value": 0}]},
            [".policies[1].value: Invalid value: 0: must be greater than zero"],
        ),
        (
            {"policies": [{**GOOD, "periodSeconds": 0}]},
            [".policies[0].periodSeconds: Invalid value: 0: must be greater than zero"],
        ),
        (
            {"policies": [{**GOOD, "periodSeconds": 1801}]},
            [".policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800"],
        ),
        (
            {"tolerance": "-0.1"},
            ['.tolerance: Invalid value: "-0.1": must be greater or equal to 0'],
        ),
    ],
)
@pytest.mark.parametrize("direction", ["scaleUp", "scaleDown"])
def test_behaviour(direction: str, rules: Json, expected: list[str]) -> None:
    found = mistakes(KIND, autoscaler(behavior={direction: rules}))
    assert found == [f"spec.behavior.{direction}{text}" for text in expected]


def test_counters_of_the_status_are_not_negative() -> None:
    assert status_mistakes(KIND, {"currentReplicas": -1, "desiredReplicas": -1}) == [
        f"status.{name}: Invalid value: -1: must be greater than or equal to 0"
        for name in ("currentReplicas", "desiredReplicas")
    ]


def current(name: str, **value: Any) -> Json:
    return {"type": name.title(), name: {"current": value}}


@pytest.mark.parametrize(
    ("metrics", "statuses", "expected"),
    [
        ([], [], "<none>"),
        ([resource(averageUtilization=80)], [], "cpu: <unknown>/80%"),
        ([resource(averageUtilization=80)], [current("resource", averageUtilization=0)], "cpu: 0%/80%"),
        ([resource(averageValue="2")], [current("resource", averageValue="500m")], "cpu: 500m/2"),
        ([container()], [], "cpu: <unknown>/50%"),
        ([pods(averageValue="10")], [current("pods", averageValue="5")], "5/10"),
        ([outside(averageValue="10")], [current("external", averageValue="5")], "5/10 (avg)"),
        ([outside(value="10")], [current("external", value="5")], "5/10"),
        ([thing(value="10")], [current("object", value="7")], "7/10"),
        ([thing(averageValue="10")], [], "<unknown>/10 (avg)"),
        ([resource(averageUtilization=n) for n in (1, 2)], [], "cpu: <unknown>/1%, cpu: <unknown>/2%"),
        (
            [resource(averageUtilization=n) for n in (1, 2, 3, 4)],
            [],
            "cpu: <unknown>/1%, cpu: <unknown>/2% + 2 more...",
        ),
    ],
)
def test_the_targets_column(metrics: list[Json], statuses: list[Json], expected: str) -> None:
    obj = {**autoscaler(metrics=metrics), "status": {"currentMetrics": statuses}}
    assert row(KIND, obj)["Targets"] == expected


def test_columns_are_those_of_kubectl() -> None:
    assert shown(KIND, wide=True) == ["REFERENCE", "TARGETS", "MINPODS", "MAXPODS", "REPLICAS", "AGE"]
    obj = {**autoscaler(), "status": {"currentReplicas": 3}}
    cells = row(KIND, obj)
    assert cells["Reference"] == "Deployment/web"
    assert (cells["MinPods"], cells["MaxPods"], cells["Replicas"]) == ("<unset>", 10, 3)
