"""What comes after an answer, where the way through the plane is too long to show it."""

from __future__ import annotations

from fairlead.control.own_writes import Write
from fairlead.control.turn import Next, Turn, rebase
from fairlead.core import codec
from fairlead.decision.contract import Decision
from fairlead.decision.effects import OPERATION, Create, Delete, Effect
from fairlead.model.key import Key
from fairlead.model.premise import Premise
from fairlead.port.outcome import Conflict, Done, Refused, Unknown

KEY = Key("replicasets.apps", "default", "web")
ABSENT = Refused(404, "NotFound", "no such pod")
EXISTS = Conflict("AlreadyExists", "there is one")


def create(*premises: Premise) -> Create:
    return Create(
        identity="web/create/7",
        resource="pods",
        api_version="v1",
        plural="pods",
        namespace="default",
        name="web-x",
        body={},
        premises=premises,
    )


def turn(effect: Effect) -> Turn:
    return Turn(KEY, Decision(effects=(effect,)), 0.0)


def test_a_create_that_a_look_did_not_find_is_sent_once_more_because_the_first_may_still_arrive() -> None:
    subject = turn(create(Premise(KEY, 7)))
    sent = subject.request()
    assert subject.answered(Unknown("no answer")) is Next.LOOK
    assert subject.answered(ABSENT) is Next.SAME
    assert subject.request() == sent
    assert subject.answered(EXISTS) is Next.LOOK
    ours = {"metadata": {"resourceVersion": "9", "annotations": {OPERATION: "web/create/7"}}}
    assert subject.answered(Done(9, codec.encode(ours))) is Next.FINISH
    assert [write.revision for write in subject.writes] == [9]


def test_once_its_premise_is_gone_neither_request_comes_to_anything_and_it_is_decided_again() -> None:
    subject = turn(create(Premise(KEY, 7)))
    subject.answered(Unknown("no answer"))
    subject.answered(ABSENT)
    assert subject.answered(Conflict("Conflict", "the write was bound to a state that is gone")) is Next.LOOK
    assert subject.answered(ABSENT) is Next.AGAIN


def test_a_create_that_came_twice_is_found_though_the_second_was_too_late() -> None:
    subject = turn(create(Premise(KEY, 7)))
    assert (
        subject.answered(Conflict("Conflict", "its owner has changed since", 12, "/".join(KEY))) is Next.LOOK
    )
    ours = {"metadata": {"resourceVersion": "9", "annotations": {OPERATION: "web/create/7"}}}
    assert subject.answered(Done(9, codec.encode(ours))) is Next.FINISH
    assert [write.revision for write in subject.writes] == [9]


def test_when_its_premise_has_moved_the_key_waits_until_the_mirror_shows_that_object_as_it_is_now() -> None:
    subject = turn(create(Premise(KEY, 7)))
    moved = Conflict("Conflict", "the write was bound to a state that is gone", 12, "/".join(KEY))
    assert subject.answered(moved) is Next.LOOK
    assert subject.answered(ABSENT) is Next.AGAIN
    assert subject.writes == [Write(KEY, 12, creates=False)]


def test_without_a_premise_it_is_decided_again() -> None:
    for effect in (
        create(),
        Delete(
            identity="web/gone",
            resource="pods",
            api_version="v1",
            plural="pods",
            namespace="default",
            name="web-x",
            uid="u",
            revision=7,
        ),
    ):
        subject = turn(effect)
        subject.answered(Unknown("no answer"))
        found = {"metadata": {"resourceVersion": "9", "uid": "u"}}
        looked = ABSENT if isinstance(effect, Create) else Done(9, codec.encode(found))
        assert subject.answered(looked) is Next.AGAIN


def test_what_follows_a_write_rests_on_what_came_of_it_and_on_everything_else_as_it_was() -> None:
    pod = Premise(Key("pods", "default", "web-0"), 3)
    namesake = Premise(Key("replicasets.apps", "default", "web-2"), 7)
    moved = rebase(create(pod, Premise(KEY, 7), namesake), Write(KEY, 9, False))
    assert moved == create(pod, Premise(KEY, 9), namesake)
