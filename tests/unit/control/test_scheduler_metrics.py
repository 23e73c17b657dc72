"""The scheduler's metrics: each moves when what it counts happens, and the text form is one that Prometheus reads."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.access.sight import EVERYTHING
from fairlead.control.placement_tally import SCHEDULED, Distribution, PlacementTally
from fairlead.port.request import Reply
from fairlead.runtime.metrics.scheduler import scheduler_samples
from fairlead.runtime.server import extensions
from fairlead.schedule.waiting import FLUSH, TakenPod
from tests.inprocess import InProcess
from tests.metrics import named
from tests.unit.control.driving import Driver

PODS = "/api/v1/namespaces/default/pods"
PROFILE = ("profile", "default-scheduler")


def pod(name: str, cpu: str) -> dict[str, Any]:
    requests = {"requests": {"cpu": cpu}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "x", "resources": requests}]},
    }


@pytest.fixture
def driver() -> Driver:
    driver = Driver(InProcess())
    driver.run(5)
    return driver


def read(driver: Driver) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return named(scheduler_samples(driver.plane.placer))


def test_all_start_at_zero(driver: Driver) -> None:
    assert set(read(driver).values()) == {0}


def test_a_pod_that_is_bound_counts_as_scheduled_after_one_attempt(driver: Driver) -> None:
    driver.api.post(PODS, pod("fits", "1"))
    driver.run(5)
    seen = read(driver)
    assert seen["scheduler_schedule_attempts_total", (PROFILE, ("result", "scheduled"))] == 1
    duration = "scheduler_scheduling_attempt_duration_seconds"
    assert seen[f"{duration}_count", (PROFILE, ("result", "scheduled"))] == 1
    assert seen["scheduler_pod_scheduling_sli_duration_seconds_count", ()] == 1
    assert seen["scheduler_pod_scheduling_attempts_bucket", (("le", "1"),)] == 1
    assert seen["scheduler_queue_incoming_pods_total", (("event", "PodAdd"), ("queue", "active"))] == 1
    assert seen["fairlead_scheduler_assumed", ()] == 0


def test_a_pod_that_fits_nowhere_counts_as_unschedulable_and_waits_for_the_plugin_that_refused_it(
    driver: Driver,
) -> None:
    driver.api.post(PODS, pod("too-large", "4000"))
    driver.run(5)
    seen = read(driver)
    assert seen["scheduler_schedule_attempts_total", (PROFILE, ("result", "unschedulable"))] >= 1
    assert seen["scheduler_schedule_attempts_total", (PROFILE, ("result", "scheduled"))] == 0
    assert seen["scheduler_pending_pods", (("queue", "unschedulable"),)] == 1
    assert seen["scheduler_unschedulable_pods", (("plugin", "NodeResourcesFit"), PROFILE)] == 1
    waits = (("event", "ScheduleAttemptFailure"), ("queue", "unschedulable"))
    assert seen["scheduler_queue_incoming_pods_total", waits] >= 1
    assert seen["fairlead_scheduler_flushes_total", ()] == 0


def test_a_long_wait_is_flushed_and_counted_as_needed_only_if_the_pod_is_then_bound(driver: Driver) -> None:
    driver.api.post(PODS, pod("too-large", "4000"))
    driver.run(600)
    seen = read(driver)
    assert seen["fairlead_scheduler_flushes_total", ()] >= 1
    timed_out = (("event", "UnschedulableTimeout"), ("queue", "active"))
    assert (
        seen["scheduler_queue_incoming_pods_total", timed_out] == seen["fairlead_scheduler_flushes_total", ()]
    )
    assert seen["fairlead_scheduler_flushes_needed_total", ()] == 0


def test_a_flush_that_led_to_a_binding_was_needed() -> None:
    tally = PlacementTally()
    taken: Any = None
    for cause in (FLUSH, "nodes"):
        taken = TakenPod(taken, 1, 0.0, 0.0, cause)
        tally.ended(SCHEDULED, taken, 0.0, 0.0)
    assert tally.flushes_needed == 1


def test_new_leadership_counts_on(driver: Driver) -> None:
    driver.api.post(PODS, pod("fits", "1"))
    driver.run(5)
    assert driver.plane.placer is not None
    before = read(driver)
    driver.plane.placer.lead(driver.now)
    assert read(driver) == before


@pytest.mark.parametrize(
    ("value", "counts"),
    [(0, [1, 0, 0]), (1, [1, 0, 0]), (1.5, [0, 1, 0]), (2, [0, 1, 0]), (3, [0, 0, 1])],
)
def test_a_value_belongs_to_the_first_bound_that_it_does_not_exceed(value: float, counts: list[int]) -> None:
    distribution = Distribution((1, 2))
    distribution.add(value)
    assert (distribution.counts, distribution.total) == (counts, value)


def test_histograms_are_announced_once_and_their_buckets_add_up(driver: Driver) -> None:
    for number in range(3):
        driver.api.post(PODS, pod(f"web-{number}", "1"))
    driver.run(5)
    answer = extensions.metrics(lambda: scheduler_samples(driver.plane.placer))
    reply = answer("/metrics", {}, driver.api.context(), EVERYTHING)
    assert isinstance(reply, Reply)
    lines = reply.body.decode().splitlines()
    name = "scheduler_pod_scheduling_attempts"
    assert [line for line in lines if line.startswith(f"# TYPE {name}")] == [f"# TYPE {name} histogram"]
    assert [line for line in lines if line.startswith(name)] == [
        *[f'{name}_bucket{{le="{bound}"}} 3' for bound in ("1", "2", "4", "8", "16", "+Inf")],
        f"{name}_sum 3",
        f"{name}_count 3",
    ]
    announced = [line for line in lines if line.startswith("# TYPE")]
    assert len(announced) == len(set(announced))
