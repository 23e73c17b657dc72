"""Progress, `explain` and conditions name the same reason and the same owner, whatever a pod waits for.

One row per stage and reason, on a plane with its API, in one thread. `hollow` nodes are two of 32 cpu; `bare` is a Node
without an agent: what runs there, the test says.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from fairlead.agent.pod_conditions import Facts, conditions, with_owner
from fairlead.api.users import MASTERS, User
from fairlead.core.times import microtime
from fairlead.model import evidence_rows, reasons
from fairlead.port.request import Reply, Request
from fairlead.schedule.registry import PLUGINS
from tests.inprocess import InProcess
from tests.unit.explain.asking import Asked, explain

Json = dict[str, Any]
SPACE = "/api/v1/namespaces/default"
PLANE = User("system:fairlead", groups=(MASTERS,))
APPS = "/apis/apps/v1/namespaces/default"


class Refusing(InProcess):
    """An API that takes no bindings."""

    def send(self, request: Request, *given: Any, **named: Any) -> Any:
        if request.subresource == "binding":
            told = {"kind": "Status", "reason": "Forbidden", "message": "no bindings today", "code": 403}
            return Reply(403, json.dumps(told).encode())
        return super().send(request, *given, **named)


class AsPlane(InProcess):
    """An API that knows who the plane is: only it may say that a pod is released."""

    def send(self, request: Request, user: User = PLANE) -> Any:
        return super().send(request, user)


def deploy(asked: Asked, replicas: int = 1, paused: bool = False, **spec: Any) -> None:
    container = {"name": "main", "image": "web:1", "resources": {"requests": {"cpu": spec.pop("cpu", "1")}}}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "paused": paused,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [container], **spec},
            },
        },
    }
    create(asked, f"{APPS}/deployments", body)
    asked.run(30)


def create(asked: Asked, path: str, body: Json) -> None:
    code, answer = asked.api.post(path, body)
    assert code == 201, answer


def named(api: str, kind: str, name: str, **rest: Any) -> Json:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **rest}


# What pods wait for


def plain(**spec: Any) -> Callable[[Asked], None]:
    return lambda asked: deploy(asked, **spec)


def quota(asked: Asked) -> None:
    create(asked, f"{SPACE}/resourcequotas", named("v1", "ResourceQuota", "q", spec={"hard": {"pods": "0"}}))
    deploy(asked)


def limit_range(asked: Asked) -> None:
    limits = [{"type": "Container", "max": {"cpu": "500m"}}]
    create(asked, f"{SPACE}/limitranges", named("v1", "LimitRange", "l", spec={"limits": limits}))
    deploy(asked)


def placement_quota(asked: Asked) -> None:
    body = named("fairlead.dev/v1", "PlacementQuota", "q", spec={"hard": {"pods": "0"}})
    create(asked, "/apis/fairlead.dev/v1/namespaces/default/placementquotas", body)
    deploy(asked)


def cordoned(asked: Asked) -> None:
    for number in range(2):
        change(asked, f"/api/v1/nodes/node-{number}", {"spec": {"unschedulable": True}})
    deploy(asked)


def nominated(asked: Asked) -> None:
    """Who is to leave stays where he is, as there is no agent to end him."""
    high = named("scheduling.k8s.io/v1", "PriorityClass", "high", value=9)
    create(asked, "/apis/scheduling.k8s.io/v1/priorityclasses", high)
    bare_node(asked)
    asked.create("low", "8", **ON_BARE)
    asked.run(10)
    deploy(asked, cpu="8", priorityClassName="high", **ON_BARE)


def change(asked: Asked, path: str, patch: Json) -> None:
    code, answer = asked.api.request("PATCH", path, patch, "application/merge-patch+json")
    assert code == 200, answer


ON_BARE: Json = {"nodeSelector": {"bare": "yes"}, "tolerations": [{"operator": "Exists"}]}


def bare_node(asked: Asked) -> None:
    room = {"cpu": "8", "memory": "8Gi", "pods": "9"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    node = named("v1", "Node", "bare", status={"allocatable": room, "capacity": room, "conditions": [ready]})
    node["metadata"]["labels"] = {"bare": "yes"}
    create(asked, "/api/v1/nodes", node)


def bare(asked: Asked, **containers: Any) -> None:
    """On a Node that has no agent; with `containers` its status says what an agent would."""
    bare_node(asked)
    deploy(asked, **ON_BARE)
    if containers:
        [pod] = asked.driver.live_pods()
        status = {**pod["status"], "containerStatuses": [{"name": "main", "ready": False, **containers}]}
        facts = Facts("Pending", True, [], ["main"], [])
        told = conditions(facts, status["conditions"], asked.driver.now)
        status["conditions"] = with_owner(told, {"spec": pod["spec"], "status": status})
        change(asked, f"{SPACE}/pods/{pod['metadata']['name']}/status", {"status": status})
        asked.run(10)


def waiting(reason: str, message: str = "") -> Callable[[Asked], None]:
    return lambda asked: bare(asked, state={"waiting": {"reason": reason, "message": message}})


def silent(seconds: int, nodes: int = 1) -> Callable[[Asked], None]:
    """So many of two nodes are not heard any more; pods bear that for so many seconds."""

    def fall_silent(asked: Asked) -> None:
        policy = named(
            "fairlead.dev/v1", "EvidencePolicy", evidence_rows.NAME, spec=evidence_rows.default_spec()
        )
        asked.api.post("/apis/fairlead.dev/v1/evidencepolicies", policy)
        create(asked, "/api/v1/namespaces", named("v1", "Namespace", "kube-node-lease"))
        asked.api.__class__ = AsPlane
        bears = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
        deploy(asked, 1 if nodes == 1 else 2, tolerations=[{**bears, "tolerationSeconds": seconds}])
        for pod in asked.driver.live_pods()[:nodes]:
            node = pod["spec"]["nodeName"]
            lease = {
                "holderIdentity": node,
                "leaseDurationSeconds": 40,
                "renewTime": microtime(asked.driver.now),
            }
            path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
            create(asked, path, named("coordination.k8s.io/v1", "Lease", node, spec=lease))
        asked.run(90)

    return fall_silent


def unanswered(asked: Asked) -> None:
    asked.api.__class__ = Refusing
    deploy(asked)


class Case(NamedTuple):
    reason: str
    make: Callable[[Asked], None]
    owner: str = ""  # where the table leaves it to the refusals


CASES = (
    Case("WaitingForResourceQuota", quota),
    Case("WaitingForLimitRange", limit_range),
    Case("WaitingForPriorityClass", plain(priorityClassName="none-such")),
    Case("DeploymentPaused", plain(paused=True)),
    Case("SchedulingGated", plain(schedulingGates=[{"name": "wait"}])),
    Case("OtherScheduler", plain(schedulerName="mine"), "scheduler mine"),
    Case("Unschedulable", plain(nodeSelector={"disk": "none-such"}), "user or node-admin or autoscaler"),
    Case("Unschedulable", plain(cpu="99"), "autoscaler or user"),
    Case("Unschedulable", placement_quota, "quota-admin"),
    Case("Unschedulable", cordoned, "node-admin"),
    Case("SchedulingRetrying", unanswered),
    Case("Nominated", nominated),
    Case("NotStarted", bare, "agent of bare"),
    Case("NodeUnknown", silent(300)),
    Case("Braked", silent(0, 2)),
    Case("CrashLoopBackOff", waiting("CrashLoopBackOff", "back-off 10s")),
    Case("CreateContainerConfigError", waiting("CreateContainerConfigError", 'configmap "c" not found')),
    Case("FailedMount", waiting("ContainerCreating", 'MountVolume.SetUp failed for volume "v" : no')),
    Case("CreateContainerError", waiting("CreateContainerError", "no such user")),
    Case("NotReady", lambda asked: bare(asked, state={"running": {}})),
)


@pytest.mark.parametrize("case", CASES, ids=[f"{each.reason}-{each.owner}" for each in CASES])
def test_progress_explain_and_conditions_say_the_same(case: Case) -> None:
    asked = Asked()
    case.make(asked)
    asked.run(5)
    [row] = [each for each in reasons.TABLE if each.reason == case.reason]
    expected = (case.reason, case.owner or row.owner)
    workload = asked.api.get(f"{APPS}/deployments/web")[1]
    told = workload["status"]["progress"]["limit"]
    assert (told["reason"], told["owner"]) == expected
    pods = asked.driver.live_pods()
    if row.stage != reasons.DESIRED:
        name = workload["status"]["progress"]["pending"][0]["pod"]
        standing = explain(asked.sources, "default", name)["standing"]
        assert (standing["reason"], standing["owner"]) == expected
        assert standing["stage"] == told["stage"]
        [holder] = [pod for pod in pods if pod["metadata"]["name"] == name]
    else:
        assert pods == []
        holder = workload
    if row.condition:
        [shown] = [each for each in holder["status"]["conditions"] if each["type"] == row.condition]
        assert (shown["reason"], shown["owner"]) == (row.word or row.reason, expected[1])


def test_scheduling_plugins_concern_nobody_whom_the_table_does_not_know() -> None:
    for plugin in PLUGINS.values():
        assert set(plugin.concerns) <= reasons.CONCERNED, plugin.name
