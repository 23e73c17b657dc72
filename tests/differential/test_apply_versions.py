"""Server-side apply and updates in two versions of one kind: each entry keeps the version that it was written in, and
whatever is written in one of them counts in the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.differential.asking import Ask, apply, force, merge
from tests.differential.rows import Json, Plane, Row, check, entry_name, managed

FIRST = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers/web"
SECOND = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/web"
REFERENCE = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
OF_REFERENCE = " ".join(f".spec.scaleTargetRef.{name}" for name in REFERENCE)
METRICS = "autoscaling.alpha.kubernetes.io/metrics"


def cpu(percent: int) -> Json:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


MEMORY = {
    "type": "Resource",
    "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}},
}


def scaler(version: str, **spec: Any) -> Json:
    made: Json = {"apiVersion": f"autoscaling/{version}", "kind": "HorizontalPodAutoscaler"}
    return {**made, "metadata": {"name": "web"}, "spec": spec}


def first(manager: str = "one", by: Callable[..., Ask] = apply, **spec: Any) -> Ask:
    return by(scaler("v1", **spec), manager, FIRST)


def second(manager: str = "one", by: Callable[..., Ask] = apply, **spec: Any) -> Ask:
    return by(scaler("v2", **spec), manager, SECOND)


BOUNDS: Json = {"scaleTargetRef": REFERENCE, "maxReplicas": 9}
PERCENT = ".spec.targetCPUUtilizationPercentage"

ROWS = [
    Row(
        "fields are owned as the version has them",
        (first(**BOUNDS, targetCPUUtilizationPercentage=60),),
        {"spec.targetCPUUtilizationPercentage": 60},
        {"one Apply": f".spec.scaleTargetRef .spec.maxReplicas {PERCENT}"},
    ),
    Row(
        "what is the same in both versions is shared",
        (first(**BOUNDS, targetCPUUtilizationPercentage=60), second("two", maxReplicas=9, metrics=[cpu(60)])),
        {"spec.metrics": [cpu(60)]},
        {
            "one Apply": f".spec.scaleTargetRef .spec.maxReplicas {PERCENT}",
            "two Apply": ".spec.maxReplicas .spec.metrics",
        },
    ),
    Row(
        "a conflict names the field as its owner's version has it",
        (first(**BOUNDS, targetCPUUtilizationPercentage=60), second("two", metrics=[cpu(70)])),
        {"spec.metrics": [cpu(60)]},
        status=409,
        causes=frozenset({('conflict with "one"', PERCENT)}),
    ),
    Row(
        "and the other way round",
        (second(**BOUNDS, metrics=[cpu(60)]), first("two", targetCPUUtilizationPercentage=70)),
        {"spec.targetCPUUtilizationPercentage": 60},
        status=409,
        causes=frozenset({('conflict with "one"', ".spec.metrics")}),
    ),
    Row(
        "force takes the field from its owner in the other version",
        (
            first(**BOUNDS, targetCPUUtilizationPercentage=60),
            second("two", by=force, metrics=[cpu(70)]),
        ),
        {"spec.metrics": [cpu(70)]},
        {"one Apply": ".spec.scaleTargetRef .spec.maxReplicas", "two Apply": ".spec.metrics"},
    ),
    Row(
        "a metric that version 1 has no field for leaves its owner there alone",
        (first(**BOUNDS), second("two", metrics=[MEMORY, cpu(80)])),
        {"spec.metrics": [MEMORY, cpu(80)]},
        {"one Apply": ".spec.scaleTargetRef .spec.maxReplicas", "two Apply": ".spec.metrics"},
    ),
    Row(
        "an update in one version takes what it changes from an applier in the other",
        (
            second(**BOUNDS, minReplicas=2, metrics=[cpu(60)]),
            merge(FIRST, {"spec": {"targetCPUUtilizationPercentage": 10}}, "two"),
        ),
        {"spec.targetCPUUtilizationPercentage": 10},
        {
            "one Apply": f"{OF_REFERENCE} .spec.maxReplicas .spec.minReplicas",
            "two Update": PERCENT,
        },
    ),
    Row(
        "an update of what both versions have takes that alone",
        (
            first(**BOUNDS, targetCPUUtilizationPercentage=60),
            merge(SECOND, {"spec": {"maxReplicas": 3}}, "two"),
        ),
        {"spec.metrics": [cpu(60)]},
        {"one Apply": f".spec.scaleTargetRef {PERCENT}", "two Update": ".spec.maxReplicas"},
    ),
    Row(
        "an applier that goes over to the other version has one entry, and what it leaves out is removed",
        (
            first(**BOUNDS, minReplicas=3, targetCPUUtilizationPercentage=60),
            second(**BOUNDS, metrics=[MEMORY]),
        ),
        {"spec.metrics": [MEMORY], "spec.minReplicas": 1},
        {"one Apply": f"{OF_REFERENCE} .spec.maxReplicas .spec.metrics"},
    ),
    Row(
        "nor is anything removed that it names in the other version still",
        (
            second(**BOUNDS, metrics=[cpu(60)]),
            first(**BOUNDS, targetCPUUtilizationPercentage=60),
        ),
        {"spec.targetCPUUtilizationPercentage": 60},
        {"one Apply": f".spec.scaleTargetRef .spec.maxReplicas {PERCENT}"},
    ),
    Row(
        "what somebody owns in the other version is not removed",
        (
            second("two", **BOUNDS, metrics=[cpu(60)]),
            first(**BOUNDS, targetCPUUtilizationPercentage=60),
            first(**BOUNDS),
        ),
        {"spec.targetCPUUtilizationPercentage": 60},
        {
            "one Apply": ".spec.scaleTargetRef .spec.maxReplicas",
            "two Apply": f"{OF_REFERENCE} .spec.maxReplicas .spec.metrics",
        },
    ),
    Row(
        "applying the same again changes nothing, whoever wrote in the other version before",
        (
            second("two", **BOUNDS, metrics=[cpu(60)]),
            first(**BOUNDS, targetCPUUtilizationPercentage=60),
            first(**BOUNDS, targetCPUUtilizationPercentage=60),
        ),
        unchanged=True,
    ),
    Row(
        "an annotation that holds metrics is owned as an annotation, and in conflict with who owns the metrics",
        (
            second(**BOUNDS, metrics=[MEMORY, cpu(60)]),
            apply(
                {
                    **scaler("v1", targetCPUUtilizationPercentage=60),
                    "metadata": {"name": "web", "annotations": {METRICS: "[]"}},
                },
                "two",
                FIRST,
            ),
        ),
        status=409,
        causes=frozenset({('conflict with "one"', ".spec.metrics")}),
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=repr)
def test_two_versions(row: Row, record_property: Callable[[str, object], None]) -> None:
    check(row, record_property)


def test_each_entry_names_the_version_of_its_request() -> None:
    plane = Plane()
    asks = [
        first(**BOUNDS, targetCPUUtilizationPercentage=60),
        second("two", maxReplicas=9),
        merge(FIRST, {"metadata": {"labels": {"a": "1"}}}, "three"),
        merge(SECOND, {"metadata": {"labels": {"b": "2"}}}, "three"),
    ]
    for ask in asks:
        assert plane.ask(ask)[0] in (200, 201)
    for address in (FIRST, SECOND):
        found = [(entry_name(each), each["apiVersion"]) for each in managed(plane.get(address)[1])]
        assert found == [
            ("one Apply", "autoscaling/v1"),
            ("two Apply", "autoscaling/v2"),
            ("three Update", "autoscaling/v1"),
            ("three Update", "autoscaling/v2"),
        ]
