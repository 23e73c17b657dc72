"""What is under way: calls and postponed looks, as controllers and the scheduler keep them."""

from __future__ import annotations

from itertools import count

import pytest

from fairlead.control.health import Health
from fairlead.control.instructions import Call, Instruction
from fairlead.control.underway import Underway
from fairlead.port.outcome import Done, Unknown
from fairlead.port.request import Request

REQUEST = Request(verb="get", group="", version="v1", plural="pods", namespace="default", name="p")


class World:
    def __init__(self) -> None:
        self.health = Health()
        numbers = count(1)
        self.underway = Underway[str]("tester", self.health, lambda: next(numbers))
        self.out: list[Instruction] = []

    def send(self, what: str) -> int:
        self.underway.send((what,), REQUEST, self.out)
        call = self.out[-1]
        assert isinstance(call, Call)
        assert call.controller == "tester"
        return call.call

    def break_off(self, now: float) -> float:
        """Nobody answers for a while: the breaker opens."""
        while not self.health.breaker.is_open(now):
            self.underway.answered(self.send("lost"), Unknown("no answer"), now)
        return self.health.breaker.open_until


@pytest.fixture
def world() -> World:
    return World()


def test_an_answer_is_for_whoever_sent_the_call_and_for_nobody_twice(world: World) -> None:
    first, second = world.send("one"), world.send("two")
    assert list(world.underway) == ["one", "two"]
    assert world.underway.answered(second, Done(1), 0.0) == ("two",)
    assert world.underway.answered(second, Done(1), 0.0) == ()
    world.underway.forget()
    assert world.underway.answered(first, Done(1), 0.0) == ()
    assert len(world.underway) == 0


def test_all_who_go_by_one_call_take_room_and_hear_of_its_answer(world: World) -> None:
    world.underway.send(("one", "two"), REQUEST, world.out)
    call = world.out[-1]
    assert isinstance(call, Call)
    assert list(world.underway) == ["one", "two"]
    assert (len(world.underway), world.underway.may_begin(2, 0.0)) == (2, False)
    assert world.underway.answered(call.call, Done(1), 0.0) == ("one", "two")
    assert (len(world.underway), world.underway.may_begin(2, 0.0)) == (0, True)


def test_what_is_postponed_takes_room_until_it_is_due(world: World) -> None:
    world.underway.postpone("look", 10.0, 0.5)
    at = 10.0 + world.health.settings.loop.look_again_seconds
    assert len(world.underway) == 1
    assert not world.underway.idle
    assert not world.underway.may_begin(1, 10.0)
    assert world.underway.may_begin(2, 10.0)
    assert world.underway.next_at(1, lambda now: now, 10.0) == at
    assert list(world.underway.due(at - 0.001)) == []
    assert list(world.underway.due(at)) == ["look"]
    assert world.underway.idle


def test_a_retry_that_the_budget_does_not_pay_for_is_put_off_until_it_does(world: World) -> None:
    while world.health.budget.take(1.0):
        pass
    assert not world.underway.is_paid("look", 1.0)
    at = world.underway.next_at(0, lambda now: None, 1.0)
    assert at == pytest.approx(1.0 + 1 / world.health.budget.settings.per_second)
    assert [each for each in world.underway.due(at) if world.underway.is_paid(each, at)] == ["look"]


def test_nothing_begins_while_the_breaker_is_open(world: World) -> None:
    until = world.break_off(1.0)
    assert not world.underway.may_begin(100, 1.0)
    assert world.underway.next_at(100, lambda now: now, 1.0) == until
    assert world.underway.may_begin(100, until)
