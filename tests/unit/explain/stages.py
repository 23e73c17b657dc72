"""What pods of a Deployment `web` can wait for, brought about on a plane with its API in one thread.

There are two hollow nodes of 32 cpu; `bare` is a Node without an agent: what runs there, the caller says.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from fairlead.agent.pod.conditions import ConditionFacts, conditions, with_owner
from fairlead.api.access.users import MASTERS, User
from fairlead.cli.objects import NamedObject
from fairlead.cli.resources import ApiResource
from fairlead.core.times import microtime
from fairlead.model.policy import evidence_rows
from fairlead.port.request import Reply, Request
from tests.inprocess import InProcess
from tests.unit.api.admission.policing import PODS, binding, mutating, path_of, validating
from tests.unit.explain.asking import Asked

Json = dict[str, Any]
SPACE = "/api/v1/namespaces/default"
PLANE = User("system:fairlead", groups=(MASTERS,))
APPS = "/apis/apps/v1/namespaces/default"
WEB = NamedObject(
    ApiResource(
        group="apps",
        version="v1",
        plural="deployments",
        singular="deployment",
        kind="Deployment",
        namespaced=True,
    ),
    "default",
    "web",
)


class Refusing(InProcess):
    """An API that takes no bindings."""

    def send(self, request: Request, *given: Any, **named: Any) -> Any:
        if request.subresource == "binding":
            told = {"kind": "Status", "reason": "Forbidden", "message": "no bindings today", "code": 403}
            return Reply(403, json.dumps(told).encode())
        return super().send(request, *given, **named)


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


def refusing_policy(asked: Asked) -> None:
    _policed(asked, validating("none", "false", rules=[PODS]))


def failing_policy(asked: Asked) -> None:
    _policed(asked, mutating("none", "object.no.such.field", rules=[PODS]))


def _policed(asked: Asked, policy: Json) -> None:
    for each in (policy, binding(policy)):
        create(asked, path_of(each), each)
    deploy(asked)


def placement_quota(asked: Asked, **spec: Any) -> None:
    body = named("fairlead.dev/v1", "PlacementQuota", "q", spec={"hard": {"pods": "0"}})
    create(asked, "/apis/fairlead.dev/v1/namespaces/default/placementquotas", body)
    deploy(asked, **spec)


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
        facts = ConditionFacts("Running", True, [], [] if containers.get("ready") else ["main"], [])
        told = conditions(facts, status["conditions"], asked.driver.now)
        status["conditions"] = with_owner(told, {"spec": pod["spec"], "status": status})
        change(asked, f"{SPACE}/pods/{pod['metadata']['name']}/status", {"status": status})
        asked.run(10)


def waiting(reason: str, message: str = "") -> Callable[[Asked], None]:
    return lambda asked: bare(asked, state={"waiting": {"reason": reason, "message": message}})


def as_plane(asked: Asked) -> None:
    """With the rules for silence, and an API that knows who the plane is: only it may say that a pod is released."""
    spec = evidence_rows.default_spec()
    create(
        asked,
        "/apis/fairlead.dev/v1/evidencepolicies",
        named("fairlead.dev/v1", "EvidencePolicy", evidence_rows.NAME, spec=spec),
    )
    create(asked, "/api/v1/namespaces", named("v1", "Namespace", "kube-node-lease"))
    asked.driver.user = PLANE


def lease(asked: Asked, node: str) -> None:
    """It is heard now, and not again until somebody says so."""
    spec = {"holderIdentity": node, "leaseDurationSeconds": 40, "renewTime": microtime(asked.driver.now)}
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    code, _ = asked.api.get(f"{path}/{node}")
    if code == 200:
        change(asked, f"{path}/{node}", {"spec": spec})
    else:
        create(asked, path, named("coordination.k8s.io/v1", "Lease", node, spec=spec))


def silent(seconds: int, nodes: int = 1) -> Callable[[Asked], None]:
    """So many of two nodes are not heard any more; pods bear that for so many seconds."""

    def fall_silent(asked: Asked) -> None:
        as_plane(asked)
        bears = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
        deploy(asked, nodes, tolerations=[{**bears, "tolerationSeconds": seconds}])
        for node in sorted(pod["spec"]["nodeName"] for pod in asked.driver.live_pods()):
            lease(asked, node)
        asked.run(90)

    return fall_silent


def unanswered(asked: Asked) -> None:
    asked.api.__class__ = Refusing
    deploy(asked)
