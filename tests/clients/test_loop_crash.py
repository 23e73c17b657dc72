"""kill -9 of everything in the middle of a rollout: the next process goes on where the objects are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.converging import eventually, is_live, items, moments, now_at, rolled_out
from tests.clients.kubectl import Operator
from tests.clients.manifests import workload
from tests.running import Running, need_kubectl

ARGUMENTS = ("--hollow-nodes", "1")
WANTED, SURGE = 4, 1


def _renewed(server: Running) -> int:
    """New replicas that the status tells of. Asked often and without kubectl: it is a matter of moments."""
    _, web = server.request("GET", "/apis/apps/v1/namespaces/crash/deployments/web")
    status = web["status"] if web["status"].get("observedGeneration") == 2 else {}
    return int(status.get("updatedReplicas", 0))


@pytest.mark.parametrize("ready", [pytest.param(1, marks=pytest.mark.soak), 3])
def test_a_rollout_that_was_cut_off_ends_as_if_it_had_not_been(tmp_path: Path, ready: int) -> None:
    """`ready`: how many new replicas there are, at least, when it happens."""
    need_kubectl()
    server = Running(tmp_path / "data", arguments=ARGUMENTS)
    kubectl = Operator(server.kubeconfig)
    kubectl("create namespace crash")
    team = kubectl.inside("crash")
    since = now_at(team)
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": SURGE, "maxUnavailable": 0}}
    team("create -f -", workload("Deployment", "web", replicas=WANTED, strategy=rolling))
    rolled_out(team, "deploy/web")
    team("set image deploy/web main=web:2")
    eventually(lambda: _renewed(server) >= ready)
    server.kill()

    server = Running(tmp_path / "data", server.port, arguments=ARGUMENTS)
    try:
        rolled_out(team, "deploy/web")
        pods = eventually(lambda: len(found := items(team, "pods")) == WANTED and found)
        assert {pod["spec"]["containers"][0]["image"] for pod in pods} == {"web:2"}
        sets = {each["spec"]["replicas"] for each in items(team, "rs")}
        assert sets == {0, WANTED}
        assert max(sum(map(is_live, pods)) for pods in moments(team, since)) == WANTED + SURGE
        assert server.stop() == 0
    finally:
        server.process.kill()
