"""The checker of what objectives remember."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sim.checkers.story import Json, Story, told_by

OBJECTIVES = "servicelevelobjectives.fairlead.dev"
FIRST, SECOND, THIRD = "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z", "2026-01-01T00:00:03Z"


def objective(*instants: str, summed: str = "", available: int = 0) -> Json:
    changes = [{"at": at, "available": available, "wanted": 0} for at in instants]
    status: Json = {"changes": changes} | ({"earlier": {"since": FIRST, "until": summed}} if summed else {})
    spec = {"target": {"kind": "Deployment", "name": "web"}, "objective": 99.0}
    return {"metadata": {"name": "web"}, "spec": spec, "status": status}


def forgotten(story: Story) -> None:
    story.commit(OBJECTIVES, objective(FIRST, SECOND))
    story.commit(OBJECTIVES, objective(THIRD))


def dated_back(story: Story) -> None:
    story.commit(OBJECTIVES, objective(FIRST, THIRD))
    story.commit(OBJECTIVES, objective(FIRST, THIRD, SECOND))


def not_what_there_is(story: Story) -> None:
    story.commit(OBJECTIVES, objective(FIRST, available=3))
    story.rest()


def test_what_is_added_and_what_is_summed_up_breaks_nothing() -> None:
    story = Story()
    story.commit(OBJECTIVES, objective(FIRST))
    story.commit(OBJECTIVES, objective(FIRST, SECOND))
    story.commit(OBJECTIVES, objective(SECOND, THIRD, summed=SECOND))
    story.rest()


VIOLATIONS = [
    ("objectives-remember", forgotten),
    ("objectives-remember", dated_back),
    ("objectives-remember", not_what_there_is),
]


@pytest.mark.parametrize(("invariant", "tell"), VIOLATIONS)
def test_a_fabricated_violation_is_told(invariant: str, tell: Callable[[Story], None]) -> None:
    assert told_by(tell) == invariant
