"""The CronJob controller: what is started when, what stands in the way, and what is remembered."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.times import parse_time, timestamp
from fairlead.decision.contract import NOTHING, SETTLED, Stuck, Waiting
from fairlead.decision.effects import Delete
from fairlead.model.key import Key
from fairlead.model.views import CRONJOBS, JOBS, CronJob, Job
from fairlead.reconcile.job import cronjob
from fairlead.reconcile.job.cronjob import SCHEDULED_AT, cronjob_decider
from tests.unit.reconcile.waking import woken
from tests.unit.reconcile.world import World, template

DECIDER = cronjob_decider()
KEY = Key("cronjobs.batch", "default", "tick")
START = parse_time("2026-03-02T10:00:30Z")  # half a minute past a full hour, a Monday
Json = dict[str, Any]


def make(world: World, schedule: str = "*/10 * * * *", **spec: Any) -> None:
    job = {"spec": {"template": template(restartPolicy="Never")}, "metadata": {"labels": {"kind": "tick"}}}
    world.add(CRONJOBS, "tick", spec={"schedule": schedule, "jobTemplate": job, **spec})


def new_world(schedule: str = "*/10 * * * *", **spec: Any) -> World:
    world = World(START)
    make(world, schedule, **spec)
    return world


def jobs(world: World) -> list[Job]:
    return list(world.list(JOBS))


def cron(world: World) -> CronJob:
    found = world.get(CRONJOBS, "default", "tick")
    assert found is not None
    return found


def go(world: World, minutes: float) -> list[str]:
    """Time goes on, the controller does what is due; the names of all Jobs there are."""
    world.tick(minutes * 60)
    world.settle([DECIDER])
    return [job.metadata.name for job in jobs(world)]


def name_at(text: str) -> str:
    return f"tick-{int(parse_time(text)) // 60}"


def end(world: World, job: str, condition: str = "Complete") -> None:
    at = timestamp(world.now)
    status: Json = {"startTime": at, "conditions": [{"type": condition, "status": "True"}]}
    if condition == "Complete":
        status["completionTime"] = at
    world.edit_status(JOBS, job, status)


def test_nothing_is_started_before_it_is_due() -> None:
    world = new_world()
    decision = world.decide(DECIDER, KEY)
    assert (decision.verdict, decision.effects) == (Waiting("NotDue"), ())
    assert decision.again_at == parse_time("2026-03-02T10:10:00Z")


def test_a_job_is_started_when_it_is_due_and_called_after_its_instant() -> None:
    world = new_world()
    assert go(world, 9.4) == []
    assert go(world, 0.1) == [name_at("2026-03-02T10:10:00Z")]
    (job,) = jobs(world)
    assert job.metadata.annotations[SCHEDULED_AT] == "2026-03-02T10:10:00Z"
    assert job.metadata.labels["kind"] == "tick"
    assert job.metadata.controller is not None
    assert job.metadata.controller.uid == cron(world).metadata.uid
    status = cron(world).status
    assert status.last_schedule_time == "2026-03-02T10:10:00Z"
    assert [(each["name"], each["uid"]) for each in status.active] == [(job.metadata.name, job.metadata.uid)]
    assert world.decide(DECIDER, KEY).again_at == parse_time("2026-03-02T10:20:00Z")


def test_of_several_missed_instants_only_the_latest_is_made_up_for() -> None:
    world = new_world()
    assert go(world, 45) == [name_at("2026-03-02T10:40:00Z")]
    assert cron(world).status.last_schedule_time == "2026-03-02T10:40:00Z"


def test_a_hundred_missed_instants_are_reported() -> None:
    world = new_world("* * * * *")
    world.tick(100 * 60)
    assert world.decide(DECIDER, KEY).verdict == Waiting("Starting", name_at("2026-03-02T11:40:00Z"))
    world.tick(60)
    decision = world.decide(DECIDER, KEY)
    assert isinstance(decision.verdict, Waiting)
    assert decision.verdict.reason == "TooManyMissedTimes"
    assert [effect.name for effect in decision.effects] == [name_at("2026-03-02T11:41:00Z")]


@pytest.mark.parametrize("deadline", [None, 30])
def test_an_interval_is_counted_from_the_last_start_however_often_it_is_looked_at(
    deadline: int | None,
) -> None:
    world = new_world("@every 10m", **({} if deadline is None else {"startingDeadlineSeconds": deadline}))
    for _ in range(19):
        assert go(world, 0.5) == []
        assert world.decide(DECIDER, KEY).again_at == START + 600
    assert go(world, 0.5) == [name_at("2026-03-02T10:10:30Z")]
    world.tick(60)
    assert world.decide(DECIDER, KEY).again_at == START + 1200


def test_it_can_be_too_late_to_start() -> None:
    world = new_world("0 * * * *", startingDeadlineSeconds=60)
    assert go(world, 62) == []
    assert world.decide(DECIDER, KEY).verdict == Waiting("NotDue")
    assert go(world, 57.6) == [name_at("2026-03-02T12:00:00Z")]


def test_jobs_may_run_beside_each_other() -> None:
    world = new_world()
    go(world, 10)
    assert len(go(world, 10)) == 2
    assert len(cron(world).status.active) == 2


def test_forbid_waits_for_the_running_job_and_starts_the_latest_after_it() -> None:
    world = new_world(concurrencyPolicy="Forbid")
    (first,) = go(world, 10)
    assert go(world, 25) == [first]
    assert world.decide(DECIDER, KEY).verdict == Waiting("JobAlreadyActive", first)
    end(world, first)
    assert go(world, 0) == [first, name_at("2026-03-02T10:30:00Z")]


def test_replace_takes_the_running_job_away_first() -> None:
    world = new_world(concurrencyPolicy="Replace")
    (first,) = go(world, 10)
    world.tick(600)
    decision = world.decide(DECIDER, KEY)
    assert [(type(effect), effect.name) for effect in decision.effects] == [(Delete, first)]
    assert go(world, 0) == [name_at("2026-03-02T10:20:00Z")]


def test_a_suspended_cronjob_starts_nothing_and_catches_up_when_resumed() -> None:
    world = new_world(suspend=True)
    assert go(world, 30) == []
    assert world.decide(DECIDER, KEY).verdict == SETTLED
    world.edit(CRONJOBS, "tick", {"spec": {"suspend": False}})
    assert go(world, 0) == [name_at("2026-03-02T10:30:00Z")]


def test_finished_jobs_are_remembered_up_to_the_limits_oldest_go_first() -> None:
    world = new_world(successfulJobsHistoryLimit=2, failedJobsHistoryLimit=1)
    for number in range(8):
        go(world, 10)
        end(world, jobs(world)[-1].metadata.name, "Failed" if number % 2 else "Complete")
    world.settle([DECIDER])
    ends = [job.status.conditions[0].type for job in jobs(world)]
    assert ends == ["Complete", "Complete", "Failed"]
    assert jobs(world)[-1].metadata.name == name_at("2026-03-02T11:20:00Z")
    assert cron(world).status.active == ()


@pytest.mark.parametrize("kind", ["Complete", "Failed"])
def test_a_limit_of_zero_remembers_none(kind: str) -> None:
    world = new_world(successfulJobsHistoryLimit=0, failedJobsHistoryLimit=0)
    (name,) = go(world, 10)
    end(world, name, kind)
    assert go(world, 0) == []
    assert cron(world).status.last_schedule_time == "2026-03-02T10:10:00Z"


def test_the_last_success_is_reported_and_outlives_the_job() -> None:
    world = new_world(successfulJobsHistoryLimit=0)
    (name,) = go(world, 10)
    end(world, name)
    ended = timestamp(world.now)
    go(world, 1)
    assert cron(world).status.last_successful_time == ended


def test_a_crash_between_start_and_status_starts_nothing_twice() -> None:
    world = new_world()
    world.tick(600)
    world.turn(DECIDER, "tick")
    assert cron(world).status.last_schedule_time == ""
    (name,) = [job.metadata.name for job in jobs(world)]
    end(world, name)
    assert go(world, 0) == [name]
    assert cron(world).status.last_schedule_time == "2026-03-02T10:10:00Z"


def test_a_job_that_is_deleted_is_not_started_again() -> None:
    world = new_world()
    (name,) = go(world, 10)
    world.delete(JOBS, name)
    assert go(world, 1) == []
    assert cron(world).status.active == ()


def test_the_time_zone_is_respected() -> None:
    world = new_world("0 9 * * *", timeZone="America/New_York")
    assert world.decide(DECIDER, KEY).again_at == parse_time("2026-03-02T14:00:00Z")


def test_a_zone_whose_rules_are_not_known_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as one that a newer edition of the database brought, and an older server reads."""
    world = new_world(timeZone="Asia/Gaza")
    monkeypatch.setattr(cronjob, "is_time_zone", lambda name: False)
    assert go(world, 60) == []
    verdict = world.decide(DECIDER, KEY).verdict
    assert isinstance(verdict, Stuck)
    assert verdict.reason == "UnknownTimeZone"


def test_a_schedule_that_cannot_be_read_is_said_so() -> None:
    world = new_world()
    world.overwrite(KEY, lambda cronjob: cronjob["spec"].update(schedule="often"))
    verdict = world.decide(DECIDER, KEY).verdict
    assert isinstance(verdict, Stuck)
    assert verdict.reason == "UnparseableSchedule"


def test_a_schedule_that_is_never_due_waits_for_ever() -> None:
    world = new_world("0 0 31 2 *")
    decision = world.decide(DECIDER, KEY)
    assert (decision.effects, decision.again_at) == ((), 0.0)


def test_a_name_that_a_stranger_has_is_passed_over() -> None:
    world = new_world()
    name = name_at("2026-03-02T10:10:00Z")
    world.add(JOBS, name, spec={"template": template(restartPolicy="Never")})
    assert go(world, 10) == [name]
    assert world.decide(DECIDER, KEY).verdict == Waiting("NameTaken", name)
    assert go(world, 10) == [name, name_at("2026-03-02T10:20:00Z")]


def test_a_strangers_job_that_goes_wakes_the_cronjob_whose_instant_has_its_name() -> None:
    world = new_world()
    name = name_at("2026-03-02T10:10:00Z")
    for each in (name, "tick-late", "tick", "7", "other-7"):
        world.add(JOBS, each, spec={"template": template(restartPolicy="Never")})
    assert sorted(go(world, 10)) == sorted([name, "tick-late", "tick", "7", "other-7"])
    found = {each.metadata.name: each for each in jobs(world)}
    assert list(woken(DECIDER, JOBS.name, found[name], None, world)) == [KEY]
    assert list(woken(DECIDER, JOBS.name, found[name], found[name], world)) == []
    assert list(woken(DECIDER, JOBS.name, None, found[name], world)) == []
    for other in ("tick-late", "tick", "7", "other-7"):
        assert list(woken(DECIDER, JOBS.name, found[other], None, world)) == []
    for each in found:
        world.delete(JOBS, each)
    assert go(world, 1) == [name]
    assert [each.kind for each in jobs(world)[0].metadata.owner_references] == ["CronJob"]
    assert cron(world).status.last_schedule_time == "2026-03-02T10:10:00Z"
    assert list(woken(DECIDER, JOBS.name, jobs(world)[0], None, world)) == [KEY]


def test_a_cronjob_that_is_being_deleted_starts_nothing() -> None:
    world = new_world()
    world.delete(CRONJOBS, "tick", policy="Foreground")
    world.tick(3600)
    assert world.decide(DECIDER, KEY) == NOTHING


def test_between_two_instants_nothing_is_written() -> None:
    world = new_world()
    go(world, 10)
    writes = len(world.writes)
    go(world, 9)
    assert len(world.writes) == writes


def test_cronjobs_and_their_jobs_wake_the_cronjob() -> None:
    world = new_world()
    go(world, 10)
    assert tuple(woken(DECIDER, "jobs.batch", jobs(world)[0], None)) == (KEY,)
    assert tuple(woken(DECIDER, "cronjobs.batch", None, cron(world))) == (KEY,)
    world.add(JOBS, "lonely", spec={"template": template(restartPolicy="Never")})
    assert tuple(woken(DECIDER, "jobs.batch", None, world.get(JOBS, "default", "lonely"))) == ()
