"""docs/concepts/fraud-batch.md with kubectl: a copy nobody hears of is released, and then replaced by exactly one."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from tests import nursery
from tests.clients.converging import eventually, is_live, items
from tests.clients.kubectl import Operator, table
from tests.clients.manifests import workload
from tests.running import Running

ARGUMENTS = ("--hollow-nodes", "2")
Json = dict[str, Any]


@pytest.fixture
def fairlead(server: Running) -> Callable[[str], str]:
    def run(line: str) -> str:
        environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig)}
        return subprocess.run(
            [nursery.command(), *line.split()],
            env=environment,
            text=True,
            capture_output=True,
            check=True,
            timeout=120,
        ).stdout

    return run


def silent_node(name: str) -> Json:
    room = {"cpu": "32", "memory": "256Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True"}
    status = {"allocatable": room, "conditions": [ready]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def fraud_batch() -> Json:
    made = workload("ReplicaSet", "fraud-batch", replicas=3)
    container = made["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": "20"}}
    return made


def running(team: Operator) -> int:
    ready = (each for pod in items(team, "pods") for each in pod["status"].get("conditions", ()))
    return sum(each["type"] == "Ready" and each["status"] == "True" for each in ready)


def test_a_silent_copy_is_released_and_replaced_by_exactly_one(
    team: Operator, fairlead: Callable[[str], str]
) -> None:
    team("create -f -", silent_node("node-gpu-7"))
    team("create -f -", fraud_batch())
    assert eventually(lambda: running(team) == 2)
    (silent,) = eventually(
        lambda: [pod for pod in items(team, "pods") if pod["spec"].get("nodeName") == "node-gpu-7"]
    )
    team("cordon node-gpu-7")
    team("delete pods --field-selector spec.nodeName=node-gpu-7 --wait=false")
    team("create -f -", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "hollow-2"}})
    assert eventually(lambda: running(team) == 3)
    live = [pod for pod in items(team, "pods") if is_live(pod)]
    assert len(live) == 3
    assert silent["metadata"]["name"] not in {pod["metadata"]["name"] for pod in live}

    about = f"replicasets.apps/{team.namespace}/fraud-batch"
    told = [row["EFFECTS"] for row in table(fairlead(f"decisions --object {about}"))]
    acted = [each for each in told if each != "<none>"]
    assert acted.count("3 Create") == acted.count("1 Create") == 1
    assert acted[acted.index("1 Create") - 1] == "1 ChangeStatus"  # the report comes first
    records = json.loads(fairlead(f"decisions --object {about} -o json"))["items"]
    effects = [effect for item in records for effect in item["record"].get("effects", ())]
    created = [effect for effect in effects if effect.startswith("Create ")]
    assert len(set(created)) == len(created) == 4
