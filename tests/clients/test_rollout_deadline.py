"""A rollout that is late is paused and keeps what runs, until somebody does something about it; with kubectl."""

from __future__ import annotations

import json
from typing import Any

from tests.clients.converging import eventually, is_live, is_ready, items, rolled_out
from tests.clients.kubectl import Operator
from tests.clients.manifests import workload

ARGUMENTS = ("--hollow-nodes", "2")
CITED = "EvidencePolicy/default row RolloutDeadline"


def _progressing(team: Operator) -> Any:
    (found,) = items(team, "deployments")
    return next(each for each in found["status"]["conditions"] if each["type"] == "Progressing")


def _sizes(team: Operator) -> list[int]:
    return sorted(each["spec"]["replicas"] for each in items(team, "replicasets"))


def test_a_late_rollout_is_paused_and_undone(team: Operator) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
    team(
        "create -f -", workload("Deployment", "web", replicas=4, progressDeadlineSeconds=2, strategy=strategy)
    )
    rolled_out(team, "deploy/web")
    nowhere = {"spec": {"template": {"spec": {"nodeSelector": {"disk": "none"}}}}}
    team(f"patch deployment web --type=merge -p '{json.dumps(nowhere)}'")
    eventually(lambda: CITED in _progressing(team)["message"])
    assert _progressing(team)["reason"] == "ProgressDeadlineExceeded"
    assert "exceeded its progress deadline" in team.refused("rollout status deployment web")
    told = eventually(
        lambda: [
            each["message"] for each in items(team, "events") if each["reason"] == "ProgressDeadlineExceeded"
        ]
    )
    assert CITED in told[-1]
    assert sum(is_live(each) and is_ready(each) for each in items(team, "pods")) == 3
    assert _sizes(team) == [2, 3]
    # Somebody takes an old pod away for good: no new one is made for it.
    (old,) = [
        each["metadata"]["name"] for each in items(team, "replicasets") if each["spec"]["replicas"] == 3
    ]
    team(f"scale replicaset {old} --replicas=2")
    eventually(lambda: sum(is_live(each) and is_ready(each) for each in items(team, "pods")) == 2)
    assert CITED in _progressing(team)["message"]
    assert _sizes(team) == [2, 2]
    team("rollout undo deployment web")
    assert rolled_out(team, "deploy/web") == 'deployment "web" successfully rolled out'
    assert _progressing(team)["reason"] == "NewReplicaSetAvailable"
    assert _sizes(team) == [0, 4]
