"""Nobody acts on what is old: not on a decision made long ago, not on mirrors from before the takeover."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

from fairlead.cache import events as mirrored
from fairlead.cache.view import MirrorView
from fairlead.control.controller import Controller
from fairlead.control.health import Health
from fairlead.control.instructions import AskProgress, Call, Replied
from fairlead.control.plane import Plane
from fairlead.core import codec
from fairlead.decision.contract import Decision, Reading, Waiting
from fairlead.decision.effects import Create
from fairlead.model.views import PLANE_SETTINGS, PODS, Resource, View
from fairlead.port.outcome import Done, Refused, Unknown
from fairlead.queue.work import WorkQueue
from fairlead.store.contract import Key

KEY = Key("pods", "default", "all")


class Three:
    """Wants three pods at once."""

    name = "three"
    reads: tuple[Resource[View], ...] = (PODS,)

    def keys(self, resource: str, before: View | None, after: View | None) -> Iterable[Key]:
        return (KEY,)

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        bodies = [{"metadata": {"name": name}} for name in "abc"]
        creates = [
            Create(
                f"three/{b['metadata']['name']}", "pods", "v1", "pods", "default", b["metadata"]["name"], b
            )
            for b in bodies
        ]
        return Decision(Waiting("Wanted"), tuple(creates))


def controller() -> Controller:
    calls = count(1)
    return Controller(
        Three(), WorkQueue(), Health(), lambda: next(calls), lambda write: True, lambda: MirrorView({})
    )


def calls(instructions: Iterable[Any]) -> list[Call]:
    return [each for each in instructions if isinstance(each, Call)]


def test_effects_of_one_decision_follow_each_other() -> None:
    subject = controller()
    subject.queue.add(KEY, 0.0)
    first = calls(subject.step(0.0))[0]
    assert [call.call for call in calls(subject.answered(first.call, Done(7), 1.0, 0.5))] == [2]
    assert subject.decided == 1


def test_a_decision_that_took_too_long_is_made_again_before_its_next_effect() -> None:
    subject = controller()
    subject.queue.add(KEY, 0.0)
    first = calls(subject.step(0.0))[0]
    look = calls(subject.answered(first.call, Unknown("no answer"), 10.0, 0.5))[0]
    assert look.request.verb == "get"
    annotations = {"fairlead.dev/operation": "three/a"}
    found = codec.encode({"metadata": {"name": "a", "resourceVersion": "7", "annotations": annotations}})
    assert calls(subject.answered(look.call, Done(7, found), 11.0, 0.5)) == []
    again = calls(subject.step(11.0))
    assert subject.decided == 2
    assert [call.request.verb for call in again] == ["create"]


def test_a_new_leader_asks_how_far_its_watches_are_and_waits_for_the_fence() -> None:
    plane = Plane("new", (Three(),))
    sent = list(plane.begin(0.0, 0.5))
    for name in plane.mirrors:
        sent += plane.mirror(name, mirrored.Listed(5, (), 0.0, 1))
    answers = (Refused(404, "NotFound", ""), Done(6, b"{}"), Refused(404, "NotFound", ""), Done(8, b"{}"))
    lease = calls(sent)[0]
    for number, answer in enumerate(answers):
        now = 0.1 * number
        following = list(plane.replied(Replied(lease.call, answer, now, 0.5)))
        lease = (calls(following) or [lease])[0]
    assert plane.leadership.leads
    assert [each.resource for each in following if isinstance(each, AskProgress)] == [*plane.mirrors]
    assert calls(following) == []
    plane.controllers[0].queue.add(KEY, 0.4)
    assert calls(plane.mirror(PLANE_SETTINGS.name, mirrored.Marked(8, 0.4, 2))) == []
    assert calls(plane.mirror("pods", mirrored.Marked(7, 0.4, 2))) == []
    begun = calls(plane.mirror("pods", mirrored.Marked(8, 0.5, 2)))
    assert [call.request.verb for call in begun] == ["create"]
