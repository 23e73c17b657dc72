"""Failures, back-off, jitter; the overall rate; settings while running."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.decision.retry import RetryPolicy
from fairlead.model.key import Key
from fairlead.queue.entry import Priority
from fairlead.queue.rate import Rate
from fairlead.queue.settings import QueueSettings
from fairlead.queue.work import WorkQueue

A, B = Key("pods", "x", "a"), Key("pods", "x", "b")


def fail(queue: WorkQueue[Key], now: float, chance: float = 0.5) -> float:
    """Pop the key, fail, and say when it may run again."""
    turn = queue.pop(now)
    assert turn is not None
    at = queue.retry(turn.key, now, chance)
    queue.done(turn.key, now)
    return at


def failures(queue: WorkQueue[Key]) -> int:
    """Of A, in a row so far."""
    return {each.key: each.failures for each in queue.snapshot(0.0).most_retried}.get(A, 0)


@pytest.mark.parametrize(
    ("attempt", "chance", "seconds"),
    [
        (1, 0.5, 1.0),
        (2, 0.5, 2.0),
        (5, 0.5, 16.0),
        (6, 0.5, 20.0),
        (10_000, 0.5, 20.0),
        (1, 0.0, 0.75),
        (3, 0.0, 3.0),
        (3, 0.75, 4.5),
    ],
)
def test_back_off_doubles_up_to_its_limit_with_jitter_around_it(
    attempt: int, chance: float, seconds: float
) -> None:
    settings = QueueSettings(backoff_seconds=1.0, backoff_max_seconds=20.0, backoff_jitter=0.25)
    assert settings.delay(attempt, chance) == seconds


def test_a_key_that_fails_again_and_again_waits_longer_each_time_until_it_is_forgotten() -> None:
    queue: WorkQueue[Key] = WorkQueue(QueueSettings(backoff_seconds=1.0))
    queue.add(A, 0.0)
    assert fail(queue, 0.0) == 1.0
    assert queue.next_ready_at(0.0) == 1.0
    assert fail(queue, 1.0) == 3.0
    assert fail(queue, 3.0) == 7.0
    assert failures(queue) == 3
    turn = queue.pop(7.0)
    assert turn is not None
    assert turn.failures == 3
    queue.forget(A)
    queue.done(A, 7.0)
    queue.add(A, 8.0)
    assert fail(queue, 8.0) == 9.0


def test_a_failure_without_retry_ends_with_the_turn() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    queue.add(A, 0.0)
    at = fail(queue, 0.0)
    queue.pop(at)
    queue.done(A, at)
    assert failures(queue) == 0


def test_looking_again_later_keeps_the_failures() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    queue.add(A, 0.0)
    at = fail(queue, 0.0)
    queue.pop(at)
    queue.add_at(A, at, at + 60)
    queue.done(A, at)
    assert failures(queue) == 1


def test_a_change_brings_a_failed_key_forward_and_it_still_has_one_turn() -> None:
    queue: WorkQueue[Key] = WorkQueue(QueueSettings(backoff_seconds=10.0))
    queue.add(A, 0.0)
    fail(queue, 0.0)
    queue.add(A, 1.0)
    assert queue.pop(1.0) is not None
    queue.done(A, 1.0)
    assert queue.pop(50.0) is None


def test_a_retry_keeps_the_priority_of_the_turn_that_failed() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    queue.add(A, 0.0, Priority.HIGH)
    at = fail(queue, 0.0)
    queue.add(B, 0.0)
    turn = queue.pop(at)
    assert turn is not None
    assert turn.key == A


def test_an_effect_can_bring_its_own_back_off() -> None:
    queue: WorkQueue[Key] = WorkQueue()
    queue.add(A, 0.0)
    queue.pop(0.0)
    policy = RetryPolicy(backoff_seconds=7.0, jitter=0.0)
    assert queue.retry(A, 0.0, 0.5, policy) == 7.0
    queue.done(A, 0.0)
    assert queue.next_ready_at(0.0) == 7.0


def test_the_overall_rate_lets_a_burst_through_and_then_one_per_interval() -> None:
    queue: WorkQueue[Key] = WorkQueue(QueueSettings(rate_per_second=4.0, rate_burst=2))
    for number in range(5):
        queue.add(Key("pods", "x", str(number)), 0.0)
    times = []
    now: float | None = 100.0
    while (now := queue.next_ready_at(now or 0.0)) is not None:
        assert queue.pop(now) is not None
        times.append(now)
    assert times == [100.0, 100.0, 100.25, 100.5, 100.75]


def test_a_turn_before_the_rate_allows_it_is_not_given_and_nothing_is_lost() -> None:
    queue: WorkQueue[Key] = WorkQueue(QueueSettings(rate_per_second=1.0, rate_burst=1))
    queue.add(A, 0.0)
    queue.add(B, 0.0)
    assert queue.pop(0.0) is not None
    assert queue.pop(0.9) is None
    assert queue.snapshot(0.9).ready == 1
    assert queue.pop(1.0) is not None


def test_the_timer_takes_the_later_of_due_and_rate() -> None:
    queue: WorkQueue[Key] = WorkQueue(QueueSettings(rate_per_second=0.1, rate_burst=1))
    queue.add(A, 0.0)
    queue.pop(0.0)
    queue.add_at(B, 0.0, 5.0)
    assert queue.next_ready_at(0.0) == 10.0
    assert queue.pop(5.0) is None
    assert queue.pop(10.0) is not None


def test_a_clock_that_went_back_an_hour_costs_one_bucket_and_not_an_hour() -> None:
    rate = Rate(1.0, 3)
    rate.take(7200.0)
    assert rate.ready_at(3600.0) <= 3601.0


def test_new_settings_apply_to_a_running_queue() -> None:
    queue: WorkQueue[Key] = WorkQueue(QueueSettings(rate_per_second=0.001, rate_burst=1))
    for key in (A, B):
        queue.add(key, 0.0)
    queue.pop(0.0)
    assert queue.pop(1.0) is None
    queue.apply(QueueSettings(backoff_seconds=5.0), 1.0)
    assert queue.pop(1.0) is not None
    assert queue.retry(B, 1.0, 0.5) == 6.0
    assert queue.snapshot(1.0).settings == QueueSettings(backoff_seconds=5.0)


@pytest.mark.parametrize(
    ("knob", "value"),
    [
        ("backoff_seconds", -1.0),
        ("backoff_max_seconds", 0.01),
        ("backoff_jitter", 1.5),
        ("rate_per_second", -1.0),
        ("rate_burst", 0),
        ("passes_max", 0),
        ("hot_turns_max", -1),
        ("hot_window_seconds", 0.0),
        ("quarantine_interval_seconds", 0.0),
        ("quarantine_seconds", 0.0),
        ("keys_max", -1),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_by_name(knob: str, value: float) -> None:
    values: dict[str, Any] = {knob: value}
    with pytest.raises(ValueError, match=knob):
        QueueSettings(**values)
