"""The progress of workloads, kept in their status."""

from __future__ import annotations

from typing import Any

from fairlead.core.times import timestamp
from fairlead.decision.effects import ChangeStatus
from fairlead.model.key import Key
from fairlead.model.service_views import ENDPOINT_SLICES, SERVICES
from fairlead.model.views import DEPLOYMENTS, JOBS, PODS, REPLICASETS, STATEFULSETS
from fairlead.reconcile.deployment.decider import deployment_decider
from fairlead.reconcile.progress import progress_decider
from fairlead.reconcile.replicaset import replicaset_decider
from tests.unit.reconcile.waking import woken
from tests.unit.reconcile.world import World

Json = dict[str, Any]
LABELS = {"app": "web"}
KEY = Key(DEPLOYMENTS.name, "default", "web")


def deployed(replicas: int = 2) -> World:
    world = World()
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": LABELS},
        "template": {
            "metadata": {"labels": LABELS},
            "spec": {"containers": [{"name": "main", "image": "web:1"}]},
        },
    }
    world.add(DEPLOYMENTS, "web", spec=spec)
    settle(world)
    return world


def settle(world: World) -> Json:
    """Progress is told at most once a second."""
    for _ in range(3):
        world.settle([deployment_decider(), replicaset_decider(), progress_decider()])
        world.tick(2)
    world.settle([deployment_decider(), replicaset_decider(), progress_decider()])
    return told(world)


def told(world: World) -> Json:
    progress: Json = world.objects[KEY]["status"].get("progress", {})
    return progress


def test_a_deployment_has_one_key_whichever_of_its_objects_changes() -> None:
    world, decider = deployed(), progress_decider()
    pod, (replicas,) = world.list(PODS)[0], world.list(REPLICASETS)
    (deployment,) = world.list(DEPLOYMENTS)
    assert list(woken(decider, DEPLOYMENTS.name, None, deployment)) == [KEY]
    assert list(woken(decider, REPLICASETS.name, None, replicas)) == [KEY]
    assert list(woken(decider, REPLICASETS.name, replicas, replicas)) == []
    assert list(woken(decider, PODS.name, None, pod)) == []
    assert list(woken(decider, PODS.name, None, pod, world)) == [KEY]
    world.vanish(Key(REPLICASETS.name, "default", replicas.metadata.name))
    assert list(woken(decider, PODS.name, None, pod, world)) == [], "the ReplicaSet wakes it when it comes"


def test_from_the_queue_to_the_end() -> None:
    world = deployed()
    assert told(world)["queued"] == 2
    assert told(world)["limit"] == {"stage": "queued", "owner": "scheduler"}
    world.start_pods()
    done = settle(world)
    assert (done["ready"], done["desired"]) == (2, 2)
    assert "limit" not in done
    assert "pending" not in done
    assert "serving" not in done


def test_a_service_makes_serving_the_end() -> None:
    world = deployed()
    world.add(SERVICES, "web", spec={"selector": LABELS, "ports": [{"port": 80}]})
    world.start_pods()
    waiting = settle(world)
    assert waiting["serving"] == 0
    assert waiting["limit"]["stage"] == "ready"
    assert waiting["limit"]["owner"] == "endpoints of its Service"
    (first, *_) = world.list(PODS)
    endpoint = {"addresses": ["127.128.0.1"], "targetRef": {"kind": "Pod", "name": first.metadata.name}}
    world.add(
        ENDPOINT_SLICES,
        "web-a",
        metadata={"labels": {"kubernetes.io/service-name": "web"}},
        addressType="IPv4",
        endpoints=[endpoint],
        ports=[],
    )
    assert settle(world)["serving"] == 0, "its pods have no port of the name that the Service wants"
    decider, (portless,) = progress_decider(), world.list(ENDPOINT_SLICES)
    world.edit(ENDPOINT_SLICES, "web-a", {"ports": [{"port": 8080}]})
    assert settle(world)["serving"] == 1
    slices = world.list(ENDPOINT_SLICES)
    assert len(list(woken(decider, ENDPOINT_SLICES.name, portless, slices[0], world))) == 1
    (key,) = woken(decider, ENDPOINT_SLICES.name, None, slices[0], world)
    assert key.resource == "deployments.apps"
    (key,) = woken(decider, SERVICES.name, None, world.list(SERVICES)[0], world)
    assert key == KEY


def test_nothing_of_the_former_state_stays_behind() -> None:
    """Or it would differ from what is told for ever, and be written for ever."""
    world = deployed()
    world.start_pods()
    settle(world)
    before = len(world.writes)
    settle(world)
    assert world.writes[before:] == []


def test_what_is_paused_has_no_deadline_that_runs() -> None:
    world = deployed()
    assert settle(world)["deadline"]["state"] == "Running"
    world.edit(DEPLOYMENTS, "web", {"spec": {"paused": True}})
    assert "deadline" not in settle(world)
    world.edit(DEPLOYMENTS, "web", {"spec": {"paused": False}})
    assert settle(world)["deadline"]["state"] == "Running"


def test_whoever_comes_to_lead_looks_at_every_kind_of_workload() -> None:
    world = deployed()
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "main", "image": "web:1"}]}}
    world.add(STATEFULSETS, "db", spec={"selector": {"matchLabels": LABELS}, "template": template})
    unsettled = progress_decider().unsettled
    assert unsettled is not None
    assert list(unsettled(world)) == [KEY, Key(STATEFULSETS.name, "default", "db")]


def test_told_at_most_once_a_second() -> None:
    world = deployed()
    world.settle([progress_decider()])
    world.tick(0.2)
    world.edit(DEPLOYMENTS, "web", {"spec": {"replicas": 3}})
    wrote = [
        each for each in world.writes if isinstance(each, ChangeStatus) and "progress" in each.patch["status"]
    ]
    world.edit_status(DEPLOYMENTS, "web", {"progress": {"updated": timestamp(world.now)}})
    decision = progress_decider().decide(world, KEY, world.now)
    assert decision.effects == ()
    assert decision.again_at > world.now
    assert wrote


def test_what_is_new_is_told_of_when_its_own_controller_has_begun() -> None:
    world = World()
    pods = {"containers": [{"name": "main", "image": "web:1"}]}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pods}
    world.add(DEPLOYMENTS, "web", spec={"selector": {"matchLabels": {"app": "web"}}, "template": template})
    early = progress_decider().decide(world, KEY, world.now)
    assert (early.effects, early.again_at) == ((), world.now + 1)
    world.tick(1)
    assert len(progress_decider().decide(world, KEY, world.now).effects) == 1


def test_a_job_that_was_given_up_says_why() -> None:
    world = World()
    containers = [{"name": "main", "image": "web:1"}]
    world.add(JOBS, "j", spec={"template": {"spec": {"restartPolicy": "Never", "containers": containers}}})
    at = timestamp(world.now)
    told = {"reason": "DeadlineExceeded", "message": "active for too long"}
    failed = [
        {"type": kind, "status": "True", "lastTransitionTime": at, **told}
        for kind in ("FailureTarget", "Failed")
    ]
    world.edit_status(JOBS, "j", {"startTime": at, "conditions": failed})
    world.tick(1)
    (effect,) = progress_decider().decide(world, Key(JOBS.name, "default", "j"), world.now).effects
    assert isinstance(effect, ChangeStatus)
    assert effect.patch["status"]["progress"]["lastError"] == {"at": at, **told}


def test_the_last_error_says_what_the_end_of_the_container_said() -> None:
    world = deployed(1)
    (only,) = world.list(PODS)
    ended = {
        "exitCode": 128,
        "reason": "StartError",
        "message": "'/x': no such file",
        "finishedAt": timestamp(world.now),
    }
    status = {
        "name": "main",
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": ended},
    }
    world.edit_status(PODS, only.metadata.name, {"containerStatuses": [status]})
    error = settle(world)["lastError"]
    assert error["message"] == "container main ended with exit code 128: '/x': no such file"
