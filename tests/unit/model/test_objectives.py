"""What was kept of an objective: budget, what is spent of it, how fast, and when that comes to an end."""

from __future__ import annotations

import random

import pytest

from fairlead.model.objectives import Lacked, ObjectiveAccount, Seen

T0 = 1_000_000.0
DAY = 86_400.0


def account(
    *seen: tuple[float, int, int], objective: float = 99.0, window: float = DAY, **more: Lacked
) -> ObjectiveAccount:
    return ObjectiveAccount(
        objective, window, [Seen(T0 + at, available, wanted) for at, available, wanted in seen], **more
    )


def test_a_day_of_99_percent_has_a_budget_of_864_seconds() -> None:
    assert account().budget == pytest.approx(864.0)


def test_a_share_of_replicas_that_is_missing_counts_as_that_share_of_the_time() -> None:
    found = account((0, 3, 3), (100, 2, 3), (400, 3, 3))
    assert found.lacked(T0, T0 + 1000) == pytest.approx(100.0)
    assert found.spent(T0 + 1000) == pytest.approx(100 / 864)


def test_what_is_out_of_the_window_counts_no_more() -> None:
    found = account((0, 0, 1), (432, 1, 1))
    assert found.spent(T0 + 1000) == pytest.approx(0.5)
    assert found.spent(T0 + DAY + 216) == pytest.approx(0.25)
    assert found.spent(T0 + DAY + 432) == 0.0


def test_nothing_wanted_lacks_nothing() -> None:
    assert account((0, 0, 0)).spent(T0 + DAY) == 0.0


def test_burn_is_how_many_times_faster_than_would_spend_it_in_a_window() -> None:
    assert account((0, 0, 1)).burn(T0 + 3600) == pytest.approx(100.0)
    assert account((0, 1, 1), (3564, 0, 1)).burn(T0 + 3600) == pytest.approx(1.0)


def test_it_comes_to_be_spent_after_the_budget_and_is_no_longer_when_that_leaves_the_window() -> None:
    down = account((0, 0, 1))
    assert down.turns_at(T0 + 10) == pytest.approx(T0 + 864)
    again = account((0, 0, 1), (1000, 1, 1))
    assert again.spent(T0 + 2000) > 1.0
    assert again.turns_at(T0 + 2000) == pytest.approx(T0 + DAY + 136)
    assert account((0, 1, 1)).turns_at(T0) == 0.0


def test_what_was_summed_up_counts_until_all_of_it_has_left() -> None:
    found = account((500, 1, 1), earlier=Lacked(T0, T0 + 500, 86.4))
    assert found.spent(T0 + 600) == pytest.approx(0.1)
    assert found.spent(T0 + 499 + DAY) == pytest.approx(0.1)
    assert found.spent(T0 + 501 + DAY) == 0.0


def test_availability_is_of_the_time_that_was_seen() -> None:
    assert account((0, 0, 1), (100, 1, 1)).availability(T0 + 1000) == pytest.approx(0.9)
    assert account().availability(T0) == 1.0


@pytest.mark.parametrize("seed", range(50))
def test_the_instant_at_which_it_turns_is_right_whatever_was_seen(seed: int) -> None:
    chance = random.Random(seed)
    at, seen = 0.0, []
    for _ in range(chance.randint(1, 8)):
        seen.append((at, chance.randint(0, 3), 3))
        at += chance.choice((10.0, 500.0, 5000.0))
    found = account(*seen, objective=chance.choice((90.0, 99.0)), window=10_000.0)
    now = T0 + at
    turns = found.turns_at(now)
    before = found.spent(now) >= 1.0
    if not turns:
        assert all((found.spent(now + step) >= 1.0) == before for step in range(0, 20_000, 50))
    else:
        assert (found.spent(turns + 0.5) >= 1.0) != before
        between = [now + (turns - now) * part / 50 for part in range(50)]
        assert all((found.spent(each) >= 1.0) == before for each in between)
