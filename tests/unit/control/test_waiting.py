"""Being refused for something that another object may change is waiting: it is told at once, and ends with the change.

Every kind of object that makes others is held up by every sort of obstacle for longer than any back-off has grown, then
the obstacle goes, and what was missing is there within two seconds. Resyncs and back-offs are minutes away by then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairlead.model.key import Key
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver
from tests.unit.control.test_plane import DEPLOYMENTS, deployment

Json = dict[str, Any]

CORE, APPS, BATCH = "/api/v1/namespaces/default", "/apis/apps/v1/namespaces/default", "/apis/batch/v1"
QUOTAS, PODS = f"{CORE}/resourcequotas", f"{CORE}/pods"
LONG = 700.0  # the back-off has grown to minutes by then


def body(kind: str, name: str, **spec: Any) -> Json:
    versions = {"CronJob": "batch/v1", "Job": "batch/v1", "Service": "v1", "ResourceQuota": "v1"}
    return {
        "apiVersion": versions.get(kind, "apps/v1"),
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def pods_of(labels: Json, **spec: Any) -> Json:
    containers = [{"name": "c", "image": "web:1"}]
    return {"metadata": {"labels": labels}, "spec": {"containers": containers, **spec}}


WEB = {"selector": {"matchLabels": {"app": "web"}}, "template": pods_of({"app": "web"})}
GATES = [{"name": "example.com/later"}]  # such a pod stays where it is
NEVER = pods_of({"app": "web"}, restartPolicy="Never", schedulingGates=GATES)
WORKLOADS: dict[str, tuple[str, Json, int]] = {  # where, what, how many pods
    "ReplicaSet": (f"{APPS}/replicasets", body("ReplicaSet", "web", replicas=3, **WEB), 3),
    "Deployment": (DEPLOYMENTS, deployment(3), 3),
    "StatefulSet": (
        f"{APPS}/statefulsets",
        body("StatefulSet", "web", replicas=3, serviceName="web", **WEB),
        3,
    ),
    "StatefulSet at once": (
        f"{APPS}/statefulsets",
        body("StatefulSet", "web", replicas=3, serviceName="web", podManagementPolicy="Parallel", **WEB),
        3,
    ),
    "DaemonSet": (f"{APPS}/daemonsets", body("DaemonSet", "web", **WEB), 2),
    "Job": (f"{BATCH}/namespaces/default/jobs", body("Job", "web", parallelism=3, template=NEVER), 3),
}


def quota(api: InProcess, **hard: str) -> None:
    named = {name.replace("__", "/").replace("_", "."): value for name, value in hard.items()}
    status, _ = api.post(QUOTAS, body("ResourceQuota", "q", hard=named))
    assert status == 201


def pods(api: InProcess) -> list[Json]:
    found = api.get(PODS)[1]["items"]
    return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]


def condition(found: Json, kind: str) -> Json:
    return next((each for each in found["status"].get("conditions", ()) if each["type"] == kind), {})


def raised(api: InProcess) -> None:
    api.patch(f"{QUOTAS}/q", {"spec": {"hard": {"pods": "9"}}})


def removed(api: InProcess) -> None:
    api.delete(f"{QUOTAS}/q")


def used_less(api: InProcess) -> None:
    for each in ("other-0", "other-1", "other-2"):
        api.delete(f"{PODS}/{each}", {"gracePeriodSeconds": 0})


def narrow_quota(api: InProcess) -> None:
    quota(api, pods="1")


def crowded_quota(api: InProcess) -> None:
    quota(api, pods="4")
    for number in range(3):
        other = {
            "apiVersion": "v1",
            "kind": "Pod",
            **pods_of({}, schedulingGates=GATES),
        }
        other["metadata"] = {"name": f"other-{number}"}
        assert api.post(PODS, other)[0] == 201


Obstacle = tuple[Callable[[InProcess], None], Callable[[InProcess], None]]
OBSTACLES: dict[str, Obstacle] = {
    "quota raised": (narrow_quota, raised),
    "quota removed": (narrow_quota, removed),
    "quota used less": (crowded_quota, used_less),
}


@pytest.mark.parametrize("obstacle", OBSTACLES)
@pytest.mark.parametrize("kind", WORKLOADS)
def test_pods_that_a_quota_refuses_are_made_when_it_eases(kind: str, obstacle: str) -> None:
    path, asked, wanted = WORKLOADS[kind]
    put, lift = OBSTACLES[obstacle]
    api = InProcess()
    put(api)
    others = len(pods(api))
    driver = Driver(api)
    api.post(path, asked)
    driver.run(LONG)
    assert len(pods(api)) == others + 1
    _, found = api.get(f"{path}/web")
    shown = condition(found, "fairlead.dev/WaitingFor")
    assert (shown["status"], shown["reason"]) == ("True", "WaitingForResourceQuota")
    assert "exceeded quota: q" in shown["message"]
    told = [each for each in driver.records if each.get("outcome") == "refused" and "reason" in each]
    verdicts = {(each["verdict"], each["reason"]) for each in told}
    assert verdicts == {("Waiting", "WaitingForResourceQuota")}
    lift(api)
    driver.run(2)
    mine = [pod for pod in pods(api) if pod["metadata"].get("ownerReferences")]
    if kind == "StatefulSet":
        driver.run(10)  # each when the one before is ready
        mine = [pod for pod in pods(api) if pod["metadata"].get("ownerReferences")]
    assert len(mine) == wanted
    driver.run(10)
    _, found = api.get(f"{path}/web")
    assert condition(found, "fairlead.dev/WaitingFor") == {}
    assert condition(found, "ReplicaFailure") == {}


CHILDREN = {  # what is made, by what, and where to look for it
    "replicasets.apps": (DEPLOYMENTS, deployment(1), f"{APPS}/replicasets"),
    "controllerrevisions.apps": (*WORKLOADS["StatefulSet"][:2], f"{APPS}/controllerrevisions"),
    "jobs.batch": (
        f"{BATCH}/namespaces/default/cronjobs",
        body("CronJob", "web", schedule="* * * * *", jobTemplate={"spec": {"template": NEVER}}),
        f"{BATCH}/namespaces/default/jobs",
    ),
    "endpointslices.discovery.k8s.io": (
        f"{CORE}/services",
        body("Service", "web", selector={"app": "web"}, ports=[{"port": 80}]),
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
    ),
}


@pytest.mark.parametrize("resource", CHILDREN)
def test_other_children_that_a_quota_refuses_are_made_when_it_is_raised(resource: str) -> None:
    path, asked, where = CHILDREN[resource]
    api = InProcess()
    assert api.post(QUOTAS, body("ResourceQuota", "q", hard={f"count/{resource}": "0"}))[0] == 201
    driver = Driver(api)
    assert api.post(path, asked)[0] == 201
    driver.run(LONG)
    assert api.get(where)[1]["items"] == []
    assert any(each.get("reason") == "WaitingForResourceQuota" for each in driver.records)
    api.patch(f"{QUOTAS}/q", {"spec": {"hard": {f"count/{resource}": "5"}}})
    driver.run(2)
    assert len(api.get(where)[1]["items"]) == 1


def test_a_default_service_account_that_a_quota_refused_is_made() -> None:
    api = InProcess()
    assert api.post(QUOTAS, body("ResourceQuota", "q", hard={"count/serviceaccounts": "0"}))[0] == 201
    driver = Driver(api)
    driver.run(LONG)
    assert api.get(f"{CORE}/serviceaccounts")[1]["items"] == []
    removed(api)
    driver.run(2)
    assert len(api.get(f"{CORE}/serviceaccounts")[1]["items"]) == 1


@pytest.mark.parametrize("kind", WORKLOADS)
def test_pods_whose_priority_class_comes_late(kind: str) -> None:
    path, asked, wanted = WORKLOADS[kind]
    api = InProcess()
    driver = Driver(api)
    template = {**asked["spec"]["template"], "metadata": {"labels": {"app": "web"}}}
    template["spec"] = {**template["spec"], "priorityClassName": "high"}
    api.post(path, {**asked, "spec": {**asked["spec"], "template": template}})
    driver.run(LONG)
    assert pods(api) == []
    shown = condition(api.get(f"{path}/web")[1], "fairlead.dev/WaitingFor")
    assert shown["reason"] == "WaitingForPriorityClass"
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}}
    assert api.post("/apis/scheduling.k8s.io/v1/priorityclasses", {**high, "value": 5})[0] == 201
    driver.run(15)
    assert len(pods(api)) == wanted


def test_pods_that_a_limit_range_refused_are_made_when_it_goes() -> None:
    api = InProcess()
    ranges = f"{CORE}/limitranges"
    limit = {"type": "Container", "max": {"cpu": "1"}}
    api.post(
        ranges,
        {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": {"limits": [limit]}},
    )
    driver = Driver(api)
    asked = deployment(2)
    asked["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "2"}}
    api.post(DEPLOYMENTS, asked)
    driver.run(LONG)
    assert pods(api) == []
    api.delete(f"{ranges}/l")
    driver.run(2)
    assert len(pods(api)) == 2


def test_what_there_is_under_a_quota_is_reported() -> None:
    api = InProcess()
    quota(api, pods="2")
    driver = Driver(api)
    api.post(DEPLOYMENTS, deployment(5))
    driver.run(30)
    [found] = api.get(f"{APPS}/replicasets")[1]["items"]
    assert found["status"]["readyReplicas"] == found["status"]["availableReplicas"] == 2
    assert condition(found, "ReplicaFailure")["reason"] == "FailedCreate"
    _, web = api.get(f"{DEPLOYMENTS}/web")
    assert (web["status"]["readyReplicas"], web["status"]["replicas"]) == (2, 2)
    assert condition(web, "ReplicaFailure")["status"] == "True"


def test_a_pod_that_ends_under_a_quota_is_replaced_and_reported() -> None:
    """While others are refused, what becomes of those that are there is seen to all the same."""
    api = InProcess()
    quota(api, pods="2")
    driver = Driver(api)
    api.post(DEPLOYMENTS, deployment(5))
    driver.run(LONG)
    one = pods(api)[0]["metadata"]["name"]
    api.delete(f"{PODS}/{one}", {"gracePeriodSeconds": 0})
    driver.run(3)
    assert len(pods(api)) == 2
    assert one not in [pod["metadata"]["name"] for pod in pods(api)]
    driver.run(10)
    assert api.get(f"{DEPLOYMENTS}/web")[1]["status"]["readyReplicas"] == 2


def test_a_waiting_set_is_not_tried_at_every_change_of_its_pods() -> None:
    api = InProcess()
    quota(api, pods="2")
    driver = Driver(api)
    api.post(DEPLOYMENTS, deployment(5))
    driver.run(LONG)
    before = sum(each.plural == "pods" and each.verb == "create" for each in driver.sent)
    [pod, _] = pods(api)
    for number in range(50):
        api.patch(f"{PODS}/{pod['metadata']['name']}", {"metadata": {"annotations": {"n": str(number)}}})
        driver.run(0.1)
    tried = sum(each.plural == "pods" and each.verb == "create" for each in driver.sent) - before
    assert tried <= 1


def test_a_change_of_the_set_itself_is_tried_at_once() -> None:
    api = InProcess()
    driver = Driver(api)
    asked = deployment(1)
    asked["spec"]["template"]["spec"]["priorityClassName"] = "none"
    api.post(DEPLOYMENTS, asked)
    driver.run(LONG)
    assert pods(api) == []
    api.patch(f"{DEPLOYMENTS}/web", {"spec": {"template": {"spec": {"priorityClassName": None}}}})
    driver.run(2)
    assert len(pods(api)) == 1


def test_a_set_whose_own_template_is_changed_is_tried_at_once() -> None:
    """The same object as before, of which it is known that it was refused: another template is another question."""
    api = InProcess()
    driver = Driver(api)
    sets, asked, count = WORKLOADS["ReplicaSet"]
    wanting = {**asked["spec"], "template": pods_of({"app": "web"}, priorityClassName="none")}
    assert api.post(sets, {**asked, "spec": wanting})[0] == 201
    driver.run(LONG)
    assert pods(api) == []
    api.patch(f"{sets}/web", {"spec": {"template": {"spec": {"priorityClassName": None}}}})
    driver.run(2)
    assert len(pods(api)) == count


def rolled_out(api: InProcess, image: str) -> bool:
    found = pods(api)
    ready = [pod for pod in found if condition(pod, "Ready").get("status") == "True"]
    return len(ready) == len(found) and {pod["spec"]["containers"][0]["image"] for pod in found} == {image}


@pytest.mark.parametrize("replicas", [1, 2, 3, 4, 5, 8])
def test_a_rolling_update_under_a_quota_of_as_many_pods_completes(replicas: int) -> None:
    api = InProcess()
    quota(api, pods=str(replicas))
    driver = Driver(api)
    api.post(DEPLOYMENTS, deployment(replicas))
    driver.run(30)
    assert len(pods(api)) == replicas
    api.patch(
        f"{DEPLOYMENTS}/web",
        {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "web:2"}]}}}},
    )
    fewest = replicas
    for _ in range(120):
        driver.run(1)
        ready = [pod for pod in pods(api) if condition(pod, "Ready").get("status") == "True"]
        fewest = min(fewest, len(ready))
        if rolled_out(api, "web:2"):
            break
    assert rolled_out(api, "web:2")
    assert fewest >= replicas - max(1, replicas // 4), "no more than declared, rounded up to one, are missing"
    driver.run(10)
    _, web = api.get(f"{DEPLOYMENTS}/web")
    assert web["status"]["updatedReplicas"] == web["status"]["readyReplicas"] == replicas
    assert condition(web, "Progressing")["reason"] == "NewReplicaSetAvailable"
    told = {each["reason"] for each in api.get(f"{CORE}/events")[1]["items"]}
    assert ("SurgeRefused" in told) is (replicas < 4), "what goes beyond the rounded share is said"


@pytest.mark.parametrize("lowered_to", ["0", "1"])
def test_the_last_old_pod_stays_where_its_going_makes_no_room(lowered_to: str) -> None:
    api = InProcess()
    quota(api, pods="2")
    driver = Driver(api)
    api.post(DEPLOYMENTS, deployment(1))
    labels = {"app": "other"}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": pods_of(labels)}
    api.post(DEPLOYMENTS, body("Deployment", "other", **spec))
    driver.run(30)
    api.patch(f"{QUOTAS}/q", {"spec": {"hard": {"pods": lowered_to}}})
    driver.run(1)
    api.patch(
        f"{DEPLOYMENTS}/web",
        {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "web:2"}]}}}},
    )
    driver.run(90)
    images = {pod["metadata"]["labels"]["app"]: pod["spec"]["containers"][0]["image"] for pod in pods(api)}
    assert images == {"web": "web:1", "other": "web:1"}
    _, web = api.get(f"{DEPLOYMENTS}/web")
    assert condition(web, "fairlead.dev/WaitingFor")["reason"] == "WaitingForResourceQuota"
    api.patch(f"{QUOTAS}/q", {"spec": {"hard": {"pods": "2"}}})
    for _ in range(60):
        driver.run(1)
    images = {pod["metadata"]["labels"]["app"]: pod["spec"]["containers"][0]["image"] for pod in pods(api)}
    assert images == {"web": "web:2", "other": "web:1"}


def test_a_plain_maxunavailable_of_0_is_kept_and_the_rollout_waits_for_the_quota() -> None:
    api = InProcess()
    quota(api, pods="3")
    driver = Driver(api)
    asked = deployment(3)
    asked["spec"]["strategy"] = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    api.post(DEPLOYMENTS, asked)
    driver.run(30)
    api.patch(
        f"{DEPLOYMENTS}/web",
        {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "web:2"}]}}}},
    )
    driver.run(60)
    assert [pod["spec"]["containers"][0]["image"] for pod in pods(api)] == ["web:1"] * 3
    shown = condition(api.get(f"{DEPLOYMENTS}/web")[1], "fairlead.dev/WaitingFor")
    assert shown["reason"] == "WaitingForResourceQuota"
    api.patch(f"{QUOTAS}/q", {"spec": {"hard": {"pods": "4"}}})
    driver.run(60)
    assert rolled_out(api, "web:2")


@pytest.mark.parametrize("kind", ["StatefulSet", "StatefulSet at once", "DaemonSet"])
def test_other_rolling_updates_under_such_a_quota_complete(kind: str) -> None:
    path, asked, wanted = WORKLOADS[kind]
    api = InProcess()
    quota(api, pods=str(wanted))
    driver = Driver(api)
    api.post(path, asked)
    driver.run(30)
    assert len(pods(api)) == wanted
    template = {"spec": {"containers": [{"name": "c", "image": "web:2"}]}}
    api.patch(f"{path}/web", {"spec": {"template": template}})
    driver.run(120)
    assert len(pods(api)) == wanted
    assert rolled_out(api, "web:2")


def test_node_ports_are_counted_by_the_plane_as_by_the_api() -> None:
    """What mirrors show of Services is enough to count them: at rest there is nothing to correct."""
    api = InProcess()
    driver = Driver(api)
    quota(api, services="5", services_nodeports="5", services_loadbalancers="5")
    for name, kind in (("a", "NodePort"), ("b", "LoadBalancer"), ("c", "ClusterIP")):
        ports = [{"name": "one", "port": 80}, {"name": "two", "port": 81}]
        spec: Json = {"type": kind, "selector": {"app": "x"}, "ports": ports}
        if kind == "LoadBalancer":
            spec["allocateLoadBalancerNodePorts"] = False
        body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}
        assert api.post("/api/v1/namespaces/default/services", body)[0] == 201
    driver.run(30)
    _, found = api.get("/api/v1/namespaces/default/resourcequotas/q")
    assert found["status"]["used"] == {
        "services": "3",
        "services.nodeports": "2",
        "services.loadbalancers": "1",
    }
    controller = next(each for each in driver.plane.controllers if each.decider.name == "resource-quota")
    view = driver.plane._sources.view()
    key = Key("resourcequotas", "default", "q")
    assert controller.decider.decide(view, key, driver.now).effects == ()
