"""A change whose answer was lost, to an object that somebody changed since: only a new decision can tell whose it was."""

from __future__ import annotations

import pytest

from fairlead.control.turn import Next, Turn
from fairlead.core import codec
from fairlead.decision.contract import Decision
from fairlead.decision.effects import ChangeStatus, Create
from fairlead.model.key import Key
from fairlead.port.outcome import Done, Unknown

KEY = Key("pods", "default", "p")


def looked(found: int) -> tuple[Turn, Next]:
    """The status was decided on revision 7; the look shows this one."""
    effect = ChangeStatus(
        identity="i",
        resource="pods",
        api_version="v1",
        plural="pods",
        namespace="default",
        name="p",
        uid="u",
        revision=7,
        patch={"status": {}},
    )
    turn = Turn(KEY, Decision(effects=(effect,)), 0.0)
    assert turn.answered(Unknown("no answer")) is Next.LOOK
    body = {"metadata": {"name": "p", "uid": "u", "resourceVersion": str(found)}}
    return turn, turn.answered(Done(found, codec.encode(body)))


@pytest.mark.parametrize(("found", "then", "is_open"), [(9, Next.FINISH, True), (7, Next.AGAIN, False)])
def test_what_a_look_leaves_open(found: int, then: Next, is_open: bool) -> None:
    turn, following = looked(found)
    assert (following, turn.is_open) == (then, is_open)


def test_an_answer_leaves_nothing_open() -> None:
    effect = ChangeStatus(
        identity="i",
        resource="pods",
        api_version="v1",
        plural="pods",
        namespace="default",
        name="p",
        uid="u",
        revision=7,
        patch={"status": {}},
    )
    turn = Turn(KEY, Decision(effects=(effect,)), 0.0)
    assert turn.answered(Done(8)) is Next.FINISH
    assert not turn.is_open


def test_a_create_that_is_found_leaves_nothing_open() -> None:
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    turn = Turn(
        KEY,
        Decision(
            effects=(
                Create(
                    identity="i",
                    resource="pods",
                    api_version="v1",
                    plural="pods",
                    namespace="default",
                    name="p",
                    body=body,
                ),
            )
        ),
        0.0,
    )
    turn.answered(Unknown("no answer"))
    turn.answered(
        Done(9, codec.encode({**body, "metadata": {"name": "p", "uid": "u", "resourceVersion": "9"}}))
    )
    assert not turn.is_open
