"""Bindings that were decided together go as one request; what its answer means for each of them."""

from __future__ import annotations

import pytest

from fairlead.control.instructions import Call
from fairlead.port.outcome import Conflict, Done, Outcome, Refused, Unknown
from tests.unit.control.test_placing import Scheduler, found

NAMES = ("a", "b", "c")


def three() -> tuple[Scheduler, Call]:
    scheduler = Scheduler(together=True)
    scheduler.node("node-1")
    for name in NAMES:
        scheduler.pod(name)
    return scheduler, scheduler.one()


def named(calls: list[Call]) -> list[tuple[str, str]]:
    return [(each.request.verb, each.request.name) for each in calls]


def test_one_request_has_them_all() -> None:
    scheduler, call = three()
    request = call.request
    assert (request.verb, request.subresource, request.name, request.body) == ("create", "binding", "", b"")
    assert [(each.name, each.uid, each.node) for each in request.bindings] == [
        (name, f"uid-{name}", "node-1") for name in NAMES
    ]
    assert len(scheduler.placer.flights.underway) == 3
    assert scheduler.answer(call, Done(each=(True, True, True))) == []
    assert scheduler.reasons() == ["Scheduled"] * 3
    assert scheduler.placer.idle


def test_a_single_one_is_sent_as_any_client_would() -> None:
    scheduler = Scheduler(together=True)
    scheduler.node("node-1")
    scheduler.pod("a")
    request = scheduler.one().request
    assert (request.name, request.bindings) == ("a", ())


def test_where_the_api_cannot_they_go_one_by_one() -> None:
    scheduler = Scheduler()
    scheduler.node("node-1")
    for name in NAMES:
        scheduler.pod(name)
    assert named(scheduler.step()) == [("create", name) for name in NAMES]


def test_one_that_was_left_out_is_asked_for_alone_and_for_the_same_node() -> None:
    scheduler, call = three()
    (again,) = scheduler.answer(call, Done(each=(True, False, True)))
    assert (again.request.name, again.request.bindings) == ("b", ())
    assert b'"name":"node-1"' in again.request.body
    assert scheduler.reasons() == ["Scheduled"] * 2
    scheduler.answer(again, Done(7))
    assert scheduler.reasons() == ["Scheduled"] * 3


@pytest.mark.parametrize(
    "outcome",
    [
        Conflict("Conflict", "the write was bound to a state that is gone"),
        Refused(403, "Forbidden", "never"),
        Done(),
        Done(each=(True,)),
    ],
    ids=["conflict", "refused", "nothing said", "not enough said"],
)
def test_where_the_whole_is_refused_each_is_asked_for_alone(outcome: Outcome) -> None:
    scheduler, call = three()
    first = len(outcome.each) if isinstance(outcome, Done) else 0
    assert named(scheduler.answer(call, outcome)) == [("create", name) for name in NAMES[first:]]


def test_where_the_api_is_busy_each_is_asked_for_alone_after_a_while() -> None:
    scheduler, call = three()
    assert scheduler.answer(call, Refused(503, "ServiceUnavailable", "not now", "later")) == []
    assert named(scheduler.later(10.0)) == [("create", name) for name in NAMES]


def test_without_an_answer_each_is_looked_at() -> None:
    scheduler, call = three()
    looks = scheduler.answer(call, Unknown("no answer"))
    assert named(looks) == [("get", name) for name in NAMES]
    assert scheduler.answer(looks[0], found("a", "node-1")) == []
    assert scheduler.answer(looks[1], found("b")) == []
    assert scheduler.reasons() == ["Scheduled"]
    (again,) = scheduler.later(10.0)
    assert (again.request.verb, again.request.name) == ("create", "b"), "it is asked for again, alone"


def test_a_leader_of_a_new_time_does_not_hear_of_them() -> None:
    scheduler, call = three()
    scheduler.placer.lead(scheduler.now)
    assert scheduler.answer(call, Done(each=(True, True, True))) == []
    assert scheduler.reasons() == []
