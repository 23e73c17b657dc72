"""How the driver gathers what comes together: records into one transaction, answers into one turn of the loop."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from fairlead.control.instructions import Answers, Call, PlaneEvent, Record
from fairlead.port.driving import Started
from fairlead.port.request import Reply, Request
from fairlead.runtime.server.plane_driver import PlaneDriver

GET = Request(verb="get", group="", version="v1", plural="pods", namespace="default", name="web")


class Loop:
    def __init__(self) -> None:
        self.soon: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()

    def call_soon(self, callback: Callable[..., None], *arguments: Any) -> None:
        self.soon.append((callback, arguments))

    def turn(self) -> None:
        for _ in range(len(self.soon)):
            callback, arguments = self.soon.popleft()
            callback(*arguments)


class Host:
    def __init__(self) -> None:
        self.done: list[tuple[str, Any]] = []
        self.answers: list[Callable[[Reply], None]] = []

    def note(self, notes: tuple[Any, ...]) -> None:
        self.done.append(("note", [note.body for note in notes]))

    def send(self, request: Request, user: Any, done: Callable[[Reply], None], context: Any = None) -> None:
        self.done.append(("send", request.name))
        self.answers.append(done)


class Plane:
    leadership = SimpleNamespace(leads=False)
    health = SimpleNamespace(settings=SimpleNamespace(generation=0))

    def __init__(self, *instructions: Any) -> None:
        self.instructions = instructions
        self.heard: list[list[int]] = []

    def handle(self, event: PlaneEvent) -> tuple[Any, ...]:
        if isinstance(event, Started):
            return self.instructions
        assert isinstance(event, Answers)
        self.heard.append([reply.call for reply in event.replies])
        return ()

    def end_term(self) -> tuple[Any, ...]:
        return ()


def started(*instructions: Any) -> tuple[Loop, Host, Plane, PlaneDriver]:
    loop, host, plane = Loop(), Host(), Plane(*instructions)
    nothing: Any = None
    driver = PlaneDriver(loop, plane, host, nothing, nothing, lambda: 0.0, pytest.fail, tape=False)  # type: ignore[arg-type]
    driver.start()
    return loop, host, plane, driver


@pytest.mark.parametrize(
    ("instructions", "done"),
    [
        ([Record(b"1"), Record(b"2")], [("note", [b"1", b"2"])]),
        ([Record(b"1"), Call(1, "x", GET)], [("note", [b"1"]), ("send", "web")]),
        ([Call(1, "x", GET), Record(b"1")], [("send", "web"), ("note", [b"1"])]),
        (
            [Record(b"1"), Record(b"2"), Call(1, "x", GET), Record(b"3")],
            [("note", [b"1", b"2"]), ("send", "web"), ("note", [b"3"])],
        ),
    ],
)
def test_records_in_a_row_are_one_transaction_and_stay_before_what_followed_them(
    instructions: list[Any], done: list[Any]
) -> None:
    _, host, _, _ = started(*instructions)
    assert host.done == done


def test_answers_that_come_together_are_told_together_and_in_order() -> None:
    loop, host, plane, _ = started(*[Call(number, "x", GET) for number in range(1, 4)])
    for answer in host.answers:
        answer(Reply(200, b"{}"))
    assert plane.heard == []
    loop.turn()
    assert plane.heard == [[1, 2, 3]]
    assert not loop.soon


def test_others_get_their_turn_between_many_answers_and_none_is_lost() -> None:
    loop, host, plane, _ = started(*[Call(number, "x", GET) for number in range(150)])
    for answer in host.answers:
        answer(Reply(200, b"{}"))
    loop.turn()
    assert len(plane.heard) == 1
    assert len(plane.heard[0]) < 150
    while loop.soon:
        loop.turn()
    assert [call for calls in plane.heard for call in calls] == list(range(150))


def test_an_answer_that_comes_while_others_are_being_told_is_told_next() -> None:
    loop, host, plane, _ = started(Call(1, "x", GET), Call(2, "x", GET))
    first, second = host.answers
    first(Reply(200, b"{}"))
    loop.turn()
    second(Reply(200, b"{}"))
    loop.turn()
    assert plane.heard == [[1], [2]]


def test_nothing_is_told_after_it_was_stopped() -> None:
    loop, host, plane, driver = started(Call(1, "x", GET))
    host.answers[0](Reply(200, b"{}"))
    driver.stop()
    loop.turn()
    assert plane.heard == []


def test_a_request_that_the_api_fails_at_is_answered_as_any_clients_and_the_plane_goes_on() -> None:
    class FailingHost(Host):
        def send(
            self, request: Request, user: Any, done: Callable[[Reply], None], context: Any = None
        ) -> None:
            raise LookupError("a fault of the API")

    loop, plane = Loop(), Plane(Call(1, "x", GET), Call(2, "x", GET))
    nothing: Any = None
    driver = PlaneDriver(loop, plane, FailingHost(), nothing, nothing, lambda: 0.0, pytest.fail, tape=False)  # type: ignore[arg-type]
    driver.start()
    loop.turn()
    assert plane.heard == [[1, 2]]
