"""A Node that others write at the same time: after a conflict the agent goes on as soon as it has seen what moved, and
whoever contradicts it is answered once for each renewal of the lease."""

from __future__ import annotations

import msgspec

from fairlead.agent.calls import Calls
from fairlead.agent.node import Registration
from fairlead.agent.pace import Pace
from fairlead.agent.views import OwnNode
from fairlead.model.marks import HOSTNAME
from fairlead.port.outcome import Conflict, Done, Unknown
from tests.unit.agent.room import NODE, SETTINGS

NOW = 1000.0
READY = (True, "")


def node(revision: int) -> OwnNode:
    body = {
        "metadata": {"name": NODE, "uid": "u", "resourceVersion": str(revision)},
        "spec": {},
        "status": {},
    }
    return msgspec.convert(body, OwnNode)


def test_every_conflict_is_followed_by_another_attempt_once_the_mirror_has_moved() -> None:
    registration = Registration(SETTINGS, Pace(), Calls())
    for revision in range(5, 9):
        assert len(registration.step(node(revision), revision, READY, 1, NOW)) == 1
        registration.answered(Conflict("Conflict", "the object has been modified"), NOW, 0.5)
        assert registration.step(node(revision), revision, READY, 1, NOW) == ()
        assert registration.next_at > NOW, "what does not move is tried again all the same"


def test_after_a_conflict_nothing_is_said_again_before_the_mirror_has_passed_the_version_that_won() -> None:
    registration = Registration(SETTINGS, Pace(), Calls())
    assert len(registration.step(node(5), 5, READY, 1, NOW)) == 1
    registration.answered(Conflict("Conflict", "the object has been modified", revision=8), NOW, 0.5)
    assert registration.step(node(5), 5, READY, 1, NOW + 3600.0) == (), "it would be refused again"
    assert registration.step(node(7), 7, READY, 1, NOW + 3600.0) == ()
    assert len(registration.step(node(8), 8, READY, 1, NOW + 3600.0)) == 1


def test_a_server_that_does_not_answer_is_not_pressed() -> None:
    registration = Registration(SETTINGS, Pace(), Calls())
    assert len(registration.step(node(5), 5, READY, 1, NOW)) == 1
    registration.answered(Unknown("it did not answer"), NOW, 0.5)
    assert registration.step(node(6), 6, READY, 1, NOW) == ()
    assert len(registration.step(node(6), 6, READY, 1, registration.next_at)) == 1


def known(revision: int) -> OwnNode:
    """With its labels and annotations, and a status that somebody else wrote."""
    labels = {HOSTNAME: NODE, **SETTINGS.labels}
    metadata = {"name": NODE, "uid": "u", "resourceVersion": str(revision), "labels": labels}
    body = {"metadata": {**metadata, "annotations": dict(SETTINGS.annotations)}, "spec": {}, "status": {}}
    return msgspec.convert(body, OwnNode)


def test_who_contradicts_is_answered_once_for_each_renewal() -> None:
    registration = Registration(SETTINGS, Pace(), Calls())
    assert len(registration.step(known(5), 5, READY, 1, NOW)) == 1
    registration.answered(Done(6), NOW, 0.5)
    assert registration.step(known(7), 7, READY, 1, NOW) == (), "it would only say the same again"
    assert registration.next_at == NOW + Pace().node_status_seconds
    assert len(registration.step(known(7), 7, READY, 2, NOW)) == 1


def test_something_new_is_said_at_once() -> None:
    registration = Registration(SETTINGS, Pace(), Calls())
    registration.step(known(5), 5, READY, 1, NOW)
    registration.answered(Done(6), NOW, 0.5)
    assert len(registration.step(known(7), 7, (False, "node is shutting down"), 1, NOW)) == 1
    registration.answered(Done(8), NOW, 0.5)
    registration.disk = "full"
    assert len(registration.step(known(9), 9, (False, "node is shutting down"), 1, NOW)) == 1
