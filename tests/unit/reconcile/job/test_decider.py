"""The Job controller: how many pods run, what is counted, when it ends and what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.times import timestamp
from fairlead.decision.contract import NOTHING, SETTLED, Waiting
from fairlead.decision.effects import Create
from fairlead.model.key import Key
from fairlead.model.views import JOBS, PODS, Job, Pod
from fairlead.reconcile.job.decider import job_decider
from fairlead.reconcile.job.orphans import job_orphan_decider
from fairlead.reconcile.job.pods import INDEX, TRACKING
from fairlead.reconcile.job.policies import format_indexes, parse_indexes
from fairlead.reconcile.repair import ALL, repair_decider
from tests.unit.reconcile.waking import woken
from tests.unit.reconcile.world import NOW, Refused, World, template

DECIDER = job_decider()
KEY = Key("jobs.batch", "default", "sum")
Json = dict[str, Any]


def make(world: World, **spec: Any) -> None:
    policy = spec.pop("restart", "Never")
    world.add(JOBS, "sum", spec={"template": template(restartPolicy=policy), **spec})


def job(world: World) -> Job:
    found = world.get(JOBS, "default", "sum")
    assert found is not None
    return found


def live(world: World) -> list[Pod]:
    return [pod for pod in world.list(PODS) if pod.live]


def settle(world: World) -> None:
    """Until the Job has nothing to do; after every write there are no more live pods than may run."""

    def check() -> None:
        assert len(live(world)) <= job(world).spec.parallelism

    world.settle([DECIDER], each=check)


def end(world: World, phase: str = "Succeeded", count: int = 1, index: int | None = None) -> None:
    """So many live pods come to their end."""
    chosen = [p for p in live(world) if index is None or p.metadata.annotations[INDEX] == str(index)]
    for pod in chosen[:count]:
        world.set_pod(pod.metadata.name, phase)
    settle(world)


def held(world: World) -> dict[str, str]:
    return {each.type: each.reason for each in job(world).status.conditions if each.status == "True"}


def test_what_is_ready_and_ending_is_told_also_where_it_is_none() -> None:
    world = World()
    make(world)
    settle(world)
    status = world.objects[KEY]["status"]
    assert (status["ready"], status["terminating"]) == (0, 0)


def test_a_new_job_starts_its_clock_and_its_pods() -> None:
    world = World()
    make(world, parallelism=3, completions=5)
    settle(world)
    status = job(world).status
    assert (len(live(world)), status.active, status.start_time) == (3, 3, timestamp(NOW))
    for pod in live(world):
        assert pod.metadata.finalizers == (TRACKING,)
        assert pod.metadata.controller is not None
        assert pod.metadata.labels["batch.kubernetes.io/job-name"] == "sum"


def test_a_create_that_comes_late_comes_to_nothing() -> None:
    world = World()
    make(world, parallelism=2, completions=2)
    while not (late := world.decide(DECIDER, KEY).effects) or not isinstance(late[0], Create):
        world.apply(late)
    settle(world)
    for pod in live(world):
        world.delete(PODS, pod.metadata.name)
    settle(world)
    assert world.get(PODS, "default", late[0].name) is None, "the name is free, and yet"
    with pytest.raises(Refused):
        world.apply(late[:1])


def test_pods_that_are_ready_are_reported_so() -> None:
    world = World()
    make(world, parallelism=2, completions=2)
    settle(world)
    world.start_pods(lambda pod: pod["metadata"]["name"] == live(world)[0].metadata.name)
    settle(world)
    assert (job(world).status.active, job(world).status.ready) == (2, 1)


def test_a_job_completes_after_so_many_successes() -> None:
    world = World()
    make(world, parallelism=2, completions=3)
    settle(world)
    end(world)
    assert (job(world).status.succeeded, len(live(world))) == (1, 2)
    end(world)
    assert (job(world).status.succeeded, len(live(world))) == (2, 1)
    world.tick(7)
    end(world)
    status = job(world).status
    assert (status.succeeded, status.active, status.completion_time) == (3, 0, timestamp(NOW + 7))
    assert held(world) == {"SuccessCriteriaMet": "CompletionsReached", "Complete": "CompletionsReached"}
    assert status.uncounted_terminated_pods == {}
    assert [pod.metadata.finalizers for pod in world.list(PODS)] == [(), (), ()]
    assert world.decide(DECIDER, KEY) == NOTHING


def test_without_completions_one_success_means_the_others_are_let_finish() -> None:
    world = World()
    make(world, parallelism=3)
    settle(world)
    end(world)
    assert (len(live(world)), held(world)) == (2, {})
    end(world, count=2)
    assert (job(world).status.succeeded, "Complete" in held(world)) == (3, True)


def test_a_job_of_nothing_is_complete_at_once() -> None:
    world = World()
    make(world, parallelism=1, completions=0)
    settle(world)
    assert "Complete" in held(world)
    assert world.list(PODS) == ()


def test_the_end_of_a_pod_is_written_down_before_the_pod_may_vanish() -> None:
    world = World()
    make(world, completions=2)
    settle(world)
    (pod,) = live(world)
    world.set_pod(pod.metadata.name, "Succeeded")
    world.turn(DECIDER, "sum")
    listed = job(world).status.uncounted_terminated_pods
    assert (listed, job(world).status.succeeded) == ({"succeeded": [pod.metadata.uid]}, 0)
    world.turn(DECIDER, "sum")
    assert world.list(PODS)[0].metadata.finalizers == ()
    world.delete(PODS, pod.metadata.name)
    world.stop_pods()
    world.turn(DECIDER, "sum")
    assert (job(world).status.uncounted_terminated_pods, job(world).status.succeeded) == ({}, 1)
    settle(world)
    assert (job(world).status.succeeded, len(live(world))) == (1, 1)


def test_a_finished_pod_that_is_deleted_before_it_was_counted_still_counts() -> None:
    world = World()
    make(world, completions=1)
    settle(world)
    (pod,) = live(world)
    world.set_pod(pod.metadata.name, "Succeeded")
    world.delete(PODS, pod.metadata.name)
    world.stop_pods()
    settle(world)
    assert (job(world).status.succeeded, "Complete" in held(world)) == (1, True)


def test_failures_are_retried_after_ten_seconds_doubled_each_time() -> None:
    world = World()
    make(world, completions=1, backoffLimit=6)
    settle(world)
    for delay in (10, 20, 40, 80, 160, 320):
        end(world, "Failed")
        decision = world.decide(DECIDER, KEY)
        assert decision.verdict == Waiting("BackOff", "a pod failed recently")
        assert decision.again_at == world.now + delay
        world.tick(delay - 1)
        settle(world)
        assert live(world) == []
        world.tick(1)
        settle(world)
        assert len(live(world)) == 1
    assert job(world).status.failed == 6


def test_the_delay_has_a_ceiling() -> None:
    world = World()
    make(world, completions=1, backoffLimit=20)
    settle(world)
    for _ in range(9):
        end(world, "Failed")
        world.tick(1000)
        settle(world)
    end(world, "Failed")
    assert world.decide(DECIDER, KEY).again_at == world.now + 360


def test_a_success_forgives_the_failures_before_it() -> None:
    world = World()
    make(world, parallelism=1, completions=3)
    settle(world)
    for _ in range(3):
        end(world, "Failed")
        world.tick(1000)
        settle(world)
    end(world)
    world.tick(5)
    end(world, "Failed")
    assert world.decide(DECIDER, KEY).again_at == world.now + 10


def test_too_many_failures_fail_the_job_and_stop_its_other_pods() -> None:
    world = World()
    make(world, parallelism=3, completions=3, backoffLimit=0)
    settle(world)
    world.start_pods()
    end(world, "Failed")
    assert held(world) == {"FailureTarget": "BackoffLimitExceeded"}
    assert live(world) == []
    world.stop_pods()
    settle(world)
    world.stop_pods()
    settle(world)
    assert held(world) == {"FailureTarget": "BackoffLimitExceeded", "Failed": "BackoffLimitExceeded"}
    assert (job(world).status.failed, job(world).status.completion_time) == (3, "")
    assert world.decide(DECIDER, KEY) == NOTHING


def test_containers_that_restart_in_place_use_up_the_limit_too() -> None:
    world = World()
    make(world, completions=1, backoffLimit=2, restart="OnFailure")
    settle(world)
    (pod,) = live(world)
    for restarts, over in ((1, False), (2, True)):
        containers = [{"name": "main", "restartCount": restarts}]
        world.edit_status(PODS, pod.metadata.name, {"phase": "Running", "containerStatuses": containers})
        settle(world)
        assert ("FailureTarget" in held(world)) is over


def test_a_job_that_takes_too_long_fails() -> None:
    world = World()
    make(world, completions=1, activeDeadlineSeconds=60)
    settle(world)
    assert world.decide(DECIDER, KEY).again_at == NOW + 60
    world.tick(60)
    settle(world)
    assert held(world)["FailureTarget"] == "DeadlineExceeded"
    world.stop_pods()
    settle(world)
    world.stop_pods()
    settle(world)
    assert held(world)["Failed"] == "DeadlineExceeded"


def test_suspending_takes_the_pods_away_without_counting_them_and_resuming_starts_anew() -> None:
    world = World()
    make(world, parallelism=2, completions=2, backoffLimit=0)
    settle(world)
    world.start_pods()
    settle(world)
    world.edit(JOBS, "sum", {"spec": {"suspend": True}})
    settle(world)
    world.stop_pods()
    settle(world)
    status = job(world).status
    assert (world.list(PODS), status.active, status.failed, status.start_time) == ((), 0, 0, "")
    assert held(world) == {"Suspended": "JobSuspended"}
    assert world.decide(DECIDER, KEY).verdict == SETTLED
    world.tick(100)
    world.edit(JOBS, "sum", {"spec": {"suspend": False}})
    settle(world)
    assert (len(live(world)), job(world).status.start_time, held(world)) == (2, timestamp(NOW + 100), {})
    assert job(world).status.conditions[0].reason == "JobResumed"


def test_a_job_created_suspended_makes_no_pods_and_its_deadline_does_not_run() -> None:
    world = World()
    make(world, completions=1, suspend=True, activeDeadlineSeconds=10)
    settle(world)
    world.tick(100)
    settle(world)
    assert (world.list(PODS), held(world)) == ((), {"Suspended": "JobSuspended"})


def test_less_parallelism_gives_up_pods_that_are_not_ready_first() -> None:
    world = World()
    make(world, parallelism=3, completions=9)
    settle(world)
    kept = live(world)[1].metadata.name
    world.start_pods(lambda pod: pod["metadata"]["name"] == kept)
    world.edit(JOBS, "sum", {"spec": {"parallelism": 1}})
    world.settle([DECIDER])
    assert [pod.metadata.name for pod in live(world)] == [kept]
    assert (job(world).status.failed, job(world).status.active) == (0, 1)


def test_a_pod_that_was_given_up_and_ends_well_first_is_nobodys_mistake() -> None:
    world = World()
    make(world, parallelism=1, completions=1)
    settle(world)
    world.edit(JOBS, "sum", {"spec": {"parallelism": 0}})
    while live(world)[0].metadata.finalizers:
        world.turn(DECIDER, "sum")
    world.set_pod(live(world)[0].metadata.name, "Succeeded")
    world.settle([DECIDER])
    assert (job(world).status.succeeded, len(world.list(PODS))) == (0, 1)
    assert world.decide(repair_decider(), ALL).events == ()


def test_a_pod_that_somebody_deletes_counts_as_failed_and_is_replaced_at_once() -> None:
    world = World()
    make(world, completions=1)
    settle(world)
    world.start_pods()
    settle(world)
    (pod,) = live(world)
    world.delete(PODS, pod.metadata.name)
    settle(world)
    assert (job(world).status.failed, len(live(world))) == (1, 1)
    assert job(world).status.terminating == 1


def test_replacement_waits_for_the_end_where_the_job_says_so() -> None:
    world = World()
    make(world, completions=1, podReplacementPolicy="Failed")
    settle(world)
    world.start_pods()
    (pod,) = live(world)
    world.delete(PODS, pod.metadata.name)
    settle(world)
    assert (live(world), job(world).status.failed) == ([], 0)
    world.set_pod(pod.metadata.name, "Failed")
    settle(world)
    assert (len(live(world)), job(world).status.failed) == (1, 1)


def test_an_indexed_job_runs_each_index_once() -> None:
    world = World()
    make(world, parallelism=2, completions=4, completionMode="Indexed")
    settle(world)
    assert sorted(pod.metadata.annotations[INDEX] for pod in live(world)) == ["0", "1"]
    end(world, index=1)
    assert job(world).status.completed_indexes == "1"
    assert sorted(pod.metadata.annotations[INDEX] for pod in live(world)) == ["0", "2"]
    end(world, "Failed", index=0)
    assert (job(world).status.failed, job(world).status.succeeded) == (1, 1)
    world.tick(10)
    settle(world)
    assert sorted(pod.metadata.annotations[INDEX] for pod in live(world)) == ["0", "2"]
    for index in (2, 0, 3):
        end(world, index=index)
    assert (job(world).status.completed_indexes, job(world).status.succeeded) == ("0-3", 4)
    assert "Complete" in held(world)


def test_an_indexed_pod_knows_its_index() -> None:
    world = World()
    make(world, parallelism=1, completions=2, completionMode="Indexed")
    settle(world)
    (pod,) = (obj for key, obj in world.objects.items() if key.resource == "pods")
    assert pod["metadata"]["labels"][INDEX] == "0"
    assert pod["spec"]["hostname"] == "sum-0"
    assert pod["metadata"]["name"].startswith("sum-0-")
    (variable,) = pod["spec"]["containers"][0]["env"]
    assert variable["name"] == "JOB_COMPLETION_INDEX"


def test_an_index_that_is_no_longer_wanted_is_given_up() -> None:
    world = World()
    make(world, parallelism=3, completions=3, completionMode="Indexed")
    settle(world)
    world.edit(JOBS, "sum", {"spec": {"parallelism": 2, "completions": 2}})
    world.settle([DECIDER])
    assert sorted(pod.metadata.annotations[INDEX] for pod in live(world)) == ["0", "1"]


@pytest.mark.parametrize(
    ("indexes", "text"),
    [((), ""), ((0,), "0"), ((0, 1), "0,1"), ((0, 1, 2), "0-2"), ((1, 3, 4, 5, 9), "1,3-5,9")],
)
def test_indexes_are_written_as_kubernetes_writes_them(indexes: tuple[int, ...], text: str) -> None:
    assert format_indexes(indexes) == text
    assert parse_indexes(text, 10) == frozenset(indexes)


def test_indexes_beyond_the_completions_are_forgotten() -> None:
    assert parse_indexes("0,2-7", 4) == {0, 2, 3}


def test_a_finished_job_goes_when_its_time_is_over() -> None:
    world = World()
    make(world, completions=1, ttlSecondsAfterFinished=30)
    settle(world)
    end(world)
    assert world.decide(DECIDER, KEY).again_at == world.now + 30
    world.tick(30)
    (effect,) = world.decide(DECIDER, KEY).effects
    assert (effect.key, effect.policy) == (KEY, "Foreground")  # type: ignore[union-attr]
    world.apply((effect,))
    assert job(world).metadata.deletion_timestamp
    assert world.decide(DECIDER, KEY) == NOTHING


def test_a_job_that_is_deleted_lets_its_pods_go_and_makes_no_more() -> None:
    world = World()
    make(world, parallelism=2, completions=4)
    settle(world)
    world.delete(JOBS, "sum", policy="Foreground")
    world.delete(PODS, live(world)[0].metadata.name)
    world.settle([DECIDER])
    assert [pod.metadata.finalizers for pod in world.list(PODS)] == [()]


@pytest.mark.parametrize("again", [False, True])
def test_pods_of_a_job_that_is_gone_are_let_go(again: bool) -> None:
    world = World()
    make(world, parallelism=2, completions=2)
    settle(world)
    orphans = live(world)
    for pod in orphans:
        world.delete(PODS, pod.metadata.name)
    decider = job_orphan_decider()
    key = Key("pods", "default", orphans[0].metadata.name)
    assert world.decide(decider, key).verdict == Waiting("JobWillCountIt")
    gone = job(world)
    world.delete(JOBS, "sum")
    left = {Key("pods", "default", pod.metadata.name) for pod in orphans}
    assert set(woken(decider, "jobs.batch", gone, None, world)) == left, (
        "that the Job has gone wakes its pods"
    )
    assert not tuple(woken(decider, "jobs.batch", None, gone, world))
    if again:
        make(world)
    assert tuple(woken(decider, "pods", None, world.get(PODS, *key[1:]))) == (key,)
    world.settle([decider])
    world.stop_pods()
    assert world.list(PODS) == ()
    assert world.decide(decider, key) == NOTHING


def test_a_new_job_of_the_same_name_does_not_take_over_the_pods_of_the_old() -> None:
    world = World()
    make(world, completions=1)
    settle(world)
    (old,) = live(world)
    world.delete(JOBS, "sum")
    make(world, completions=1)
    world.settle([DECIDER])
    new = [pod for pod in live(world) if pod.metadata.name != old.metadata.name]
    assert len(new) == 1
    assert new[0].metadata.controller is not None
    assert new[0].metadata.controller.uid == job(world).metadata.uid


def test_a_name_that_is_taken_by_a_stranger_is_passed_over() -> None:
    world = World()
    make(world, completions=1)
    world.turn(DECIDER, "sum")
    (effect,) = world.decide(DECIDER, KEY).effects
    world.add(PODS, effect.name, spec={"containers": [{"name": "main", "image": "a"}]})
    world.settle([DECIDER])
    assert job(world).status.active == 1


def test_a_job_that_another_controller_manages_is_left_alone() -> None:
    world = World()
    make(world, managedBy="example.com/mine")
    assert world.decide(DECIDER, KEY) == NOTHING


def test_a_settled_job_is_not_written_again() -> None:
    world = World()
    make(world, parallelism=2, completions=4)
    settle(world)
    end(world)
    writes = len(world.writes)
    world.tick(500)
    settle(world)
    assert len(world.writes) == writes


def test_jobs_and_their_pods_wake_the_job() -> None:
    world = World()
    make(world)
    settle(world)
    (pod,) = live(world)
    assert tuple(woken(DECIDER, "pods", None, pod)) == (KEY,)
    assert tuple(woken(DECIDER, "pods", pod, None)) == (KEY,)
    assert tuple(woken(DECIDER, "jobs.batch", None, job(world))) == (KEY,)
    world.add(PODS, "lonely", spec={"containers": [{"name": "main", "image": "a"}]})
    assert tuple(woken(DECIDER, "pods", None, world.get(PODS, "default", "lonely"))) == ()
