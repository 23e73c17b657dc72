"""A node is lost and comes back, with real processes: the plane repairs step by step, and each step can be read.

Three nodes; on one of them the agent is stopped, so nobody renews its lease and its supervisors end, by themselves, the
pods of which at most one may run. What ran, and whether anything that may run once ever ran twice, is judged by locks that the processes hold
(`pod_witness.py`): an at-most-one pod and its replacement share one. Traffic is judged by a client that goes on asking.
The measured times are printed (`pytest -s`), never asserted.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.converging import is_live, is_ready, items, rolled_out
from tests.clients.kubectl import Operator
from tests.clients.test_nodes_real import web
from tests.e2e.testimony import Testimony, agent_pid, deployment, end_all, eventually, template
from tests.running import Running, need_kubectl

NODES = ("local-1", "local-2", "local-3")
LEASE_SECONDS, MARGIN_SECONDS = 12, 2
ARGUMENTS = (
    *("--nodes", "3", "--zones", "a,b", "--no-sample"),
    *("--lease-seconds", str(LEASE_SECONDS), "--renew-seconds", "1"),
)
ACTS = {"StopPlacement": 4, "MarkUnknown": 8, "Release": 8, "Forget": 3600}
TOLERATION_SECONDS = 2
ASK_SECONDS, ANSWER_SECONDS = 0.05, 15.0
UNREACHABLE = "node.kubernetes.io/unreachable:NoExecute"
REPLACES = "fairlead.dev/replaces"
Json = dict[str, Any]


class Client:
    """Somebody who asks a Service again and again."""

    def __init__(self, address: str) -> None:
        self._url = f"http://{address}:8080/"
        self._over = threading.Event()
        self.answers: list[tuple[float, str]] = []  # when it was asked, and who answered: "" nobody
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self._thread.start()

    def _go_on(self) -> None:
        while not self._over.wait(ASK_SECONDS):
            at = time.monotonic()
            try:
                with urllib.request.urlopen(self._url, timeout=ANSWER_SECONDS) as answer:
                    self.answers.append((at, answer.read().decode()))
            except (OSError, http.client.HTTPException):
                self.answers.append((at, ""))

    def since(self, moment: float) -> list[str]:
        return [who for at, who in self.answers if at >= moment]

    def stop(self) -> None:
        self._over.set()
        self._thread.join(30)


class Times:
    """When each step was seen, from when the agent was stopped."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self.seen: list[tuple[str, float]] = []

    def once(self, what: str, condition: Callable[[], Any]) -> Any:
        found = eventually(condition, 120)
        self.seen.append((what, time.monotonic() - self._start))
        return found

    def report(self) -> None:
        print()
        for what, after in self.seen:
            print(f"{after:6.1f} s  {what}")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    need_kubectl()
    server = Running(tmp_path / "data", arguments=ARGUMENTS)
    try:
        yield server
        assert server.stop() == 0
    finally:
        end_all(server.directory)


@pytest.fixture
def kubectl(server: Running) -> Operator:
    kubectl = Operator(server.kubeconfig)
    eventually(lambda: len(items(kubectl, "nodes")) == len(NODES))
    kubectl(f"wait --for=condition=Ready node {' '.join(NODES)} --timeout=90s")
    spec = json.loads(kubectl("get evidencepolicy default -o json"))["spec"]
    for row in spec["rows"]:
        if row["name"] == "NodeLeaseSilent":
            row["acts"] = [{"act": act, "afterSeconds": after} for act, after in ACTS.items()]
        elif row["name"] == "NodeFenced":
            row["acts"] = [{"act": "ReleaseAtMostOne", "afterSeconds": MARGIN_SECONDS}]
    spec["zones"]["releasesPerMinute"] = 600
    kubectl("patch evidencepolicy default --type=merge -p '" + json.dumps({"spec": spec}) + "'")
    return kubectl


def tolerant(made: Json, **annotations: str) -> Json:
    inner = made["spec"]["template"]
    inner["metadata"]["annotations"] = annotations
    inner["spec"]["tolerations"] = [
        {
            "key": "node.kubernetes.io/unreachable",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": TOLERATION_SECONDS,
        }
    ]
    return made


def stateful(directory: Path, name: str) -> Json:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "serviceName": name,
            "selector": {"matchLabels": labels},
            "template": template(directory, labels),
        },
    }


def run_everything(kubectl: Operator, server: Running, told: Testimony) -> str:
    """`web` and `w` on all nodes, then `one` and `set`, of which at most one may run, on the node that will be lost."""
    served, service = web(3)
    kubectl("create -f -", [tolerant(served), service, tolerant(deployment(told.directory, "w", 3))])
    rolled_out(kubectl, "deploy/w")
    rolled_out(kubectl, "deploy/web")
    address = kubectl("get service web -o jsonpath={.spec.clusterIP}")
    # All nodes are one machine here, and whoever was first listens for all: an agent, or the server, which knows of the
    # Service no later. A client's own node is not the one that is lost.
    serving = eventually(
        lambda: listener(
            address,
            {server.process.pid: "server", **{agent_pid(server.directory, node): node for node in NODES}},
        )
    )
    lost = next(node for node in NODES if node != serving)
    others = [node for node in NODES if node != lost]
    assert kubectl.run(f"cordon {' '.join(others)}").code == 0
    one = tolerant(deployment(told.directory, "one", 1), **{"fairlead.dev/at-most-one": "true"})
    one["spec"]["strategy"] = {"type": "Recreate"}
    one["spec"]["template"]["spec"]["containers"][0]["command"][-1] = "one"  # one lock, whichever pod it is
    kubectl("create -f -", [one, tolerant(stateful(told.directory, "set"))])
    rolled_out(kubectl, "deploy/one")
    rolled_out(kubectl, "statefulset/set")
    assert kubectl.run(f"uncordon {' '.join(others)}").code == 0
    eventually(lambda: len(told.running()) == 5)
    return lost


def listener(address: str, processes: dict[int, str]) -> str:
    """The name of the one that listens at this address; "" while none does."""
    wanted = "".join(f"{int(part):02X}" for part in reversed(address.split("."))) + ":1F90"
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1] == wanted and fields[3] == "0A":
            for pid, name in processes.items():
                for file in Path(f"/proc/{pid}/fd").iterdir():
                    with contextlib.suppress(FileNotFoundError):
                        if os.readlink(file) == f"socket:[{fields[9]}]":
                            return name
    return ""


def taints(kubectl: Operator, node: str) -> list[str]:
    found = json.loads(kubectl(f"get node {node} -o json"))["spec"].get("taints") or []
    return [f"{each['key']}:{each['effect']}" for each in found]


def suspected(kubectl: Operator, node: str) -> bool:
    """Told by an Event: the taint itself is soon replaced by a stronger one."""
    about = f"involvedObject.kind=Node,involvedObject.name={node},reason=NodeSuspect"
    return bool(items(kubectl, f"events -A --field-selector {about}"))


def condition(found: Json, kind: str) -> Json:
    conditions = found["status"].get("conditions") or ()
    return next(
        (each for each in conditions if each["type"] == kind), {"status": "", "message": "", "reason": ""}
    )


def pods(kubectl: Operator, app: str) -> list[Json]:
    return items(kubectl, f"pods -l app={app}")


def released(kubectl: Operator, app: str, node: str) -> Json:
    """The condition of the pod of `app` on a node; {} while it does not say that it is released."""
    for pod in pods(kubectl, app):
        said = condition(pod, "fairlead.dev/Released")
        if pod["spec"].get("nodeName") == node and said["status"] == "True":
            return said
    return {}


def replacements(kubectl: Operator, app: str) -> list[Json]:
    return [pod for pod in pods(kubectl, app) if REPLACES in pod["metadata"].get("annotations", {})]


def test_a_node_is_lost_and_comes_back(kubectl: Operator, server: Running, tmp_path: Path) -> None:
    told = Testimony(tmp_path / "told")
    lost = run_everything(kubectl, server, told)
    original = {
        app: next(pod for pod in pods(kubectl, app) if pod["spec"]["nodeName"] == lost)
        for app in ("w", "web", "one", "set")
    }
    client = Client(kubectl("get service web -o jsonpath={.spec.clusterIP}"))
    eventually(lambda: len(set(client.since(0)) - {""}) == 3)
    agent = agent_pid(server.directory, lost)
    times, stopped_at = Times(), time.monotonic()
    os.kill(agent, signal.SIGSTOP)
    try:
        _graduated(kubectl, told, times, lost, original)
        healed_at = time.monotonic()
        eventually(lambda: len(client.since(healed_at)) >= 40, 120)
        after = client.since(healed_at)
        during = [who for at, who in client.answers if stopped_at <= at < healed_at]
        times.seen.append(
            (f"{during.count('')} of {len(during)} requests failed meanwhile", healed_at - stopped_at)
        )
        assert after.count("") == 0, "traffic goes to what serves"
    finally:
        os.kill(agent, signal.SIGCONT)
    times.once("SIGCONT: the node is ready and bears no taint", lambda: not taints(kubectl, lost))
    _returned(kubectl, told, times, original)
    client.stop()
    times.report()
    told.never_twice()


def _graduated(
    kubectl: Operator, told: Testimony, times: Times, lost: str, original: dict[str, Json]
) -> None:
    names = {app: pod["metadata"]["name"] for app, pod in original.items()}
    times.once("suspect: nothing new is placed there", lambda: suspected(kubectl, lost))
    times.once("unknown: Ready=Unknown, pods have their grace", lambda: UNREACHABLE in taints(kubectl, lost))
    node = json.loads(kubectl(f"get node {lost} -o json"))
    assert condition(node, "Ready")["status"] == "Unknown"
    said = times.once("the ordinary pods are released", lambda: released(kubectl, "w", lost))
    assert "EvidencePolicy/default row NodeLeaseSilent" in said["message"], said
    times.once(
        "their replacements run", lambda: len(told.running()) >= 3 and len(replacements(kubectl, "w")) == 1
    )
    said = times.once(
        "the at-most-one pod is released, after its deadline", lambda: released(kubectl, "one", lost)
    )
    assert "EvidencePolicy/default row NodeFenced" in said["message"], said
    times.once("and runs elsewhere", lambda: told.runs("one") and len(told.starts("one")) == 2)
    times.once("so does the StatefulSet's", lambda: told.runs("set-0") and len(told.starts("set-0")) == 2)
    times.once(
        "all Deployments are whole",
        lambda: all(_whole(kubectl, app, count) for app, count in _WANTED.items()),
    )
    for app in ("w", "web", "one"):
        (made,) = replacements(kubectl, app)
        assert made["metadata"]["annotations"][REPLACES] == original[app]["metadata"]["uid"]
    assert told.runs(names["w"]), "what may run more than once runs on"
    assert lost not in {pod["spec"].get("nodeName") for app in _WANTED for pod in replacements(kubectl, app)}


_WANTED = {"w": 3, "web": 3, "one": 1}


def _whole(kubectl: Operator, app: str, count: int) -> bool:
    counted = [
        pod for pod in pods(kubectl, app) if condition(pod, "fairlead.dev/Released")["status"] != "True"
    ]
    return len([pod for pod in counted if is_ready(pod)]) == count == len(counted)


def _returned(kubectl: Operator, told: Testimony, times: Times, original: dict[str, Json]) -> None:
    """keep-replacement, the default: the originals are deleted, and nothing else happens."""
    uids = {pod["metadata"]["uid"] for pod in original.values()}

    def settled() -> bool:
        there = [pod for app in original for pod in pods(kubectl, app)]
        return (
            len(there) == 8
            and all(is_live(pod) for pod in there)
            and not uids & {p["metadata"]["uid"] for p in there}
        )

    times.once("the originals are gone, the replacements stay", settled)
    eventually(lambda: len(told.running()) == 5)
    for name in told.names:
        assert len(told.starts(name)) == (2 if name in ("one", "set-0") else 1), f"{name}: {told.lines(name)}"
