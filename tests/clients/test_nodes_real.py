"""kubectl against nodes that run something: what it shows and does is what happens to processes of this machine."""

from __future__ import annotations

import http.client
import socket
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.core.times import parse_time
from fairlead.reconcile.nodes.marks import STARTING_SECONDS
from tests.clients.converging import items, names, rolled_out
from tests.clients.kubectl import Operator
from tests.e2e.testimony import Testimony, deployment, end_all, eventually
from tests.running import Running, need_kubectl

NODES = ("--nodes", "3", "--zones", "a,b", "--no-sample")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    need_kubectl()
    server = Running(tmp_path_factory.mktemp("plane") / "data", arguments=NODES)
    try:
        yield server
        assert server.stop() == 0
    finally:
        end_all(server.directory)


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Testimony]:
    told = Testimony(tmp_path / "told")
    yield told
    told.never_twice()


def web(replicas: int) -> list[dict[str, Any]]:
    """A web server that says which pod it is, and its Service."""
    labels = {"app": "web"}
    script = (
        "import http.server, os\n"
        "class H(http.server.BaseHTTPRequestHandler):\n"
        "    def do_GET(self):\n"
        "        body = os.environ['POD_NAME'].encode()\n"
        "        self.send_response(200); self.send_header('Content-Length', str(len(body)))\n"
        "        self.end_headers(); self.wfile.write(body)\n"
        "http.server.ThreadingHTTPServer((os.environ['POD_IP'], 8080), H).serve_forever()\n"
    )
    container = {
        "name": "web",
        "image": "process",
        "command": [sys.executable, "-I", "-S", "-c", script],
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        ],
        "ports": [{"containerPort": 8080}],
        "readinessProbe": {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1},
    }
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    made = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"selector": labels, "ports": [{"port": 8080}]},
    }
    return [made, service]


def test_nodes_that_become_ready_soon_after_they_came_raise_no_alarm(kubectl: Operator) -> None:
    eventually(lambda: len(items(kubectl, "nodes")) == 3)  # kubectl wait refuses where there is nothing yet
    kubectl("wait --for=condition=Ready nodes --all --timeout=90s")
    soon = set()
    for node in items(kubectl, "nodes"):
        (ready,) = [each for each in node["status"]["conditions"] if each["type"] == "Ready"]
        made, since = node["metadata"]["creationTimestamp"], ready["lastTransitionTime"]
        if parse_time(since) - parse_time(made) < STARTING_SECONDS - 1:
            soon.add(node["metadata"]["name"])
    alarms = [each for each in items(kubectl, "events") if each["involvedObject"]["kind"] == "Node"]
    warned = {each["involvedObject"]["name"] for each in alarms if each["reason"] == "NodeNotReady"}
    assert warned & soon == set()


def test_nodes_are_ready_and_in_their_zones(kubectl: Operator) -> None:
    eventually(lambda: len(items(kubectl, "nodes")) == 3)
    kubectl("wait --for=condition=Ready node local-1 local-2 local-3 --timeout=90s")
    zones = {
        node["metadata"]["name"]: node["metadata"]["labels"]["topology.kubernetes.io/zone"]
        for node in items(kubectl, "nodes")
    }
    assert zones == {"local-1": "a", "local-2": "b", "local-3": "a"}
    eventually(lambda: names(kubectl.inside("kube-node-lease"), "leases") == set(zones))


def test_pods_are_processes_and_end_with_what_made_them(team: Operator, told: Testimony) -> None:
    team("create -f -", deployment(told.directory, "w", 3))
    rolled_out(team, "deploy/w")
    pods = sorted(pod["metadata"]["name"] for pod in items(team, "pods"))
    eventually(lambda: told.running() == pods)  # a process without a probe is ready before it has said a word
    team("scale deploy w --replicas=1")
    eventually(lambda: len(told.running()) == 1)
    team("delete deploy w")
    team("wait --for=delete pods -l app=w --timeout=90s")
    assert told.running() == []
    assert all([word for word, _ in told.lines(name)] == ["start", "stop"] for name in told.names)


def test_a_service_leads_to_its_pods(team: Operator) -> None:
    team("create -f -", web(2))
    rolled_out(team, "deploy/web")
    address = team.asked("get service web -o jsonpath={.spec.clusterIP}")
    pods = {pod["metadata"]["name"] for pod in items(team, "pods")}
    seen: set[str] = set()

    def asked() -> bool:
        try:
            with urllib.request.urlopen(f"http://{address}:8080/", timeout=5) as answer:
                seen.add(answer.read().decode())
        except (OSError, http.client.HTTPException):
            return False  # the endpoints are on their way
        return seen == pods

    eventually(asked)
    team("delete deploy web")
    eventually(lambda: not _connects(address))


def _connects(address: str) -> bool:
    try:
        with socket.create_connection((address, 8080), timeout=5) as made:
            made.sendall(b"GET / HTTP/1.0\r\n\r\n")
            return bool(made.recv(1))
    except OSError:
        return False


def test_a_drained_node_has_no_processes(team: Operator, told: Testimony) -> None:
    team("create -f -", deployment(told.directory, "w", 3))
    rolled_out(team, "deploy/w")
    node = items(team, "pods")[0]["spec"]["nodeName"]
    done = team.run(f"drain {node} --timeout=90s")
    assert done.code == 0, done.err
    rolled_out(team, "deploy/w")
    eventually(lambda: len(told.running()) == 3)
    placed = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in items(team, "pods")}
    assert sorted(placed) == told.running()
    assert node not in placed.values()
    team(f"uncordon {node}")
    team("delete deploy w")
    team("wait --for=delete pods -l app=w --timeout=90s")
    assert told.running() == []


def test_a_command_that_does_not_exist_is_said_and_tried_again(team: Operator) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "wrong"},
        "spec": {"containers": [{"name": "c", "image": "process", "command": ["/no/such/program"]}]},
    }
    done = team.run("create -f -", pod)
    assert done.code == 0, done.err

    def said() -> str:
        found = team.yaml("get pod wrong")["status"].get("containerStatuses") or [{}]
        return str(found[0])

    eventually(lambda: "/no/such/program" in said() or "StartError" in said())
    team("delete pod wrong --timeout=90s")


def test_an_autoscaler_follows_what_processes_use(team: Operator) -> None:
    """A process that takes memory: the node tells it with its lease, and the autoscaler asks for as many as follow."""
    script = "import time; held = bytearray(64 << 20); time.sleep(600)"
    container = {"name": "main", "image": "process", "command": [sys.executable, "-I", "-S", "-c", script]}
    labels = {"app": "holder"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 1},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "holder"}, "spec": spec}
    team("create -f -", made)
    rolled_out(team, "deploy/holder")
    memory = {"name": "memory", "target": {"type": "AverageValue", "averageValue": "16Mi"}}
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "holder"}
    wanted = {
        "scaleTargetRef": reference,
        "maxReplicas": 2,
        "metrics": [{"type": "Resource", "resource": memory}],
    }
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "holder"},
    }
    team("create -f -", {**scaler, "spec": wanted})
    team("wait --for=jsonpath={.spec.replicas}=2 deployment/holder --timeout=120s")
    team("wait --for=condition=ScalingActive hpa/holder --timeout=120s")
    (found,) = items(team, "hpa")
    current = found["status"]["currentMetrics"][0]["resource"]["current"]["averageValue"]
    assert int(current) > 64 << 20
