"""Whoever takes the lease and is slow to fence does not fence out the one who took it after."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from fairlead.control.instructions import Call, Replied
from fairlead.control.leadership import FENCE, LEASE, NAMESPACE, RESOURCE, Leadership, LeadershipPhase
from fairlead.core import codec
from fairlead.model.key import Key
from fairlead.model.premise import Premise
from fairlead.port.driving import Started, Woke
from fairlead.port.outcome import Conflict, Done, Outcome, Refused


def lease(holder: str, transitions: int, revision: int) -> Done:
    spec = {"holderIdentity": holder, "leaseTransitions": transitions, "leaseDurationSeconds": 15}
    body = {"metadata": {"name": LEASE, "resourceVersion": str(revision)}, "spec": spec}
    return Done(revision, codec.encode(body))


def answer(subject: Leadership, outcome: Outcome, now: float) -> tuple[Any, ...]:
    """To the call that is under way."""
    return subject.handle(Replied(subject._call, outcome, now, 0.5))


def taker() -> tuple[Leadership, Any]:
    """Has taken a free lease at revision 10 as its second holder, and reads the fence."""
    numbers = count(1)
    subject = Leadership("slow", lambda: next(numbers))
    subject.handle(Started(0.0))
    answer(subject, lease("", 1, 9), 0.1)
    (read,) = answer(subject, lease("slow", 2, 10), 0.2)
    assert isinstance(read, Call)
    assert (subject.phase, read.request.name) == (LeadershipPhase.FENCING, FENCE)
    return subject, read


def test_the_fence_is_written_only_while_the_lease_is_the_one_taken() -> None:
    subject, _ = taker()
    (write,) = answer(subject, lease("first", 1, 4), 0.3)
    assert isinstance(write, Call)
    assert write.request.premises == (Premise(Key(RESOURCE, NAMESPACE, LEASE), 10),)


@pytest.mark.parametrize(
    "answers",
    [
        (lease("fast", 3, 12),),  # a later holder's fence is there
        (lease("first", 1, 4), Conflict("Conflict", "the lease has moved")),
        (Refused(404, "NotFound", ""), Conflict("AlreadyExists", "there is a fence")),
    ],
)
def test_a_taker_that_finds_a_successor_stands_by(answers: tuple[Outcome, ...]) -> None:
    subject, _ = taker()
    for each in answers:
        answer(subject, each, 0.4)
    assert subject.phase is LeadershipPhase.STANDBY


def test_an_answer_from_before_standing_by_is_not_taken_for_the_lease() -> None:
    subject, _ = taker()
    subject.handle(Woke(100.0))  # its lease has ended meanwhile
    assert subject.phase is LeadershipPhase.STANDBY
    answer(subject, lease("slow", 2, 11), 100.1)  # the fence, read at last
    assert subject.phase is LeadershipPhase.STANDBY
    (read,) = subject.handle(Woke(100.2))
    assert isinstance(read, Call)
    assert (read.request.verb, read.request.name) == ("get", LEASE)
