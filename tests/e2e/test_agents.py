"""Real nodes, real processes, real signals: whatever is killed or stopped, nothing runs twice and nothing is left over.

Judged from what the processes themselves wrote and the locks they hold (`testimony.py`); then status must agree.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.testimony import Testimony, agent_pid, deployment, end_all, eventually, parent_of
from tests.running import Running

NODES = ("--nodes", "2", "--zones", "a,b", "--no-sample")
LONG_LEASE = (
    "--lease-seconds",
    "60",
    "--renew-seconds",
    "2",
)  # a busy machine must not look like a lost lease
SHORT_LEASE = ("--lease-seconds", "6", "--renew-seconds", "1")
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
PODS = "/api/v1/namespaces/default/pods"


class Plane:
    def __init__(self, folder: Path, lease: tuple[str, ...] = LONG_LEASE) -> None:
        self.data = folder / "data"
        self.told = Testimony(folder / "told")
        self._arguments = (*NODES, *lease)
        self.server: Running

    def start(self, port: int = 0) -> None:
        self.server = Running(self.data, port, arguments=self._arguments)
        eventually(lambda: self.is_ready("local-1") and self.is_ready("local-2"))

    def pods(self) -> list[dict[str, Any]]:
        _, answer = self.server.request("GET", PODS)
        items: list[dict[str, Any]] = answer["items"]
        return items

    def run(self, replicas: int) -> list[str]:
        """A deployment of witnesses, once all of them run and their status says so."""
        status, made = self.server.request(
            "POST", DEPLOYMENTS, deployment(self.told.directory, "w", replicas)
        )
        assert status == 201, made
        eventually(lambda: len(self.told.running()) == replicas)
        eventually(lambda: [pod["status"]["phase"] for pod in self.pods()] == ["Running"] * replicas)
        return self.told.running()

    def remove(self) -> None:
        """Take the deployment away: all end by themselves, and nothing is left."""
        status, _ = self.server.request("DELETE", f"{DEPLOYMENTS}/w")
        assert status == 200
        eventually(lambda: not self.pods())
        assert self.told.running() == []

    def node_of(self, pod: str) -> str:
        return str(next(each["spec"]["nodeName"] for each in self.pods() if each["metadata"]["name"] == pod))

    def is_ready(self, node: str) -> bool:
        """Nothing keeps pods away from it."""
        status, answer = self.server.request("GET", f"/api/v1/nodes/{node}")
        if status != 200 or answer["spec"].get("taints"):
            return False
        conditions = answer["status"]["conditions"]
        return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


@pytest.fixture
def plane(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Plane]:
    plane = Plane(tmp_path, getattr(request, "param", LONG_LEASE))
    try:
        plane.start()
        yield plane
        if plane.server.process.poll() is None:
            assert plane.server.stop() == 0
        assert plane.told.running() == [], "the end of the plane is the end of its pods"
        plane.told.never_twice()
    finally:
        if hasattr(plane, "server") and plane.server.process.poll() is None:
            plane.server.kill()
        end_all(plane.data)


def restarts(pod: dict[str, Any]) -> int:
    return sum(each["restartCount"] for each in pod["status"].get("containerStatuses", ()))


def test_pods_run_and_end(plane: Plane) -> None:
    names = plane.run(3)
    assert names == sorted(pod["metadata"]["name"] for pod in plane.pods())
    addresses = {pod["status"]["podIP"] for pod in plane.pods()}
    assert len(addresses) == 3
    plane.remove()
    for name in names:
        assert [word for word, _ in plane.told.lines(name)] == ["start", "stop"], "each ended gracefully"


def test_a_process_that_is_killed_is_started_again(plane: Plane) -> None:
    (name,) = plane.run(1)
    (first,) = plane.told.starts(name)
    os.kill(first, signal.SIGKILL)
    eventually(lambda: len(plane.told.starts(name)) == 2 and plane.told.runs(name))
    eventually(lambda: [restarts(pod) for pod in plane.pods()] == [1])
    (pod,) = plane.pods()
    ended = pod["status"]["containerStatuses"][0]["lastState"]["terminated"]
    assert ended["exitCode"] == 137
    plane.remove()


def test_a_supervisor_that_is_killed_takes_its_pod_along_and_one_runs_again(plane: Plane) -> None:
    (name,) = plane.run(1)
    (first,) = plane.told.starts(name)
    supervisor = parent_of(first)
    assert supervisor not in (1, agent_pid(plane.data, plane.node_of(name)))
    os.kill(supervisor, signal.SIGKILL)
    eventually(
        lambda: any(len(plane.told.starts(each)) + (each != name) >= 2 for each in plane.told.running())
    )
    assert len(plane.told.running()) == 1
    eventually(lambda: [pod["status"]["phase"] for pod in plane.pods()] == ["Running"])
    plane.remove()


def test_an_agent_that_is_killed_comes_back_and_its_pods_do_not_notice(plane: Plane) -> None:
    names = plane.run(2)
    agent = agent_pid(plane.data, "local-1")
    os.kill(agent, signal.SIGKILL)
    eventually(lambda: agent_pid(plane.data, "local-1") not in (0, agent))
    eventually(lambda: plane.is_ready("local-1"))
    victim = next(name for name in names if plane.node_of(name) == "local-1")
    os.kill(plane.told.starts(victim)[0], signal.SIGKILL)  # the new agent looks after it like the one before
    eventually(lambda: len(plane.told.starts(victim)) == 2 and plane.told.runs(victim))
    assert [len(plane.told.starts(name)) for name in names if name != victim] == [1]
    plane.remove()


def test_a_server_that_is_killed_finds_agents_and_pods_again(plane: Plane) -> None:
    names = plane.run(2)
    plane.server.kill()
    assert plane.told.running() == names
    plane.start(plane.server.port)
    status, _ = plane.server.request(
        "PATCH",
        f"{DEPLOYMENTS}/w",
        {"spec": {"replicas": 3}},
        headers={"Content-Type": "application/merge-patch+json"},
    )
    assert status == 200
    eventually(lambda: len(plane.told.running()) == 3)
    assert [plane.told.starts(name) for name in names] == [[plane.told.starts(name)[0]] for name in names]
    assert sum(restarts(pod) for pod in plane.pods()) == 0
    plane.remove()


@pytest.mark.parametrize("plane", [SHORT_LEASE], indirect=True)
@pytest.mark.parametrize("away", ["agents stopped", "server stopped", "server and agents killed"])
def test_pods_outlive_whoever_looks_after_them_but_for_that_of_which_at_most_one_may_run(
    plane: Plane, away: str
) -> None:
    """For several lengths of the lease: its end is seen by the pod of which at most one may run, which ends."""
    names = plane.run(2)
    one = deployment(plane.told.directory, "one", 1)
    one["spec"]["template"]["metadata"]["annotations"] = {"fairlead.dev/at-most-one": "true"}
    one["spec"]["template"]["spec"]["containers"][0]["command"][-1] = "one"
    assert plane.server.request("POST", DEPLOYMENTS, one)[0] == 201
    eventually(lambda: any(_deadline(pod) == "True" for pod in plane.pods()))
    agents = [agent_pid(plane.data, node) for node in ("local-1", "local-2")]
    stopped = agents if away == "agents stopped" else [plane.server.process.pid]
    if away == "server and agents killed":
        plane.server.kill()
        for agent in agents:
            os.kill(agent, signal.SIGKILL)
    else:
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
    try:
        eventually(lambda: not plane.told.runs("one"))
        assert [name for name in plane.told.running() if name != "one"] == names
    finally:
        if away != "server and agents killed":
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
    if away == "server and agents killed":
        plane.start(plane.server.port)
    eventually(lambda: plane.told.runs("one"))
    assert [len(plane.told.starts(name)) for name in names] == [1, 1]
    assert plane.server.request("DELETE", f"{DEPLOYMENTS}/one")[0] == 200
    plane.remove()


def _deadline(pod: dict[str, Any]) -> str:
    found = [each for each in pod["status"].get("conditions", ()) if each["type"] == "fairlead.dev/Deadline"]
    return str(found[0]["status"]) if found else ""


def test_agents_that_know_another_server_are_replaced_and_their_pods_stay(plane: Plane) -> None:
    names = plane.run(2)
    before = {node: agent_pid(plane.data, node) for node in ("local-1", "local-2")}
    plane.server.kill()
    plane.start()  # on another port: the old agents could not reach it
    eventually(lambda: all(agent_pid(plane.data, node) not in (0, pid) for node, pid in before.items()))
    assert plane.told.running() == names
    assert [len(plane.told.starts(name)) for name in names] == [1, 1]
    plane.remove()
