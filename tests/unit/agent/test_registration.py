"""A Node that others write at the same time: after a conflict the agent goes on as soon as it has seen what moved."""

from __future__ import annotations

import msgspec

from fairlead.agent.calls import Calls
from fairlead.agent.node import Registration
from fairlead.agent.pace import Pace
from fairlead.agent.views import OwnNode
from fairlead.port.outcome import Conflict, Unknown
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
        assert len(registration.step(node(revision), revision, READY, NOW)) == 1
        registration.answered(Conflict("Conflict", "the object has been modified"), NOW, 0.5)
        assert registration.step(node(revision), revision, READY, NOW) == ()
        assert registration.next_at > NOW, "what does not move is tried again all the same"


def test_a_server_that_does_not_answer_is_not_pressed() -> None:
    registration = Registration(SETTINGS, Pace(), Calls())
    assert len(registration.step(node(5), 5, READY, NOW)) == 1
    registration.answered(Unknown("it did not answer"), NOW, 0.5)
    assert registration.step(node(6), 6, READY, NOW) == ()
    assert len(registration.step(node(6), 6, READY, registration.next_at)) == 1
