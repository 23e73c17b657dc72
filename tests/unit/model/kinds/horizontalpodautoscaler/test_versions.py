"""HorizontalPodAutoscalers of autoscaling/v1: what becomes of each field in version 2, and back, without a loss."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from fairlead.model.kind import Json
from fairlead.model.kinds.horizontalpodautoscaler.kind import KIND as SECOND
from fairlead.model.kinds.horizontalpodautoscaler.kind_v1 import KIND as FIRST
from fairlead.model.kinds.horizontalpodautoscaler.versions import as_v1, as_v2
from tests.unit.model.kinds.workload_objects import defaulted, mistakes, row

PREFIX = "autoscaling.alpha.kubernetes.io/"
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
SELECTOR = {"matchLabels": {"q": "a"}, "matchExpressions": [{"key": "z", "operator": "In", "values": ["1"]}]}


def second(status: Json | None = None, **spec: Any) -> Json:
    made: Json = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "annotations": {"own": "x"}},
        "spec": {"scaleTargetRef": TARGET, "minReplicas": 1, "maxReplicas": 9, **spec},
    }
    return made if status is None else {**made, "status": status}


def first(annotations: Json | None = None, status: Json | None = None, **spec: Any) -> Json:
    made = second(status, **spec)
    notes = {PREFIX + name: json.dumps(value) for name, value in (annotations or {}).items()}
    return {
        **made,
        "apiVersion": "autoscaling/v1",
        "metadata": {"name": "web", "annotations": {"own": "x", **notes}},
    }


def wish(kind: str, part: str, of: Json, **target: Any) -> Json:
    return {"type": kind, part: {**of, "target": target}}


def finding(kind: str, part: str, of: Json, **current: Any) -> Json:
    return {"type": kind, part: {**of, "current": current}}


CPU = wish("Resource", "resource", {"name": "cpu"}, type="Utilization", averageUtilization=60)
QUEUE = {"metric": {"name": "depth", "selector": SELECTOR}}

# Metrics of version 2 in the order in which they come back, the field of version 1, and what its annotation holds.
METRICS: dict[str, tuple[list[Json], int | None, list[Json] | None]] = {
    "the use of cpu has a field": ([CPU], 60, None),
    "an amount of cpu has none": (
        [wish("Resource", "resource", {"name": "cpu"}, type="AverageValue", averageValue="100m")],
        None,
        [{"type": "Resource", "resource": {"name": "cpu", "targetAverageValue": "100m"}}],
    ),
    "an amount of cpu before its use": (
        [
            wish("Resource", "resource", {"name": "cpu"}, type="AverageValue", averageValue="100m"),
            CPU,
        ],
        60,
        [{"type": "Resource", "resource": {"name": "cpu", "targetAverageValue": "100m"}}],
    ),
    "of two uses of cpu the first": (
        [
            CPU,
            wish("Resource", "resource", {"name": "cpu"}, type="Utilization", averageUtilization=70),
            wish("Resource", "resource", {"name": "memory"}, type="Utilization", averageUtilization=80),
        ],
        60,
        [
            {"type": "Resource", "resource": {"name": "cpu", "targetAverageUtilization": 70}},
            {"type": "Resource", "resource": {"name": "memory", "targetAverageUtilization": 80}},
        ],
    ),
    "memory": (
        [
            wish("Resource", "resource", {"name": "memory"}, type="Utilization", averageUtilization=70),
            CPU,
        ],
        60,
        [{"type": "Resource", "resource": {"name": "memory", "targetAverageUtilization": 70}}],
    ),
    "one container": (
        [
            wish(
                "ContainerResource",
                "containerResource",
                {"name": "cpu", "container": "main"},
                type="Utilization",
                averageUtilization=50,
            )
        ],
        None,
        [
            {
                "type": "ContainerResource",
                "containerResource": {"name": "cpu", "container": "main", "targetAverageUtilization": 50},
            }
        ],
    ),
    "pods": (
        [wish("Pods", "pods", QUEUE, type="AverageValue", averageValue="1k")],
        None,
        [
            {
                "type": "Pods",
                "pods": {"metricName": "depth", "selector": SELECTOR, "targetAverageValue": "1k"},
            }
        ],
    ),
    "something outside, as a whole": (
        [wish("External", "external", QUEUE, type="Value", value="30")],
        None,
        [
            {
                "type": "External",
                "external": {"metricName": "depth", "metricSelector": SELECTOR, "targetValue": "30"},
            }
        ],
    ),
    "something outside, per pod": (
        [wish("External", "external", QUEUE, type="AverageValue", averageValue="30")],
        None,
        [
            {
                "type": "External",
                "external": {"metricName": "depth", "metricSelector": SELECTOR, "targetAverageValue": "30"},
            }
        ],
    ),
    "another object": (
        [wish("Object", "object", {**QUEUE, "describedObject": TARGET}, type="Value", value="2k")],
        None,
        [
            {
                "type": "Object",
                "object": {
                    "target": TARGET,
                    "metricName": "depth",
                    "selector": SELECTOR,
                    "targetValue": "2k",
                },
            }
        ],
    ),
    "another object, per pod": (
        [
            wish(
                "Object",
                "object",
                {**QUEUE, "describedObject": TARGET},
                type="AverageValue",
                averageValue="5",
            )
        ],
        None,
        [
            {
                "type": "Object",
                "object": {
                    "target": TARGET,
                    "metricName": "depth",
                    "selector": SELECTOR,
                    "averageValue": "5",
                    "targetValue": "0",
                },
            }
        ],
    ),
}


@pytest.mark.parametrize("case", METRICS)
def test_metrics(case: str) -> None:
    metrics, share, told = METRICS[case]
    whole = second(metrics=metrics)
    shown = as_v1(copy.deepcopy(whole))
    assert shown["spec"].get("targetCPUUtilizationPercentage") == share
    assert "metrics" not in shown["spec"]
    notes = dict(shown["metadata"]["annotations"])
    assert notes.pop("own") == "x"
    found = notes.pop(PREFIX + "metrics", None)
    assert (json.loads(found) if found is not None else None, notes) == (told, {})
    assert as_v2(shown) == whole


def test_behaviour_is_told_under_the_names_that_kubernetes_gives_it() -> None:
    rules = {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}],
    }
    whole = second(metrics=[CPU], behavior={"scaleUp": rules, "scaleDown": {**rules, "tolerance": "100m"}})
    shown = as_v1(whole)
    policy = {"Type": "Pods", "Value": 4, "PeriodSeconds": 15}
    up = {
        "StabilizationWindowSeconds": 0,
        "SelectPolicy": "Max",
        "Policies": [policy],
        "Tolerance": None,
    }
    assert json.loads(shown["metadata"]["annotations"][PREFIX + "behavior"]) == {
        "ScaleUp": up,
        "ScaleDown": {**up, "Tolerance": "100m"},
    }
    assert "behavior" not in shown["spec"]
    assert as_v2(shown) == whole


def test_what_was_found_travels_in_annotations_and_the_use_of_cpu_in_its_field_as_well() -> None:
    findings = [
        finding("Resource", "resource", {"name": "cpu"}, averageUtilization=35, averageValue="70m"),
        finding("Pods", "pods", QUEUE, averageValue="12"),
        finding("Object", "object", {**QUEUE, "describedObject": TARGET}, value="7"),
        finding("External", "external", QUEUE, value="3"),
    ]
    condition = {"type": "AbleToScale", "status": "True", "lastTransitionTime": "2027-01-15T08:00:00Z"}
    status = {
        "observedGeneration": 2,
        "lastScaleTime": "2027-01-15T08:00:00Z",
        "currentReplicas": 3,
        "desiredReplicas": 4,
        "currentMetrics": findings,
        "conditions": [{**condition, "reason": "Ready", "message": "so it is"}],
    }
    whole = second(status, metrics=[CPU])
    shown = as_v1(whole)
    kept = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")
    assert shown["status"] == {
        **{name: status[name] for name in kept},
        "currentCPUUtilizationPercentage": 35,
    }
    told = json.loads(shown["metadata"]["annotations"][PREFIX + "current-metrics"])
    assert told[0] == {
        "type": "Resource",
        "resource": {"name": "cpu", "currentAverageUtilization": 35, "currentAverageValue": "70m"},
    }
    assert json.loads(shown["metadata"]["annotations"][PREFIX + "conditions"]) == status["conditions"]
    assert as_v2(shown) == whole


def test_the_use_of_cpu_that_was_found_is_taken_from_its_field_if_no_annotation_tells_more() -> None:
    status = {"currentReplicas": 1, "desiredReplicas": 1, "currentCPUUtilizationPercentage": 42}
    found = as_v2(first(status=status))["status"]["currentMetrics"]
    assert found == [finding("Resource", "resource", {"name": "cpu"}, averageUtilization=42)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("metrics", "not json"),
        ("metrics", "{}"),
        ("metrics", '[{"type":7}]'),
        ("metrics", '[{"type":"Resource","resource":{"name":"cpu","targetAverageUtilization":"x"}}]'),
        ("metrics", '[{"type":"Resource","resource":{"name":"cpu","targetAverageUtilization":4294967296}}]'),
        ("metrics", '[{"type":"Pods","pods":{"metricName":"q","targetAverageValue":"1 apple"}}]'),
        ("metrics", "[" * 100_000),
        ("behavior", "[]"),
        ("behavior", "{}"),
        ("behavior", '{"ScaleUp":{"Tolerance":"wide"}}'),
        ("current-metrics", "7"),
        ("conditions", '[{"type":"A","status":"True","lastTransitionTime":"yesterday"}]'),
        ("conditions", '["a"]'),
    ],
)
def test_an_annotation_that_cannot_be_read_counts_as_not_there(name: str, text: str) -> None:
    spoilt = first(targetCPUUtilizationPercentage=60)
    spoilt["metadata"]["annotations"][PREFIX + name] = text
    assert as_v2(spoilt) == second(metrics=[CPU])


@pytest.mark.parametrize(
    ("annotations", "spec", "share"),
    [
        ({}, {}, 80),
        ({}, {"targetCPUUtilizationPercentage": 30}, 30),
        ({"metrics": METRICS["memory"][2]}, {}, None),
        ({"metrics": METRICS["memory"][2]}, {"targetCPUUtilizationPercentage": 30}, 30),
        ({"metrics": []}, {}, 80),
    ],
)
def test_the_default_is_a_use_of_cpu_where_no_metric_is_given(
    annotations: Json, spec: Json, share: int | None
) -> None:
    given = first(annotations, **spec)
    del given["spec"]["minReplicas"]
    made = defaulted(FIRST, given)
    assert made["spec"].get("targetCPUUtilizationPercentage") == share
    assert made["spec"]["minReplicas"] == 1
    assert made["status"] == {"currentReplicas": 0, "desiredReplicas": 0}
    assert defaulted(FIRST, made) == made
    whole = defaulted(SECOND, as_v2(made))
    assert as_v1(whole) == made


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({"targetCPUUtilizationPercentage": 0}, ["spec.targetCPUUtilizationPercentage"]),
        ({"maxReplicas": 0}, ["spec.maxReplicas", "spec.maxReplicas"]),
        ({"scaleTargetRef": {"kind": "Deployment"}}, ["spec.scaleTargetRef.name"]),
    ],
)
def test_mistakes_are_named_as_they_were_sent(spec: Json, fields: list[str]) -> None:
    assert [text.partition(": ")[0] for text in mistakes(FIRST, first(**spec))] == fields


def test_both_versions_have_the_same_columns_and_cells() -> None:
    whole = second(metrics=METRICS["memory"][0])
    assert [column.name for column in FIRST.columns] == [column.name for column in SECOND.columns]
    assert row(FIRST, as_v1(whole)) == row(SECOND, whole)


def test_what_is_of_the_version_already_stays_the_same() -> None:
    one, two = first(), second()
    assert as_v1(one) is one
    assert as_v2(two) is two
