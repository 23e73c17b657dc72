"""The clock of a process: it goes on as it began, whatever is done to the wall clock, and notices what is."""

from __future__ import annotations

import asyncio
import time

import pytest

from fairlead.runtime import clock as clocks
from fairlead.runtime.clock import Clock, ClockStep, follow_wall_clock

HOUR = 3600.0


class Hands:
    """Two clocks that go on together until somebody sets the one on the wall."""

    def __init__(self) -> None:
        self.passed = 0.0
        self.set_by = 0.0
        self.stopped_for = 0.0

    def wall(self) -> float:
        shown = 1_700_000_000.0 + self.passed + self.set_by
        self.passed += self.stopped_for  # between this reading and the next
        return shown

    def steady(self) -> float:
        return 500.0 + self.passed


@pytest.fixture
def hands() -> Hands:
    return Hands()


def test_it_starts_at_the_time_of_day_and_goes_on() -> None:
    clock = Clock()
    assert abs(clock() - time.time()) < 5
    assert clock() <= clock()


@pytest.mark.parametrize("by", [HOUR, -HOUR])
def test_it_does_not_follow_the_wall_clock_and_tells_how_far_that_is_ahead(hands: Hands, by: float) -> None:
    clock = Clock(hands.wall, hands.steady)
    before = clock()
    hands.passed, hands.set_by = 10.0, by
    assert clock() == before + 10
    assert clock.wall() == before + 10 + by
    assert clock.look() == ClockStep(before + 10, by, by)
    assert clock.look() is None
    assert (clock.ahead_seconds, clock.steps) == (by, 1)
    hands.set_by = 0.0
    assert clock.look() == ClockStep(before + 10, -by, 0.0)
    assert (clock.ahead_seconds, clock.steps) == (0.0, 2)


def test_small_steps_count_when_they_have_become_a_large_one(hands: Hands) -> None:
    clock = Clock(hands.wall, hands.steady)
    hands.set_by = 0.6
    assert clock.look() is None
    hands.set_by = 1.2
    found = clock.look()
    assert found is not None
    assert found.seconds == pytest.approx(1.2)


def test_a_process_that_is_stopped_while_it_looks_sees_no_step(hands: Hands) -> None:
    clock = Clock(hands.wall, hands.steady)
    hands.set_by = HOUR
    hands.stopped_for = 30.0
    assert clock.look() is None
    hands.stopped_for = 0.0
    found = clock.look()
    assert found is not None
    assert found.seconds == HOUR


def test_a_step_is_told_in_words() -> None:
    assert str(ClockStep(1_700_000_000.0, -HOUR, -HOUR)) == (
        "the wall clock was set back by 3600 s, from 2023-11-14T22:13:20Z to 2023-11-14T21:13:20Z"
    )


def test_who_follows_it_is_told_of_each_step(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "CLOCK_LOOK_SECONDS", 0.001)
    clock = Clock(hands.wall, hands.steady)
    told: list[float] = []

    async def follow() -> None:
        heard = asyncio.Event()

        def stepped(step: ClockStep) -> None:
            told.append(step.seconds)
            heard.set()

        following = asyncio.create_task(follow_wall_clock(clock, stepped))
        for ahead in (HOUR, -HOUR):
            hands.set_by = ahead
            await asyncio.wait_for(heard.wait(), 10)
            heard.clear()
        following.cancel()

    asyncio.run(follow())
    assert told == [HOUR, -2 * HOUR]
