"""Server-side apply and updates through status and scale: entries of their own, fields out of reach, conflicts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.differential.asking import apply, force, merge, post, put
from tests.differential.objects import SCALE, STATUS, WEB, WHOLE, deployment, scale, status
from tests.differential.rows import AtLeast, Json, Not, Row, check
from tests.unit.api.things import PODS

MAKE = apply(deployment(replicas=1), "base")
BASE = {"base Apply": f"{WHOLE} .spec.replicas"}
REST = {"base Apply": WHOLE}
POD_STATUS = f"{PODS}/web/status"
NOON = "2027-01-15T12:00:00Z"


def conditions(*types: str, value: str = "True") -> list[Json]:
    return [{"type": each, "status": value} for each in types]


def pod(**fields: object) -> Json:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, **fields}


MAKE_POD = apply(pod(spec={"containers": [{"name": "web", "image": "web:1"}]}), "base")


JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "web"},
    "spec": {
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "web", "image": "web:1"}]}}
    },
}
JOB_STATUS = "/apis/batch/v1/namespaces/default/jobs/web/status"


def job_status(condition: str) -> Json:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "web"},
        "status": {"conditions": conditions(condition)},
    }


STATUS_ROWS = [
    Row(
        "a status in an applied object is neither set nor owned",
        (apply({**deployment(replicas=1), "status": {"replicas": 7}}, "base"),),
        {"spec.replicas": 1},
        BASE,
    ),
    Row(
        "a spec in an applied status is neither set nor owned",
        (MAKE, apply({**status(replicas=1), "spec": {"replicas": 9}}, "one", STATUS)),
        {"spec.replicas": 1, "status.replicas": 1},
        {**BASE, "one Apply status": ".status.replicas"},
    ),
    Row(
        "one name through two ways has two entries",
        (MAKE, apply(status(replicas=1), "base", STATUS)),
        owns={**BASE, "base Apply status": ".status.replicas"},
    ),
    Row(
        "applying the object leaves the status that was applied to status",
        (MAKE, apply(status(replicas=1), "base", STATUS), apply(deployment(replicas=2), "base")),
        {"status.replicas": 1, "spec.replicas": 2},
        {**BASE, "base Apply status": ".status.replicas"},
    ),
    Row(
        "status left out of what is applied to status is removed",
        (
            MAKE,
            apply(status(observedGeneration=1, readyReplicas=1, replicas=1), "one", STATUS),
            apply(status(observedGeneration=1, replicas=1), "one", STATUS),
        ),
        owns={**BASE, "one Apply status": ".status.observedGeneration .status.replicas"},
    ),
    Row(
        "conditions merge by type",
        (
            MAKE_POD,
            apply(pod(status={"conditions": conditions("example.com/a")}), "one", POD_STATUS),
            apply(pod(status={"conditions": conditions("example.com/b")}), "two", POD_STATUS),
        ),
        {"status.conditions[*].type": ["example.com/a", "example.com/b"]},
        {
            "base Apply": AtLeast('.spec.containers[name="web"].image'),
            "one Apply status": '.status.conditions[type="example.com/a"]'
            ' .status.conditions[type="example.com/a"].type .status.conditions[type="example.com/a"].status',
            "two Apply status": '.status.conditions[type="example.com/b"]'
            ' .status.conditions[type="example.com/b"].type .status.conditions[type="example.com/b"].status',
        },
    ),
    Row(
        "a condition's status is one manager's",
        (
            MAKE_POD,
            apply(pod(status={"conditions": conditions("example.com/a")}), "one", POD_STATUS),
            apply(pod(status={"conditions": conditions("example.com/a", value="False")}), "two", POD_STATUS),
        ),
        {"status.conditions[*].status": ["True"]},
        status=409,
        causes=frozenset(
            {
                (
                    'conflict with "one" with subresource "status"',
                    '.status.conditions[type="example.com/a"].status',
                )
            }
        ),
    ),
    Row(
        "a conflict with an updater of status tells the subresource and the version",
        (
            MAKE,
            merge(STATUS, {"status": {"replicas": 3}}, "two"),
            apply(status(replicas=4), "one", STATUS),
        ),
        {"status.replicas": 3},
        status=409,
        message='Apply failed with 1 conflict: conflict with "two" with subresource "status" using apps/v1: '
        ".status.replicas",
    ),
    Row(
        "an annotation is applied through status and owned there, a Deployment's label is not",
        (
            MAKE,
            apply(
                {
                    **status(replicas=1),
                    "metadata": {"name": "web", "annotations": {"a": "1"}, "labels": {"b": "1"}},
                },
                "one",
                STATUS,
            ),
        ),
        {"metadata.annotations.a": "1", "status.replicas": 1},
        {**BASE, "one Apply status": ".metadata.annotations.a .status.replicas"},
    ),
    Row(
        "an annotation left out of what is applied to status is removed",
        (
            MAKE,
            apply(
                {**status(replicas=1), "metadata": {"name": "web", "annotations": {"a": "1"}}}, "one", STATUS
            ),
            apply(status(replicas=1), "one", STATUS),
        ),
        owns={**BASE, "one Apply status": ".status.replicas"},
    ),
    Row(
        "a label patched through a pod's status is owned there",
        (
            MAKE_POD,
            merge(POD_STATUS, {"metadata": {"labels": {"b": "1"}}, "status": {"reason": "r"}}, "two"),
        ),
        {"metadata.labels.b": "1"},
        {
            "two Update status": ".metadata.labels .metadata.labels.b .status.reason",
            "base Apply": AtLeast('.spec.containers[name="web"].image'),
        },
    ),
    Row(
        "status of what is not there is not created", (apply(status(replicas=1), "one", STATUS),), status=404
    ),
]

IN_SPEC: dict[str, Json] = {"StatefulSet": {"serviceName": "web"}, "ReplicaSet": {}}
WORKLOADS = [
    Row(
        f"scaling a {kind} takes replicas as well",
        (
            apply({**deployment(replicas=1, **IN_SPEC[kind]), "kind": kind}, "base"),
            merge(
                f"/apis/apps/v1/namespaces/default/{plural}/web/scale", {"spec": {"replicas": 5}}, "scaler"
            ),
        ),
        {"spec.replicas": 5},
        {"base Apply": Not(".spec.replicas"), "scaler Update scale": ".spec.replicas"},
    )
    for kind, plural in (("StatefulSet", "statefulsets"), ("ReplicaSet", "replicasets"))
]

SCALE_ROWS = [
    Row(
        "scaling takes replicas from who applied them",
        (MAKE, merge(SCALE, {"spec": {"replicas": 5}}, "scaler")),
        {"spec.replicas": 5},
        {**REST, "scaler Update scale": ".spec.replicas"},
    ),
    Row(
        "applying the old number after scaling is a conflict",
        (MAKE, merge(SCALE, {"spec": {"replicas": 5}}, "scaler"), MAKE),
        {"spec.replicas": 5},
        status=409,
        message='Apply failed with 1 conflict: conflict with "scaler" with subresource "scale" using apps/v1: '
        ".spec.replicas",
    ),
    Row(
        "and can be forced",
        (MAKE, merge(SCALE, {"spec": {"replicas": 5}}, "scaler"), force(deployment(replicas=1), "base")),
        {"spec.replicas": 1},
        BASE,
    ),
    Row(
        "applying another number to scale is a conflict",
        (MAKE, apply(scale(17), "one", SCALE)),
        {"spec.replicas": 1},
        status=409,
        causes=frozenset({('conflict with "base"', ".spec.replicas")}),
    ),
    Row(
        "a conflict of scale with an update of the object names the version of the scale",
        (MAKE, merge(WEB, {"spec": {"replicas": 3}}, "two"), apply(scale(17), "one", SCALE)),
        {"spec.replicas": 3},
        status=409,
        message='Apply failed with 1 conflict: conflict with "two" using autoscaling/v1: .spec.replicas',
        causes=frozenset({('conflict with "two" using autoscaling/v1', ".spec.replicas")}),
    ),
    Row(
        "and so does one with an update of the scale",
        (MAKE, merge(SCALE, {"spec": {"replicas": 5}}, "scaler"), apply(scale(17), "one", SCALE)),
        {"spec.replicas": 5},
        status=409,
        message='Apply failed with 1 conflict: conflict with "scaler" with subresource "scale" using autoscaling/v1: '
        ".spec.replicas",
    ),
    Row(
        "and forced takes replicas alone",
        (MAKE, force(scale(17), "one", SCALE)),
        {"spec.replicas": 17},
        {**REST, "one Apply scale": ".spec.replicas"},
    ),
    Row(
        "replacing scale takes replicas",
        (MAKE, put(scale(7), "two", SCALE)),
        {"spec.replicas": 7},
        {**REST, "two Update scale": ".spec.replicas"},
    ),
    Row(
        "applying the same number to scale shares it",
        (MAKE, put(scale(7), "two", SCALE), apply(scale(7), "one", SCALE)),
        owns={**REST, "two Update scale": ".spec.replicas", "one Apply scale": ".spec.replicas"},
    ),
    Row(
        "scaling takes replicas from all who share them",
        (
            MAKE,
            put(scale(7), "two", SCALE),
            apply(scale(7), "one", SCALE),
            merge(SCALE, {"spec": {"replicas": 5}}, "scaler"),
        ),
        {"spec.replicas": 5},
        {**REST, "scaler Update scale": ".spec.replicas"},
    ),
    Row(
        "a status sent to scale changes nothing",
        (MAKE, merge(SCALE, {"status": {"replicas": 42}}, "scaler")),
        {"spec.replicas": 1},
        BASE,
    ),
    Row("scale of what is not there is not created", (apply(scale(1), "one", SCALE),), status=404),
]

UPDATES = [
    Row(
        "an update of status has an entry of its own",
        (post(deployment()), merge(STATUS, {"status": {"replicas": 1}}, "maker")),
        owns={"maker Update": AtLeast(WHOLE), "maker Update status": AtLeast(".status.replicas")},
    ),
    Row(
        "a replaced status is tracked, the spec sent with it is not",
        (MAKE, put({**deployment(replicas=9), "status": {"replicas": 2}}, "two", STATUS)),
        {"spec.replicas": 1, "status.replicas": 2},
        {**BASE, "two Update status": AtLeast(".status.replicas")},
    ),
    Row(
        "a status sent with an update of the object is neither set nor tracked",
        (MAKE, put({**deployment(replicas=3), "status": {"replicas": 2}}, "two", WEB)),
        {"spec.replicas": 3},
        {**REST, "two Update": ".spec.replicas"},
    ),
    Row(
        "an update of one condition leaves the other to its owner",
        (
            MAKE_POD,
            merge(POD_STATUS, {"status": {"conditions": conditions("example.com/a")}}, "one"),
            merge(
                POD_STATUS, {"status": {"conditions": conditions("example.com/a", "example.com/b")}}, "two"
            ),
        ),
        owns={
            "base Apply": AtLeast('.spec.containers[name="web"].image'),
            "one Update status": AtLeast('.status.conditions[type="example.com/a"]'),
            "two Update status": AtLeast('.status.conditions[type="example.com/b"]'),
        },
    ),
]


@pytest.mark.parametrize("row", [*STATUS_ROWS, *SCALE_ROWS, *WORKLOADS, *UPDATES], ids=str)
def test_subresources(row: Row, record_property: Callable[[str, object], None]) -> None:
    check(row, record_property)
