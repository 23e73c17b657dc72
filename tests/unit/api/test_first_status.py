"""What has a status shows it from its first moment, with the zeros that Kubernetes' types always have.

Clients read it at once: kr8s' `wait` looks for conditions in the answer to the creation.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairlead.model.catalog import CATALOG
from tests.inprocess import InProcess
from tests.samples import SAMPLES

FIRST: dict[str, dict[str, Any]] = {
    "Deployment": {},
    "ReplicaSet": {"replicas": 0},
    "StatefulSet": {"replicas": 0, "availableReplicas": 0},
    "DaemonSet": {
        "currentNumberScheduled": 0,
        "desiredNumberScheduled": 0,
        "numberMisscheduled": 0,
        "numberReady": 0,
    },
    "Job": {},
    "CronJob": {},
    "HorizontalPodAutoscaler": {"desiredReplicas": 0},
    "PodDisruptionBudget": {
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "disruptionsAllowed": 0,
        "expectedPods": 0,
    },
    "ResourceQuota": {},
}


@pytest.mark.parametrize("kind", FIRST)
def test_a_new_object_shows_a_status(kind: str) -> None:
    described = next(each for each in CATALOG if each.kind == kind)
    obj = copy.deepcopy(SAMPLES[kind])
    obj["metadata"]["namespace"] = "default"
    obj["status"] = {"replicas": 99}  # not the client's to say
    root = f"/apis/{described.group}" if described.group else "/api"
    status, made = InProcess().post(f"{root}/{described.version}/namespaces/default/{described.plural}", obj)
    assert status == 201, made
    assert made["status"] == FIRST[kind]
    owned = [entry["fieldsV1"] for entry in made["metadata"].get("managedFields", ())]
    assert not [fields for fields in owned if "f:status" in fields]
