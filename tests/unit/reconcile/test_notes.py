"""What each controller has to tell people, in Kubernetes' words; and that a settled state has nothing to tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairlead.core.times import timestamp
from fairlead.decision.contract import Refusal, Regarding
from fairlead.decision.decider import Decider
from fairlead.decision.effects import Create, Delete
from fairlead.decision.notes import note_failure
from fairlead.model.key import Key
from fairlead.model.views import (
    CRONJOBS,
    DAEMONSETS,
    DEPLOYMENTS,
    JOBS,
    PODS,
    REPLICASETS,
    STATEFULSETS,
)
from fairlead.reconcile.daemonset.decider import daemonset_decider
from fairlead.reconcile.deployment.decider import deployment_decider
from fairlead.reconcile.job.cronjob import cronjob_decider
from fairlead.reconcile.job.decider import job_decider
from fairlead.reconcile.replicaset import replicaset_decider
from fairlead.reconcile.statefulset import statefulset_decider
from tests.unit.reconcile.world import NOW, World, selector, template

Json = dict[str, Any]
Told = tuple[str, str, str]  # kind/name, reason, message

REFUSED = 'Create web-1: Forbidden: pods "web-1" is forbidden: no room'
WHY = 'pods "web-1" is forbidden: no room'


def story(world: Any, *deciders: Decider) -> list[Told]:
    """All that is told until nobody has anything to do; after that nothing is told without an occasion."""
    told: list[Told] = []
    moved = True
    while moved:
        moved = False
        for decider in deciders:
            for key in world.keys(decider):
                decision = world.decide(decider, key)
                moved |= bool(world.apply(decision.effects))
                told += [
                    (f"{note.regarding.kind}/{note.regarding.name}", note.reason, note.message)
                    for note in decision.events
                    if note.after >= 0 or not note.occasion or moved
                ]
                assert all(-1 <= note.after < len(decision.effects) for note in decision.events)
                assert moved or all(note.occasion for note in decision.events), "told again and again"
    return told


def reasons(told: Sequence[Told]) -> list[str]:
    return [reason for _, reason, _ in told]


def owner(world: World, resource: Any, name: str = "web", **spec: Any) -> None:
    world.add(resource, name, spec={"selector": selector(), "template": template(), **spec})


def test_a_replicaset_tells_of_each_pod() -> None:
    world, decider = World(), replicaset_decider()
    owner(world, REPLICASETS, replicas=2)
    told = story(world, decider)
    names = [pod.metadata.name for pod in world.list(PODS)]
    assert sorted(told) == [("ReplicaSet/web", "SuccessfulCreate", f"Created pod: {name}") for name in names]
    world.edit(REPLICASETS, "web", {"spec": {"replicas": 0}})
    assert sorted(story(world, decider)) == [
        ("ReplicaSet/web", "SuccessfulDelete", f"Deleted pod: {name}") for name in names
    ]


def _any(decider: Any) -> Any:
    """The world is read as a Decider reads, but for what no Decider asks."""
    return decider


def refusal(decider: Any, world: World, resource: Any, effect: Any, name: str = "web") -> list[Told]:
    key = Key(resource.name, "default", name)
    decision = decider.refused(world, key, Refusal(effect, REFUSED), NOW)
    return [(note.type, note.reason, note.message) for note in decision.events]


CREATE = Create(
    identity="id",
    resource="pods",
    api_version="v1",
    plural="pods",
    namespace="default",
    name="web-1",
    body={},
)


def test_pods_that_are_refused_are_told_by_their_owner() -> None:
    world = World()
    for resource in (REPLICASETS, DAEMONSETS):
        owner(world, resource)
    owner(world, STATEFULSETS, serviceName="web")
    world.add(JOBS, "web", spec={"template": template(restartPolicy="Never")})
    wanted = [("Warning", "FailedCreate", f"Error creating: {WHY}")]
    assert refusal(daemonset_decider(), world, DAEMONSETS, CREATE) == wanted
    assert refusal(job_decider(), world, JOBS, CREATE) == wanted
    same = [(*told[:2], told[2].replace("web-1", "web-")) for told in wanted]
    assert refusal(replicaset_decider(), world, REPLICASETS, CREATE) == same, "whatever its next name"
    message = f"create Pod web-1 in StatefulSet web failed error: {WHY}"
    assert refusal(statefulset_decider(), world, STATEFULSETS, CREATE) == [
        ("Warning", "FailedCreate", message)
    ]


def test_every_refusal_is_told_although_the_condition_says_it_already() -> None:
    world, decider = World(), _any(replicaset_decider())
    owner(world, REPLICASETS)
    key = Key("replicasets.apps", "default", "web")
    world.apply(decider.refused(world, key, Refusal(CREATE, REFUSED), NOW).effects)
    again = decider.refused(world, key, Refusal(CREATE, REFUSED), NOW)
    assert (again.effects, [note.reason for note in again.events]) == ((), ["FailedCreate"])


def test_a_deletion_that_is_refused_and_a_message_of_another_form() -> None:
    regarding = Regarding("v1", "Pod", "default", "web", "uid")
    delete = Delete(
        identity="id",
        resource="pods",
        api_version="v1",
        plural="pods",
        namespace="default",
        name="web-1",
        uid="uid",
        revision=1,
    )
    (note,) = note_failure(regarding, delete, "no")
    assert (note.reason, note.message) == ("FailedDelete", "Error deleting: no")


def test_a_deployment_tells_how_its_sets_grow_and_shrink() -> None:
    world, both = World(), (deployment_decider(), replicaset_decider())
    owner(world, DEPLOYMENTS, replicas=2, strategy={"type": "Recreate"})
    told = [each for each in story(world, *both) if each[0] == "Deployment/web"]
    (old,) = world.list(REPLICASETS)
    first = old.metadata.name
    assert told == [("Deployment/web", "ScalingReplicaSet", f"Scaled up replica set {first} from 0 to 2")]
    world.start_pods()
    assert story(world, *both) == []
    world.edit(DEPLOYMENTS, "web", {"spec": {"template": template(image="v2")}})
    told = [each for each in story(world, *both) if each[0] == "Deployment/web"]
    assert told == [("Deployment/web", "ScalingReplicaSet", f"Scaled down replica set {first} from 2 to 0")]
    world.stop_pods()
    told = [each for each in story(world, *both) if each[0] == "Deployment/web"]
    (new,) = (each.metadata.name for each in world.list(REPLICASETS) if each.metadata.name != first)
    assert told == [("Deployment/web", "ScalingReplicaSet", f"Scaled up replica set {new} from 0 to 2")]


def test_a_deployment_whose_set_is_refused() -> None:
    world = World()
    owner(world, DEPLOYMENTS)
    (told,) = refusal(deployment_decider(), world, DEPLOYMENTS, CREATE)
    assert told[:2] == ("Warning", "ReplicaSetCreateError")
    assert told[2].startswith('Failed to create new replica set "web-1": ')


def test_a_statefulset_names_itself() -> None:
    world, decider = World(), statefulset_decider()
    owner(world, STATEFULSETS, replicas=1, serviceName="web")
    message = "create Pod web-0 in StatefulSet web successful"
    assert story(world, decider) == [("StatefulSet/web", "SuccessfulCreate", message)]
    world.start_pods()
    assert story(world, decider) == []
    world.edit(STATEFULSETS, "web", {"spec": {"replicas": 0}})
    message = "delete Pod web-0 in StatefulSet web successful"
    assert story(world, decider) == [("StatefulSet/web", "SuccessfulDelete", message)]


def job(world: World, **spec: Any) -> None:
    world.add(JOBS, "sum", spec={"template": template(restartPolicy="Never"), **spec})


def end_pods(world: World, phase: str) -> None:
    for pod in world.list(PODS):
        if pod.live:
            world.set_pod(pod.metadata.name, phase)


def test_a_job_that_completes() -> None:
    world, decider = World(), job_decider()
    job(world)
    assert reasons(story(world, decider)) == ["SuccessfulCreate"]
    end_pods(world, "Succeeded")
    assert story(world, decider) == [("Job/sum", "Completed", "Job completed")]


def test_a_job_that_failed_too_often() -> None:
    world, decider = World(), job_decider()
    job(world, backoffLimit=0)
    story(world, decider)
    end_pods(world, "Failed")
    message = "Job has reached the specified backoff limit"
    assert story(world, decider) == [("Job/sum", "BackoffLimitExceeded", message)]


def test_a_job_that_takes_too_long() -> None:
    world, decider = World(), job_decider()
    job(world, activeDeadlineSeconds=10)
    story(world, decider)
    world.tick(11)
    told = story(world, decider)
    end_pods(world, "Failed")
    world.stop_pods()
    told += story(world, decider)
    assert reasons(told) == ["SuccessfulDelete", "DeadlineExceeded"]


def test_a_job_that_is_suspended_and_resumed() -> None:
    world, decider = World(), job_decider()
    job(world, suspend=True)
    assert story(world, decider) == [("Job/sum", "Suspended", "Job suspended")]
    world.edit(JOBS, "sum", {"spec": {"suspend": False}})
    assert reasons(story(world, decider)) == ["Resumed", "SuccessfulCreate"]


def cron(world: World, **spec: Any) -> None:
    fields = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template(restartPolicy="Never")}}}
    world.add(CRONJOBS, "tick", spec={**fields, **spec})


def test_a_cronjob_tells_of_its_jobs() -> None:
    world, decider = World(), cronjob_decider()
    cron(world, successfulJobsHistoryLimit=0)
    world.tick(60)
    told = story(world, decider)
    (made,) = world.list(JOBS)
    name = made.metadata.name
    assert told == [("CronJob/tick", "SuccessfulCreate", f"Created job {name}")]
    at, complete = timestamp(world.now), [{"type": "Complete", "status": "True"}]
    world.edit_status(JOBS, name, {"conditions": complete, "startTime": at, "completionTime": at})
    assert story(world, decider) == [
        ("CronJob/tick", "SawCompletedJob", f"Saw completed job: {name}, condition: Complete"),
        ("CronJob/tick", "SuccessfulDelete", f"Deleted job {name}"),
    ]


def test_a_cronjob_whose_job_vanished() -> None:
    world, decider = World(), cronjob_decider()
    cron(world)
    world.tick(60)
    story(world, decider)
    (made,) = world.list(JOBS)
    world.delete(JOBS, made.metadata.name)
    assert story(world, decider)[0] == (
        "CronJob/tick", "MissingJob", f"Active job went missing: {made.metadata.name}",
    )  # fmt: skip


def occasions(world: World, decider: Any) -> list[tuple[str, str, str]]:
    decision = world.decide(decider, Key("cronjobs.batch", "default", "tick"))
    return [(note.type, note.reason, note.occasion) for note in decision.events]


def test_a_cronjob_that_may_not_start_says_so_once_for_each_instant() -> None:
    world, decider = World(), cronjob_decider()
    cron(world, concurrencyPolicy="Forbid")
    world.tick(60)
    story(world, decider)
    world.tick(60)
    first = occasions(world, decider)
    world.tick(1)
    assert occasions(world, decider) == first
    world.tick(60)
    later = occasions(world, decider)
    assert [each[1] for each in (*first, *later)] == ["JobAlreadyActive"] * 2
    assert int(later[0][2]) - int(first[0][2]) == 60


def test_a_start_that_came_too_late_is_told_however_late_it_is_found() -> None:
    world, decider = World(), cronjob_decider()
    cron(world, schedule="0 0 1 1 *", startingDeadlineSeconds=30)
    january = 1_704_067_200  # 2024-01-01T00:00:00Z
    world.tick(january + 31 - world.now)
    assert occasions(world, decider) == [("Warning", "MissSchedule", str(january))]
    world.tick(7200)
    assert occasions(world, decider) == [("Warning", "MissSchedule", str(january))]
