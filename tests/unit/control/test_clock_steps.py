"""A plane whose wall clock is set: CronJobs follow it, nothing else does, and people and records are told."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.cache.view import MirrorView
from fairlead.core.times import microtime, parse_time
from fairlead.model.key import Key
from fairlead.reconcile.job.cronjob import cronjob_decider
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver

CRONJOBS = "/apis/batch/v1/namespaces/default/cronjobs"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
HOUR = 3600.0
Json = dict[str, Any]


def ticking(**spec: Any) -> Json:
    container = {"name": "c", "image": "busybox"}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "tick"},
        "spec": {"schedule": "*/10 * * * *", "jobTemplate": {"spec": {"template": template}}, **spec},
    }


def slots(api: InProcess) -> list[str]:
    marked = "batch.kubernetes.io/cronjob-scheduled-timestamp"
    return sorted(each["metadata"]["annotations"][marked] for each in api.get(JOBS)[1]["items"])


def events(api: InProcess, namespace: str, reason: str) -> list[str]:
    found = api.get(f"/api/v1/namespaces/{namespace}/events")[1]["items"]
    return [each["message"] for each in found if each["reason"] == reason]


@pytest.fixture
def api() -> InProcess:
    made = InProcess()
    made.now = parse_time("2026-03-02T10:00:30Z")
    return made


@pytest.mark.parametrize("ahead", [HOUR, -HOUR])
def test_the_step_is_told_and_the_lease_goes_on(api: InProcess, ahead: float) -> None:
    driver = Driver(api)
    driver.run(30)
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/fairlead-plane"
    before = api.get(leases)[1]["spec"]["renewTime"]
    driver.step_wall_clock(ahead)
    driver.run(60)
    (told,) = events(api, "kube-system", "ClockStepped")
    assert told.startswith("test: the wall clock was set")
    assert parse_time(api.get(leases)[1]["spec"]["renewTime"]) - parse_time(before) >= 55
    assert driver.plane.leadership.takeovers == 1


def test_what_the_wall_clock_passes_by_is_missed_with_a_word(api: InProcess) -> None:
    driver = Driver(api)
    api.post(CRONJOBS, ticking())
    driver.run(600)
    assert slots(api) == ["2026-03-02T10:10:00Z"]
    driver.step_wall_clock(HOUR)  # it shows 11:10:30
    driver.run(5)
    assert slots(api) == ["2026-03-02T10:10:00Z", "2026-03-02T11:10:00Z"]
    assert events(api, "default", "MissSchedule") == [
        "Missed 5 scheduled times to start a job: only that of 2026-03-02T11:10:00Z is made up for"
    ]
    driver.run(600)
    assert slots(api)[-1] == "2026-03-02T11:20:00Z"
    assert len(slots(api)) == 3


def test_what_is_too_late_by_the_new_time_is_told_and_not_run(api: InProcess) -> None:
    driver = Driver(api)
    api.post(CRONJOBS, ticking(schedule="45 10 * * *", startingDeadlineSeconds=60))
    driver.run(60)
    driver.step_wall_clock(5 * HOUR)
    driver.run(60)
    assert slots(api) == []
    assert events(api, "default", "MissSchedule") == [
        "Missed scheduled time to start a job: 2026-03-02T10:45:00Z"
    ]


def test_what_the_wall_clock_shows_again_is_not_run_again(api: InProcess) -> None:
    driver = Driver(api)
    api.post(CRONJOBS, ticking())
    driver.run(1230)
    ran = ["2026-03-02T10:10:00Z", "2026-03-02T10:20:00Z"]
    assert slots(api) == ran
    driver.step_wall_clock(-HOUR)  # it shows 9:21
    driver.run(HOUR - 120)
    assert slots(api) == ran
    assert events(api, "default", "ClockSetBack") == [
        "the wall clock was set back: what it shows again until 2026-03-02T10:20:00Z has had its turn, and is not run"
        " twice"
    ]
    driver.run(660)
    assert slots(api) == [*ran, "2026-03-02T10:30:00Z"]


def test_one_that_never_ran_is_due_when_the_clock_that_was_set_back_shows_it(api: InProcess) -> None:
    driver = Driver(api)
    api.post(CRONJOBS, ticking())
    driver.run(60)
    driver.step_wall_clock(-HOUR)  # it shows 9:01:30
    driver.run(600)
    assert slots(api) == ["2026-03-02T09:10:00Z"]


def test_one_made_after_the_step_has_missed_nothing(api: InProcess) -> None:
    driver = Driver(api)
    driver.run(30)
    driver.step_wall_clock(HOUR)  # it shows 11:01
    driver.run(2)
    api.now = driver.now
    api.post(CRONJOBS, ticking())
    driver.run(60)
    assert slots(api) == []
    driver.run(600)
    assert slots(api) == ["2026-03-02T11:10:00Z"]


class Again(MirrorView):
    """Answers what was asked of the wall clock from the record."""

    def __init__(self, driver: Driver, record: Json) -> None:
        super().__init__(driver.plane.mirrors)
        self.record = record

    def wall(self, at: float) -> float:
        return parse_time(self.record["wall"][microtime(at)])


def test_a_record_has_both_times_where_both_were_used_and_can_be_decided_again(api: InProcess) -> None:
    driver = Driver(api)
    api.post(CRONJOBS, ticking(schedule="45 10 * * *"))
    driver.run(30)
    driver.step_wall_clock(HOUR)
    at = driver.now
    driver.lose = lambda request: "request" if request.plural == "jobs" else ""
    driver.run(1)
    line, *_ = [each for each in driver.records if each["controller"] == "cronjob" and "effects" in each]
    now, made = line["wall"].items()
    assert now == (line["time"], microtime(at + HOUR))
    assert made[0] == made[1]
    assert not any("wall" in each for each in driver.records if each["controller"] != "cronjob")
    key = Key(*line["object"].split("/"))
    again = cronjob_decider().decide(Again(driver, line), key, parse_time(line["time"]))
    assert [f"{type(effect).__name__} {effect.identity}" for effect in again.effects] == line["effects"]
