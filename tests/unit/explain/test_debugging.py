"""The debug view: who stands where, what was read, and the boundary that stopped progress."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.cli.debug import lines_of
from fairlead.core.errors import BadRequest, NotFound
from fairlead.explain.asking import answered
from fairlead.explain.debugging import debug
from fairlead.model.key import Key
from tests.unit.explain.timeline.world import APPS, QUOTAS, ZONES, World

Json = dict[str, Any]


def view(world: World, resource: str = "deployments.apps", name: str = "web") -> Json:
    return answered(debug(world.sources, Key(resource, "default", name)))


def full_zone() -> World:
    world = World()
    world.limit_pods(2)
    world.run(2)
    world.deploy(3)
    world.run(20)
    return world


def test_a_quota_that_is_full_is_a_durable_shortage_and_the_boundary_names_it() -> None:
    world = full_zone()
    told = view(world)
    assert told["ready"] == {"ready": 2, "desired": 3, "exist": 3}
    assert len(told["pending"]) == 1
    assert told["reason"].startswith("quota/risk-zone-c: exceeded pods")
    assert told["verdict"]["verdict"] == "durable shortage"
    assert told["boundary"].startswith("between the scheduler and placement quota risk-zone-c")
    assert told["next"] == "kubectl edit placementquota risk-zone-c -n default"
    assert told["decision"].count("-") == 1


def test_a_quota_that_was_raised_and_not_heard_of_is_a_stale_input_with_both_revisions() -> None:
    world = full_zone()
    follows = world.driver._follows.pop("placementquotas.fairlead.dev")
    stands = world.driver.plane.mirrors["placementquotas.fairlead.dev"].revision
    world.api.patch(f"{ZONES}/risk-zone-c", {"spec": {"hard": {"pods": "4"}}})
    newest = world.api.store.revision
    told = view(world)
    assert told["verdict"]["verdict"] == "stale input"
    assert told["boundary"].startswith("between the store and the scheduler's view: it has heard ")
    assert f"placementquotas.fairlead.dev up to {stands} of {newest}" in told["boundary"]
    assert "nothing has to be added" in told["boundary"]
    rows = dict(lines_of({**told, "runbooks": []}))
    assert rows["scheduler read placementquotas at"] <= str(stands)
    assert rows["placementquotas latest"].startswith(f"{newest} (")
    world.driver._follows["placementquotas.fairlead.dev"] = follows


def test_pods_that_are_not_made_are_held_up_by_the_quota_that_refused_them() -> None:
    world = World()
    body = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few"},
        "spec": {"hard": {"pods": "1"}},
    }
    assert world.api.post(QUOTAS, body)[0] == 201
    world.run(5)
    world.deploy(2)
    world.run(20)
    told = view(world)
    assert told["pending"] == []
    assert told["reason"] == "WaitingForResourceQuota"
    assert told["boundary"].startswith("between replicaset and quota few: the pods of replicaset/web-")
    assert told["next"] == "kubectl describe resourcequota few -n default"
    assert dict(lines_of({**told, "runbooks": []}))["pending replica"] == "1 not made yet"


def test_a_rollback_is_told_and_that_the_scheduler_has_seen_its_pods() -> None:
    world = World()
    world.deploy(1)
    world.run(30)
    for image in ("web:2", "web:1"):
        container = {"name": "main", "image": image, "resources": {"requests": {"cpu": "1"}}}
        template = {"spec": {"template": {"spec": {"containers": [container]}}}}
        assert world.api.patch(f"{APPS}/deployments/web", template)[0] == 200
        world.run(60)
    told = view(world)
    assert (told["rollout"]["rollbackTo"], told["rollout"]["observedByScheduler"]) == ("1", True)
    assert told["generation"] == told["observed"]["deployment"] == told["observed"]["status"] == 3
    assert dict(lines_of({**told, "runbooks": []}))["rollback observed by scheduler"].startswith(
        "true (revision 3"
    )


def test_nothing_stops_what_runs() -> None:
    world = World()
    world.deploy(1)
    world.run(30)
    assert view(world)["boundary"] == "nothing stops it"


def test_what_is_gone_is_sent_to_the_timeline() -> None:
    with pytest.raises(NotFound, match="fairlead timeline tells of what is gone"):
        view(World())


TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "web:1"}]}}
BATCH = "/apis/batch/v1/namespaces/default"


def made(path: str, kind: str, group: str, **spec: Any) -> World:
    world = World()
    body = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "web"}, "spec": spec}
    code, answer = world.api.post(path, body)
    assert code == 201, answer
    world.run(30)
    return world


def test_a_deployment_that_is_paused_is_held_up_and_not_told_as_free() -> None:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": TEMPLATE["spec"]["containers"]},
    }
    selector = {"matchLabels": {"app": "web"}}
    path = f"{APPS}/deployments"
    told = view(
        made(path, "Deployment", "apps", replicas=2, paused=True, selector=selector, template=template)
    )
    assert told["boundary"] == (
        "deployment/web is held up at desired: DeploymentPaused: Deployment is paused; next step: user"
    )
    assert told["next"] == "fairlead progress deployment/web -n default"


def test_a_job_that_is_suspended_wants_no_pods_and_says_why() -> None:
    told = view(made(f"{BATCH}/jobs", "Job", "batch", suspend=True, template=TEMPLATE), "jobs.batch")
    assert told["boundary"] == "job/web is held up: JobSuspended: Job suspended; next step: user"
    rows = dict(lines_of({**told, "runbooks": []}))
    assert (rows["workload"], rows["pending replica"]) == ("jobs/web, wants no pods now", "none")


def test_a_job_that_failed_is_the_boundary_itself() -> None:
    container = {"name": "main", "image": "web:1", "resources": {"requests": {"cpu": "1000"}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    world = made(f"{BATCH}/jobs", "Job", "batch", activeDeadlineSeconds=5, parallelism=2, template=template)
    told = view(world, "jobs.batch")
    assert told["boundary"].startswith("job/web has failed, and is not tried again: DeadlineExceeded: ")
    assert told["next"] == "kubectl describe job/web -n default"
    assert told["ready"]["desired"] == 0


def test_a_cron_job_that_is_suspended_makes_no_jobs() -> None:
    spec = {"schedule": "* * * * *", "suspend": True, "jobTemplate": {"spec": {"template": TEMPLATE}}}
    told = view(made(f"{BATCH}/cronjobs", "CronJob", "batch", **spec), "cronjobs.batch")
    assert told["boundary"] == "at cronjob/web itself: it is suspended, and makes no Jobs"
    assert dict(lines_of({**told, "runbooks": []}))["pending replica"] == "none"


def test_a_cron_job_that_waits_for_its_time_is_sent_to_a_command_that_knows_it() -> None:
    spec = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": TEMPLATE}}}
    told = view(made(f"{BATCH}/cronjobs", "CronJob", "batch", **spec), "cronjobs.batch")
    assert (told["boundary"], told["next"]) == (
        "nothing stops it",
        "fairlead timeline cronjob/web -n default",
    )


@pytest.mark.parametrize("kind", ["Pod", "ReplicaSet"])
def test_what_has_no_progress_of_its_own_is_sent_to_a_command_that_knows_it(kind: str) -> None:
    labels = {"app": "web"}
    if kind == "Pod":
        world = World()
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": TEMPLATE["spec"]}
        assert world.api.post("/api/v1/namespaces/default/pods", body)[0] == 201
        world.run(30)
    else:
        template = {"metadata": {"labels": labels}, "spec": {"containers": TEMPLATE["spec"]["containers"]}}
        spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
        world = made(f"{APPS}/replicasets", "ReplicaSet", "apps", **spec)
    told = view(world, "pods" if kind == "Pod" else "replicasets.apps")
    assert (told["boundary"], told["next"]) == (
        "nothing stops it",
        f"fairlead timeline {kind.lower()}/web -n default",
    )


def test_a_generation_that_its_controller_has_not_seen_is_the_boundary() -> None:
    world = World()
    world.deploy(1)
    world.run(30)
    world.scale(3)
    told = view(world)
    assert told["boundary"] == (
        "between the API and the controller of deployment/web: generation 2 is not observed yet, its status is of 1"
    )


@pytest.mark.parametrize(
    ("resource", "namespace", "name"),
    [("configmaps", "default", "kube-root-ca.crt"), ("nodes", "", "node-0")],
)
def test_what_has_no_pods_is_sent_to_who_tells_of_it(resource: str, namespace: str, name: str) -> None:
    world = World()
    if namespace:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        world.api.post("/api/v1/namespaces/default/configmaps", body)
    with pytest.raises(BadRequest, match=r"is no workload and has no pods: `fairlead timeline "):
        answered(debug(world.sources, Key(resource, namespace, name)))


def test_a_plane_that_the_api_does_not_answer_is_the_boundary_whatever_else_waits() -> None:
    world = full_zone()
    breaker = world.driver.plane.health.breaker
    while not breaker.is_open(world.driver.now):
        breaker.failed(world.driver.now)
    told = view(world)
    assert told["boundary"] == (
        "between the controllers and the API: the API does not answer test, as on a full disk, so nothing is written for"
        " 0.5 s"
    )
    assert told["next"] == "fairlead status"
