"""Nobody acts on what is old: not on a decision made long ago, not on mirrors from before the takeover."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

from fairlead.cache.events import Listed, Marked, Mirrored
from fairlead.cache.view import MirrorView
from fairlead.control.controller import Controller
from fairlead.control.health import Health
from fairlead.control.instructions import Answers, AskProgress, Call, Replied
from fairlead.control.plane import Plane
from fairlead.core import codec
from fairlead.decision.contract import Decision, Reading, Waiting
from fairlead.decision.decider import Decider, Wake
from fairlead.decision.effects import Create
from fairlead.decision.wakes import always
from fairlead.model.key import Key
from fairlead.model.views import PLANE_SETTINGS, PODS, RECORDING_POLICIES
from fairlead.port.driving import Started
from fairlead.port.outcome import Done, Outcome, Refused, Unknown
from fairlead.queue.work import WorkQueue

KEY = Key("pods", "default", "all")


def wants_three(view: Reading, key: Key, now: float) -> Decision:
    bodies = [{"metadata": {"name": name}} for name in "abc"]
    creates = [
        Create(
            identity=f"three/{b['metadata']['name']}",
            resource="pods",
            api_version="v1",
            plural="pods",
            namespace="default",
            name=b["metadata"]["name"],
            body=b,
        )
        for b in bodies
    ]
    return Decision(Waiting("Wanted"), tuple(creates))


THREE = Decider(name="three", reads=(PODS,), wakes=(Wake(PODS, always(KEY)),), decide=wants_three)


def controller() -> Controller:
    calls = count(1)
    return Controller(
        THREE, WorkQueue(), Health(), lambda: next(calls), lambda write: True, lambda: MirrorView({})
    )


def calls(instructions: Iterable[Any]) -> list[Call]:
    return [each for each in instructions if isinstance(each, Call)]


def step(subject: Controller, now: float) -> list[Call]:
    out: list[Any] = []
    subject.step(now, out)
    return calls(out)


def answer(subject: Controller, call: Call, outcome: Outcome, now: float) -> list[Call]:
    out: list[Any] = []
    subject.answered(call.call, outcome, now, 0.5, out)
    return calls(out)


def test_effects_of_one_decision_follow_each_other() -> None:
    subject = controller()
    subject.queue.add(KEY, 0.0)
    first = step(subject, 0.0)[0]
    assert [call.call for call in answer(subject, first, Done(7), 1.0)] == [2]
    assert subject.decided == 1


def test_a_decision_that_took_too_long_is_made_again_before_its_next_effect() -> None:
    subject = controller()
    subject.queue.add(KEY, 0.0)
    first = step(subject, 0.0)[0]
    look = answer(subject, first, Unknown("no answer"), 10.0)[0]
    assert look.request.verb == "get"
    annotations = {"fairlead.dev/operation": "three/a"}
    found = codec.encode({"metadata": {"name": "a", "resourceVersion": "7", "annotations": annotations}})
    assert answer(subject, look, Done(7, found), 11.0) == []
    again = step(subject, 11.0)
    assert subject.decided == 2
    assert [call.request.verb for call in again] == ["create"]


def test_a_new_leader_asks_how_far_its_watches_are_and_waits_for_the_fence() -> None:
    plane = Plane("new", (THREE,))
    sent = list(plane.handle(Started(0.0, 0.5)))
    for name in plane.mirrors:
        sent += plane.handle(Mirrored(name, (Listed(5, (), 0.0, 1),)))
    answers: tuple[Outcome, ...] = (
        Refused(404, "NotFound", ""),
        Done(6, b"{}"),
        Refused(404, "NotFound", ""),
        Done(8, b"{}"),
    )
    lease = calls(sent)[0]
    for number, answer in enumerate(answers):
        now = 0.1 * number
        following = plane.handle(Answers((Replied(lease.call, answer, now, 0.5),)))
        lease = (calls(following) or [lease])[0]
    assert plane.leadership.leads
    assert [each.resource for each in following if isinstance(each, AskProgress)] == [*plane.mirrors]
    assert calls(following) == []
    plane.controllers[0].queue.add(KEY, 0.4)
    for settings in (PLANE_SETTINGS, RECORDING_POLICIES):
        assert calls(plane.handle(Mirrored(settings.name, (Marked(8, 0.4, 2),)))) == []
    assert calls(plane.handle(Mirrored("pods", (Marked(7, 0.4, 2),)))) == []
    begun = calls(plane.handle(Mirrored("pods", (Marked(8, 0.5, 2),))))
    assert [call.request.verb for call in begun] == ["create"]
