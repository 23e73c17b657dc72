"""StatefulSets: defaults, rules, the few fields that may change, status, columns."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.kinds.statefulset import KIND
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

FROZEN = (
    "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
    "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' "
    "are forbidden"
)


def test_defaults() -> None:
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    spec = defaulted(KIND, workload(KIND, volumeClaimTemplates=[claim]))["spec"]
    assert spec["replicas"] == 1
    assert spec["podManagementPolicy"] == "OrderedReady"
    assert spec["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    assert spec["revisionHistoryLimit"] == 10
    assert spec["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Retain"}
    assert spec["volumeClaimTemplates"][0] == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem"},
        "status": {"phase": "Pending"},
    }
    assert mistakes(KIND, workload(KIND)) == []


def test_a_strategy_that_is_named_without_details_stays_without() -> None:
    for kind in ("OnDelete", "RollingUpdate"):
        spec = defaulted(KIND, workload(KIND, updateStrategy={"type": kind}))["spec"]
        assert spec["updateStrategy"] == {"type": kind}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"podManagementPolicy": "Random"},
            ["spec.podManagementPolicy: Invalid value: \"Random\": must be 'OrderedReady' or 'Parallel'"],
        ),
        (
            {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}},
            [
                'spec.updateStrategy.rollingUpdate: Invalid value: {"partition":1}: '
                "only allowed for updateStrategy 'RollingUpdate'"
            ],
        ),
        (
            {"updateStrategy": {"type": "Never"}},
            [
                'spec.updateStrategy: Invalid value: {"type":"Never"}: '
                "must be 'RollingUpdate' or 'OnDelete'"
            ],
        ),
        (
            {"updateStrategy": {"rollingUpdate": {"partition": -1}}},
            [
                "spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: "
                "must be greater than or equal to 0"
            ],
        ),
        (
            {"updateStrategy": {"rollingUpdate": {"maxUnavailable": "0%"}}},
            ['spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "0%": cannot be 0'],
        ),
        (
            {"updateStrategy": {"rollingUpdate": {"maxUnavailable": -2}}},
            [
                "spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: -2: "
                "must be greater than or equal to 0"
            ],
        ),
        (
            {"updateStrategy": {"rollingUpdate": {"maxUnavailable": "150%"}}},
            [
                'spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "150%": '
                "must not be greater than 100%"
            ],
        ),
        (
            {"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Burn"}},
            [
                'spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Burn": '
                'supported values: "Delete", "Retain"'
            ],
        ),
        (
            {"ordinals": {"start": -1}},
            ["spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0"],
        ),
        ({"replicas": -1}, ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]),
        ({"selector": {}}, ["spec.selector: Invalid value: {}: empty selector is invalid for statefulset"]),
        (
            {"template": template(activeDeadlineSeconds=5)},
            [
                "spec.template.spec.activeDeadlineSeconds: Forbidden: "
                "activeDeadlineSeconds in StatefulSet is not Supported"
            ],
        ),
        (
            {"selector": {"matchLabels": {"app": "other"}}},
            [
                'spec.template.metadata.labels: Invalid value: {"app":"web"}: '
                "`selector` does not match template `labels`"
            ],
        ),
    ],
)
def test_wrong_specs_are_refused_with_their_paths(spec: dict[str, Any], expected: list[str]) -> None:
    assert mistakes(KIND, workload(KIND, **spec)) == expected


@pytest.mark.parametrize(
    "change",
    [
        {"replicas": 7},
        {"ordinals": {"start": 3}},
        {"template": template(hostname="db")},
        {"updateStrategy": {"type": "OnDelete"}},
        {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}},
        {"minReadySeconds": 4},
        {"revisionHistoryLimit": 2},
    ],
)
def test_these_fields_may_change(change: dict[str, Any]) -> None:
    assert update_mistakes(KIND, workload(KIND, **change), workload(KIND)) == []


@pytest.mark.parametrize(
    "change",
    [
        {"serviceName": "db"},
        {"podManagementPolicy": "Parallel"},
        {"selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}},
        {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]},
    ],
)
def test_these_fields_may_not_change(change: dict[str, Any]) -> None:
    assert update_mistakes(KIND, workload(KIND, **change), workload(KIND)) == [FROZEN]
    assert update_mistakes(KIND, workload(KIND), workload(KIND, **change)) == [FROZEN]


@pytest.mark.parametrize("name", ["readyReplicas", "currentReplicas", "updatedReplicas"])
def test_no_counter_of_the_status_exceeds_its_replicas(name: str) -> None:
    expected = [f"status.{name}: Invalid value: 2: cannot be greater than status.replicas"]
    assert status_mistakes(KIND, {"replicas": 1, name: 2}) == expected


def test_counters_of_the_status_are_not_negative() -> None:
    found = status_mistakes(KIND, {"observedGeneration": -1})
    assert found == ["status.observedGeneration: Invalid value: -1: must be greater than or equal to 0"]


def test_available_replicas_are_ready_and_collisions_only_grow() -> None:
    found = status_mistakes(
        KIND,
        {"replicas": 2, "readyReplicas": 0, "availableReplicas": 1, "collisionCount": 0},
        {"collisionCount": 3},
    )
    assert found == [
        "status.availableReplicas: Invalid value: 1: cannot be greater than status.readyReplicas",
        "status.collisionCount: Invalid value: 0: cannot be decremented",
    ]


def test_columns_are_those_of_kubectl() -> None:
    assert shown(KIND, wide=True) == ["READY", "AGE", "CONTAINERS", "IMAGES", "PROGRESS"]
    assert row(KIND, workload(KIND, replicas=2))["Ready"] == "0/2"
