"""A binding of which nobody knows whether it was committed, to a node that is by then suspected."""

from __future__ import annotations

import pytest

from fairlead.control.instructions import Call
from fairlead.model.marks import SUSPECT, UNREACHABLE
from fairlead.port.outcome import Unknown
from tests.unit.control.test_placing import Scheduler, found, is_look, target


def closed(scheduler: Scheduler, key: str) -> None:
    scheduler.node("a", taints=[{"key": key, "effect": "NoSchedule"}])


@pytest.fixture
def doubtful() -> tuple[Scheduler, Call]:
    """p was sent to a; there is b by now; and the look that follows."""
    scheduler = Scheduler()
    scheduler.node("a")
    scheduler.pod("p")
    (look,) = scheduler.answer(scheduler.one(), Unknown("no answer"))
    scheduler.node("b", "64")
    return scheduler, look


def looked(scheduler: Scheduler, seconds: float) -> list[Call]:
    """Every call until then, each look answered: it is not bound."""
    calls: list[Call] = []
    for _ in range(int(seconds)):
        for call in scheduler.later(1.0):
            calls.append(call)
            if is_look(call):
                scheduler.answer(call, found("p"))
    return calls


@pytest.mark.parametrize("key", [SUSPECT, UNREACHABLE])
def test_it_is_looked_at_for_as_long_as_it_may_arrive_and_then_placed_elsewhere(
    doubtful: tuple[Scheduler, Call], key: str
) -> None:
    scheduler, look = doubtful
    closed(scheduler, key)
    scheduler.answer(look, found("p"))
    early = looked(scheduler, 29)
    assert early
    assert all(is_look(each) for each in early)
    assert scheduler.placer.snapshot.assumed  # its room on a is kept as long
    later = [each for each in looked(scheduler, 30) if not is_look(each)]
    assert [target(each) for each in later] == ["b"]


def test_one_that_arrives_after_all_is_found(doubtful: tuple[Scheduler, Call]) -> None:
    scheduler, look = doubtful
    closed(scheduler, SUSPECT)
    scheduler.answer(look, found("p"))
    (again,) = scheduler.later(5)
    assert is_look(again)
    scheduler.answer(again, found("p", "a"))
    assert looked(scheduler, 60) == []
    assert scheduler.reasons() == ["Scheduled"]


def test_a_node_that_is_heard_again_is_bound_to_again(doubtful: tuple[Scheduler, Call]) -> None:
    scheduler, look = doubtful
    closed(scheduler, SUSPECT)
    scheduler.answer(look, found("p"))
    scheduler.node("a")
    calls = looked(scheduler, 10)
    assert [target(each) for each in calls if not is_look(each)][:1] == ["a"]
