"""The budget of retries: what it earns, what it pays for, who waits and in which order."""

from __future__ import annotations

import pytest

from fairlead.control.budget import BudgetSettings, RetryBudget

SMALL = BudgetSettings(share=0.25, per_second=2.0, burst=3)


def emptied(settings: BudgetSettings = SMALL) -> RetryBudget[str]:
    budget: RetryBudget[str] = RetryBudget(settings)
    for _ in range(settings.burst):
        assert budget.take(100.0)
    return budget


def test_what_was_saved_up_can_be_spent_at_once_and_no_more() -> None:
    assert not emptied().take(100.0)


@pytest.mark.parametrize(
    ("successes", "seconds", "retries"), [(0, 0.5, 1), (4, 0.0, 1), (3, 0.0, 0), (2, 0.25, 1)]
)
def test_it_is_earned_by_time_and_by_calls_that_went_well(
    successes: int, seconds: float, retries: int
) -> None:
    budget = emptied()
    for _ in range(successes):
        budget.earned()
    assert [budget.take(100.0 + seconds) for _ in range(2)].count(True) == retries


def test_more_than_the_burst_is_not_saved() -> None:
    budget = emptied()
    for _ in range(1000):
        budget.earned()
    assert budget.left(10_000.0) == 3.0


def test_who_waits_is_let_go_in_the_order_of_coming_and_nobody_overtakes() -> None:
    budget = emptied()
    assert [budget.take_or_wait(name, 100.0) for name in "abc"] == [False] * 3
    assert not budget.take_or_wait("d", 100.6), "there is one by now, but others were first"
    assert budget.released(100.6) == ["a"]
    assert budget.released(100.6) == []
    assert budget.released(102.2) == ["b", "c", "d"]
    assert (budget.held_back, budget.spent) == (4, 3 + 4)


def test_a_timer_set_to_the_time_it_names_finds_a_retry() -> None:
    budget = emptied(BudgetSettings(share=0.1, per_second=3.0, burst=7))
    now = 100.0
    for _ in range(100):
        budget.take_or_wait("x", now)
        now = budget.ready_at(now)
        assert budget.released(now) == ["x"]


def test_a_clock_that_goes_back_earns_nothing_and_breaks_nothing() -> None:
    budget = emptied()
    assert not budget.take(50.0)
    assert budget.take(50.5)


def test_new_settings_hold_from_now_on() -> None:
    budget: RetryBudget[str] = RetryBudget(SMALL)
    budget.apply(BudgetSettings(share=0.0, per_second=1.0, burst=1))
    assert [budget.take(0.0), budget.take(0.0)] == [True, False]
    budget.earned()
    assert not budget.take(0.9)
