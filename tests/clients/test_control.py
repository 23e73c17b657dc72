"""`fairlead control` as a second process beside an API alone: it places, rolls out, dies, comes back, and takes turns.

With `--capabilities kubernetes` it uses nothing that is Fairlead's own; the server is one without controllers.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.core.times import microtime
from fairlead.model.kinds.reservation import name_for
from tests import nursery
from tests.clients.plain_kubernetes import PlainKubernetes
from tests.e2e.testimony import eventually
from tests.running import FAIRLEAD, Running

PODS = "/api/v1/namespaces/default/pods"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/fairlead-control"
RESERVATIONS = "/apis/fairlead.dev/v1/namespaces/default/reservations"
NARROW = ("--capabilities", "kubernetes")
WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 6
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: "web:1", resources: {requests: {cpu: "1"}}}]
"""


class Control:
    """`fairlead control` in a process of its own; what it says is in a file."""

    def __init__(self, server: Running | PlainKubernetes, folder: Path, name: str, *more: str) -> None:
        self.directory = folder / name
        self._said = folder / f"{name}.said"
        words: list[str | Path] = [FAIRLEAD, "control", "--kubeconfig", server.kubeconfig, "--identity", name]
        with open(self._said, "ab") as file:
            self.process = nursery.start([*words, "--data-dir", self.directory, *more], file)

    @property
    def said(self) -> str:
        return self._said.read_text()

    def decisions(self, *more: str) -> list[dict[str, Any]]:
        words: list[str | Path] = [
            nursery.command(),
            "decisions",
            "--data-dir",
            self.directory,
            "-o",
            "json",
            "--limit",
            "10000",
            *more,
        ]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        return [item["record"] for item in json.loads(done.stdout)["items"]]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(30)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    server = Running(tmp_path / "data", arguments=("--without-controllers", "--hollow-nodes", "3"))
    yield server
    server.stop()


@pytest.fixture
def started(server: Running, tmp_path: Path) -> Iterator[Any]:
    running: list[Control] = []

    def start(name: str, *more: str) -> Control:
        running.append(Control(server, tmp_path, name, *more))
        return running[-1]

    yield start
    for each in running:
        if each.process.poll() is None:
            each.kill()


def free_lease(server: Running) -> None:
    """As if it had run out, which takes 20 s: that nobody leads before is shown by `of_two_one_leads`, and that the
    same name waits as well by `tests/unit/control/test_unfenced.py`."""
    assert server.request("DELETE", LEASE)[0] == 200


def test_one_that_was_killed_can_be_started_again(server: Running, started: Any) -> None:
    """Its server goes on telling what it heard of it last, which is no scheduler of the server's own."""
    first = started("first")
    eventually(
        lambda: "first leads" in first.said
    )  # or the second, which finds the lease free, leads at once
    eventually(lambda: server.request("GET", "/fairlead/v1/queues")[1].get("plane") == "first")
    first.kill()
    second = started("second")
    eventually(lambda: "second stands by" in second.said or second.process.poll() is not None)
    assert second.process.poll() is None, second.said


def placements(server: Running) -> dict[str, str]:
    """uid of each pod -> its node, "" while it has none."""
    pods = server.request("GET", PODS)[1]["items"]
    return {pod["metadata"]["uid"]: pod["spec"].get("nodeName", "") for pod in pods}


def all_placed(server: Running, number: int) -> dict[str, str]:
    def placed() -> dict[str, str]:
        found = placements(server)
        return found if len(found) == number and all(found.values()) else {}

    return eventually(placed)


def server_knows(server: Running, control: Control) -> set[str]:
    """The decisions of that plane that the server keeps, by id."""
    items = server.request("GET", "/fairlead/v1/decisions?before=0&limit=1000")[1]["items"]
    terms = {each["term"] for each in control.decisions() if "term" in each}
    found = (each["record"].get("id", "") for each in items)
    return {each for each in found if each.partition("-")[0] in terms}


@pytest.mark.parametrize("capabilities", [(), NARROW], ids=["fairlead", "kubernetes"])
def test_pods_are_placed_and_a_rollout_completes(
    server: Running, started: Any, capabilities: tuple[str, ...]
) -> None:
    control = started("one", *capabilities)
    server.kubectl("apply", "-f", "-", stdin=WEB)
    server.kubectl("rollout", "status", "deployment/web", "--timeout=90s")
    before = all_placed(server, 6)
    server.kubectl("set", "image", "deployment/web", "main=web:2")
    server.kubectl("rollout", "status", "deployment/web", "--timeout=90s")
    eventually(lambda: len(placements(server)) == 6)
    assert not before.keys() & placements(server).keys()

    def placed() -> int:
        decided = control.decisions("--controller", "scheduler")
        return sum(each.get("verdict") == "Placed" for each in decided)

    eventually(lambda: placed() >= 12)
    if capabilities:
        assert not server_knows(server, control), "nothing of Fairlead's own is used"
    else:
        eventually(
            lambda: (
                server_knows(server, control) == {each["id"] for each in control.decisions() if "id" in each}
            )
        )
        status, told = server.request("GET", "/fairlead/v1/timeline/deployments.apps/default/web")
        assert status == 200
        assert {"deployment", "scheduler"} <= {
            each["who"] for each in told["moments"] if "is bound" in each["what"]
        } | {each["who"] for each in told["moments"] if "replicas" in each["what"]}
        assert (
            server.request("GET", "/fairlead/v1/debug/deployments.apps/default/web")[1]["boundary"]
            == "nothing stops it"
        )
        assert "scheduler" in server.request("GET", "/fairlead/v1/coupling/scheduler")[1]["controllers"]
        queues = server.request("GET", "/fairlead/v1/queues")[1]
        assert (queues["plane"], queues["leads"]) == ("one", True)
        pod = server.request("GET", PODS)[1]["items"][0]
        name, node = pod["metadata"]["name"], pod["spec"]["nodeName"]
        status, told = server.request("GET", f"/fairlead/v1/why-not/default/{name}/{node}")
        assert (status, told["chosen"]) == (200, node)
    annotations = server.request("GET", LEASE)[1]["metadata"].get("annotations", {})
    assert ("fairlead.dev/fencing" in annotations) is bool(capabilities)
    assert server.request("GET", f"{LEASE}-fence")[0] == (404 if capabilities else 200)
    assert ("this API has no fences" in control.said) is bool(capabilities)


def test_an_experiment_of_the_server_strikes_it(server: Running, started: Any) -> None:
    control = started("one")
    settings = {
        "kind": "PlaneSettings",
        "metadata": {"name": "default"},
        "spec": {"chaos": {"allowed": True}},
    }
    own = "/apis/fairlead.dev/v1"
    status, said = server.request(
        "POST", f"{own}/planesettings", {"apiVersion": "fairlead.dev/v1", **settings}
    )
    assert status == 201, said
    spec = {
        "faults": [{"name": "throttled", "percent": 100}, {"name": "watch_lag", "percent": 50}],
        "controllers": ["scheduler"],
        "resources": ["replicasets.apps"],
        "seconds": 60,
        "reason": "a drill",
    }
    drill = {"kind": "ChaosExperiment", "metadata": {"name": "drill"}, "spec": spec}
    path = f"{own}/chaosexperiments"
    status, said = server.request("POST", path, {"apiVersion": "fairlead.dev/v1", **drill})
    assert status == 201, said
    eventually(lambda: "an experiment injects faults" in control.said)
    server.kubectl("apply", "-f", "-", stdin=WEB)

    def injected() -> set[str]:
        told = server.request("GET", f"{path}/drill")[1].get("status", {}).get("injected", ())
        return {each["name"] for each in told}

    eventually(lambda: "throttled" in injected())
    assert not any(placements(server).values()), "no binding came through"
    assert server.request("DELETE", f"{path}/drill")[0] == 200
    server.kubectl("rollout", "status", "deployment/web", "--timeout=90s")
    assert "the experiment has ended" in control.said


def test_killed_and_started_again_it_places_nothing_twice(server: Running, started: Any) -> None:
    first = started("one", *NARROW)
    server.kubectl("apply", "-f", "-", stdin=WEB)
    eventually(lambda: any(placements(server).values()))
    first.kill()  # in the midst of it
    known = {uid: node for uid, node in placements(server).items() if node}
    free_lease(server)
    started("one", *NARROW)
    server.kubectl("scale", "deployment/web", "--replicas=9")
    found = all_placed(server, 9)
    assert known.items() <= found.items(), "who had a node keeps it"
    status, log = server.request("GET", "/fairlead/v1/audit?limit=10000")
    assert status == 200
    bound = [
        line["record"]["object"]["uid"]
        for line in log["items"]
        if line["record"]["object"].get("subresource") == "binding" and line["record"]["code"] < 300
    ]
    assert sorted(bound) == sorted(found), "one binding each"


def test_of_two_one_leads_and_the_other_takes_over(server: Running, started: Any) -> None:
    first = started("one", *NARROW)
    eventually(lambda: "one leads" in first.said)
    second = started("two", *NARROW)
    eventually(lambda: "two stands by" in second.said)
    server.kubectl("apply", "-f", "-", stdin=WEB)
    all_placed(server, 6)
    assert first.decisions("--controller", "scheduler")
    assert not second.decisions(), "who stands by decides nothing"
    first.kill()
    server.kubectl("scale", "deployment/web", "--replicas=8")
    all_placed(server, 8)
    assert "two leads" in second.said
    assert server.request("GET", LEASE)[1]["spec"]["holderIdentity"] == "two"


@pytest.mark.parametrize("long", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_a_server_that_was_away_is_served_again(started: Any, server: Running, long: bool) -> None:
    """`long`: for longer than the lease lasts. Lists are then tried again ever more rarely, and it leads anew."""
    control = started("one", *NARROW)
    eventually(lambda: "one leads" in control.said)
    server.kill()
    if long:
        eventually(lambda: "one stands by" in control.said.split("one leads", 1)[1])
    again = Running(server.directory, server.port, arguments=("--without-controllers", "--hollow-nodes", "3"))
    server.process = again.process  # ended by the fixture
    server.kubectl("apply", "-f", "-", stdin=WEB)
    all_placed(server, 6)
    assert re.findall("one (leads|stands by)", control.said)[-1] == "leads"


def test_a_reservation_is_marked_by_a_second_write(server: Running, started: Any) -> None:
    control = started("one", *NARROW, "--only", "scheduler")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {
            "schedulingGates": [{"name": "wait"}],
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
        },
    }
    uid = server.request("POST", PODS, pod)[1]["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid}
    spec = {"owner": owner, "intent": "test", "nodeSelector": {}, "requests": {"cpu": "1"}, "ttlSeconds": 600}
    room = name_for(uid, "test")
    body = {"apiVersion": "fairlead.dev/v1", "kind": "Reservation", "metadata": {"name": room}, "spec": spec}
    status, made = server.request("POST", RESERVATIONS, body)
    assert status == 201, made["message"]

    def phase() -> str:
        return str(server.request("GET", f"{RESERVATIONS}/{room}")[1].get("status", {}).get("phase", ""))

    eventually(lambda: phase() == "Active")
    server.kubectl("annotate", "pod", "p", f"fairlead.dev/reservation={room}")
    server.kubectl(
        "patch", "pod", "p", "--type=json", "-p", '[{"op":"remove","path":"/spec/schedulingGates"}]'
    )
    eventually(lambda: phase() == "Allocated")
    found = server.request("GET", f"{PODS}/p")[1]
    kept = server.request("GET", f"{RESERVATIONS}/{room}")[1]
    assert found["metadata"]["annotations"]["fairlead.dev/bound-with"] == room
    assert kept["status"]["allocatedTo"]["uid"] == uid
    assert kept["status"]["nodeName"] == found["spec"]["nodeName"]
    assert {each["controller"] for each in control.decisions()} <= {
        "plane", "scheduler", "reservation", "placement-quota", "plane-settings", "scheduling-policy",
    }  # fmt: skip


def test_pods_that_name_another_scheduler_are_left_alone(server: Running, started: Any) -> None:
    started("one", *NARROW, "--only", "scheduler", "--scheduler-name", "other")
    for name, scheduler in (("mine", "other"), ("theirs", "default-scheduler")):
        spec = {"schedulerName": scheduler, "containers": [{"name": "c", "image": "i"}]}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
        assert server.request("POST", PODS, body)[0] == 201
    eventually(lambda: server.request("GET", f"{PODS}/mine")[1]["spec"].get("nodeName"))
    assert not server.request("GET", f"{PODS}/theirs")[1]["spec"].get("nodeName")


def a_pod_of_a_lost_node(server: Running) -> None:
    """Somebody confirmed that nothing of the node runs any more."""
    taint = {"key": "node.kubernetes.io/out-of-service", "value": "confirmed", "effect": "NoExecute"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "lost"}, "spec": {"taints": [taint]}}
    spec = {"nodeName": "lost", "containers": [{"name": "c", "image": "i"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "lost"}, "spec": spec}
    assert server.request("POST", "/api/v1/nodes", node)[0] == 201
    assert server.request("POST", PODS, pod)[0] == 201


def releases(server: Running) -> list[dict[str, Any]]:
    """What the audit says of writes to that pod's status; the pod itself is forgotten soon after."""
    records = [line["record"] for line in server.request("GET", "/fairlead/v1/audit?limit=10000")[1]["items"]]
    where = {"resource": "pods", "subresource": "status", "name": "lost"}
    return [each for each in records if where.items() <= each["object"].items()]


def test_it_writes_in_its_own_name_and_may_release_pods(server: Running, started: Any) -> None:
    control = started("one", *NARROW)
    a_pod_of_a_lost_node(server)
    [release] = eventually(lambda: releases(server))
    assert release["code"] == 200
    assert release["user"] == "admin"
    assert release["impersonatedUser"] == "system:fairlead:release"
    assert release["userAgent"].startswith("fairlead-control/")
    assert "its writes carry the name system:fairlead:CONTROLLER" in control.said


def test_where_the_kind_is_there_the_first_evidence_policy_is_made(server: Running, started: Any) -> None:
    policy = "/apis/fairlead.dev/v1/evidencepolicies/default"
    assert server.request("DELETE", policy)[0] == 200
    started("one", *NARROW)
    eventually(lambda: server.request("GET", policy)[0] == 200)


def test_where_it_may_not_impersonate_it_says_so_and_works_on(server: Running, tmp_path: Path) -> None:
    plain = PlainKubernetes(server, tmp_path, impersonates=False)
    control = Control(plain, tmp_path, "one")
    try:
        eventually(lambda: "one leads" in control.said)
        assert "the kubeconfig's user may not impersonate" in control.said
    finally:
        control.kill()
        plain.close()


def test_an_api_without_anything_of_fairleads_own_is_enough(server: Running, tmp_path: Path) -> None:
    plain = PlainKubernetes(server, tmp_path)
    control = Control(plain, tmp_path, "one")
    try:
        server.kubectl("apply", "-f", "-", stdin=WEB)
        server.kubectl("rollout", "status", "deployment/web", "--timeout=90s")
        all_placed(server, 6)
        assert plain.foreign == []
        assert len(plain.bindings) == 6
        assert all(set(each["metadata"]) == {"name", "uid"} for each in plain.bindings)
        assert "not served there, so taken to be empty" in control.said
        assert "placementquotas.fairlead.dev" in control.said
        assert not [line for line in control.said.splitlines() if "trying again" in line]
    finally:
        control.kill()
        plain.close()


BARE = """#!{python}
import sys
from fairlead.model.served import Served
from fairlead.reconcile.custom_definition import definition_decider
from fairlead.runtime.server import serving as server

# It waits for nobody's garbage collection, as Kubernetes' API server does.
server.serving_deciders = lambda: (definition_decider(Served(), awaits_dependents=False),)
from fairlead.cli.main import main
sys.exit(main())
"""


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[PlainKubernetes]:
    """An API that nobody works beside: no garbage is collected, and no namespace emptied. Definitions are finalized, as
    Kubernetes' API server does by itself."""
    script = tmp_path / "bare"
    script.write_text(BARE.format(python=sys.executable))
    script.chmod(0o700)
    arguments = ("--without-controllers", "--hollow-nodes", "2")
    server = Running(tmp_path / "data", arguments=arguments, program=(script,))
    plain = PlainKubernetes(server, tmp_path)
    yield plain
    plain.close()
    server.stop()


def test_nodes_garbage_and_namespaces_are_seen_to_where_nobody_else_does(
    bare: PlainKubernetes, tmp_path: Path
) -> None:
    server = bare.server
    control = Control(bare, tmp_path, "one")
    try:
        new = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "new"}, "spec": {"taints": [new]}}
        node["status"] = {"conditions": [{"type": "Ready", "status": "True"}]}
        assert server.request("POST", "/api/v1/nodes", node)[0] == 201
        spec = {"holderIdentity": "new", "leaseDurationSeconds": 40, "renewTime": microtime(time.time())}
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "new"},
            "spec": spec,
        }
        assert (
            server.request("POST", LEASE.rpartition("/")[0].replace("kube-system", "kube-node-lease"), lease)[
                0
            ]
            == 201
        )
        server.kubectl("create", "namespace", "team")
        server.kubectl("create", "configmap", "settings", "-n", "team")
        server.kubectl("apply", "-f", "-", stdin=WEB)
        all_placed(server, 6)
        eventually(lambda: new not in server.request("GET", "/api/v1/nodes/new")[1]["spec"].get("taints", []))
        server.kubectl("delete", "deployment", "web", "--wait=false")
        server.kubectl("delete", "namespace", "team", "--wait=false")
        eventually(lambda: not placements(server))
        eventually(lambda: server.request("GET", "/api/v1/namespaces/team")[0] == 404)
        assert bare.foreign == []
    finally:
        control.kill()


@pytest.mark.parametrize(
    ("lease", "more", "advice"),
    [
        ("kube-controller-manager", (), "add --only scheduler"),
        ("kube-scheduler", ("--only", "scheduler"), "add --scheduler-name"),
    ],
)
def test_it_refuses_to_work_beside_those_of_kubernetes_that_do_the_same(
    server: Running, tmp_path: Path, lease: str, more: tuple[str, ...], advice: str
) -> None:
    spec = {"holderIdentity": "them", "leaseDurationSeconds": 600, "renewTime": microtime(time.time())}
    body = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": lease},
        "spec": spec,
    }
    assert server.request("POST", LEASE.rpartition("/")[0], body)[0] == 201
    control = Control(server, tmp_path, "one", *more)
    assert control.process.wait(60) == 1
    assert f"{lease} is at work there" in control.said
    assert advice in control.said


def test_it_refuses_to_work_where_somebody_does_already(tmp_path: Path) -> None:
    server = Running(tmp_path / "data")
    try:
        control = Control(server, tmp_path, "one")
        assert control.process.wait(60) == 1
        assert "start it with --without-controllers" in control.said
    finally:
        server.stop()


def test_a_run_of_a_runbook_goes_on_and_names_who_has_taken_note(server: Running, started: Any) -> None:
    """Runs are carried out by the server, which has the rights of who asked; what they wait for is done elsewhere."""
    runbook = {
        "apiVersion": "fairlead.dev/v1",
        "kind": "Runbook",
        "metadata": {"name": "calm"},
        "spec": {
            "summary": "nothing is rolled out for a while",
            "read": [{"name": "web", "apiVersion": "apps/v1", "kind": "Deployment", "objectName": "web"}],
            "preconditions": [{"name": "there", "expression": "web != null", "message": "there is no web"}],
            "steps": [
                {
                    "name": "pause",
                    "create": {
                        "object": {
                            "apiVersion": "fairlead.dev/v1",
                            "kind": "SchedulerOverride",
                            "spec": {
                                "target": "deployment/web",
                                "reason": "a drill",
                                "expiresAfter": "10m",
                                "changes": {"pauseRollout": True},
                            },
                        }
                    },
                }
            ],
            "postconditions": [{"name": "there", "expression": "web != null", "message": "web is gone"}],
        },
    }
    server.kubectl("apply", "-f", "-", stdin=WEB)
    space = "/apis/fairlead.dev/v1/namespaces/default"
    assert server.request("POST", "/apis/fairlead.dev/v1/runbooks", runbook)[0] == 201
    run = {"apiVersion": "fairlead.dev/v1", "kind": "RunbookRun", "metadata": {"name": "one"}}
    assert server.request("POST", f"{space}/runbookruns", {**run, "spec": {"runbook": "calm"}})[0] == 201
    started("elsewhere")

    def phase() -> Any:
        return server.request("GET", f"{space}/runbookruns/one")[1].get("status", {}).get("phase")

    def told() -> Any:
        (found,) = server.request("GET", f"{space}/scheduleroverrides")[1]["items"]
        conditions = found.get("status", {}).get("conditions", ())
        return {each["type"]: each["message"] for each in conditions}.get("SchedulerOverrideObserved")

    eventually(lambda: phase() == "Succeeded")
    eventually(lambda: told() == "by deployment of elsewhere")
