"""Whether a node says that it is ready while its lease is not renewed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead.agent import contract as c
from fairlead.port.outcome import Outcome, Refused, Unknown
from tests.unit.agent.room import Room

TOKEN = Refused(403, "Forbidden", "this token is for another name")
BUSY = Refused(503, "ServiceUnavailable", "the server has no room for more requests", "later")


class Unrenewed(Room):
    """The node may write its status, and all that comes of its renewals is `answer`."""

    answer: Outcome | None = None

    def answer_next(self, lost_before: bool = False, lost_after: bool = False) -> None:
        if self.answer is None or self.asks[0].request.plural != "leases":
            super().answer_next(lost_before, lost_after)
        else:
            self.tell(c.Answered(self.asks.popleft().call, self.answer, self.now))

    def said(self) -> list[str]:
        """What it wrote of its being ready, in order."""
        written = [each for each in self.requests if (each.plural, each.subresource) == ("nodes", "status")]
        bodies: list[Any] = [json.loads(each.body) for each in written]
        conditions = [each for body in bodies for each in body["status"]["conditions"]]
        return [each["status"] for each in conditions if each["type"] == "Ready"]


def unrenewed(answer: Outcome) -> Unrenewed:
    room = Unrenewed()
    room.begin()
    room.settle()
    room.requests.clear()
    room.answer = answer
    room.pass_time(65)
    return room


@pytest.mark.parametrize("answer", [Unknown("timed out"), BUSY])
def test_a_node_that_nobody_answers_says_nothing_until_its_lease_is_renewed(answer: Outcome) -> None:
    """Or all nodes would be not ready for some seconds after each outage, and their pods with them."""
    room = unrenewed(answer)
    assert room.said() == []
    room.answer = None
    room.pass_time(300)
    assert room.said() == ["True"]


def test_a_node_whose_lease_is_refused_says_that_it_is_not_ready() -> None:
    room = unrenewed(TOKEN)
    assert room.said() == ["False"]
    room.answer = None
    room.pass_time(60)
    assert room.said() == ["False", "True"]
