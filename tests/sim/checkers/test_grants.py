"""The checker of grants that end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sim.checkers.story import Json, Story, told_by

GRANTS = "accessgrants.fairlead.dev"
AT, LATER = "2026-01-01T00:01:00Z", "2026-01-01T00:02:00Z"


def grant(decision: str = "", ends: str | None = None, user: str = "jane") -> Json:
    status: Json = {"decision": decision} if decision else {}
    if ends is not None:
        status["expiresAt"] = ends
    return {
        "metadata": {"name": "night", "namespace": ""},
        "spec": {"subject": {"name": user}},
        "status": status,
    }


def write(story: Story, origin: str = "user jane") -> None:
    story.commit("configmaps", {"metadata": {"name": "menu", "creationTimestamp": AT}}, origin=origin)


def without_a_grant(story: Story) -> None:
    write(story)


def before_its_approval(story: Story) -> None:
    story.commit(GRANTS, grant())
    write(story)


def at_its_end(story: Story) -> None:
    story.commit(GRANTS, grant("Approved", AT))
    write(story)


def after_it_was_revoked(story: Story) -> None:
    story.commit(GRANTS, grant("Approved", LATER))
    story.commit(GRANTS, grant("Revoked", LATER))
    write(story)


def after_it_was_deleted(story: Story) -> None:
    story.commit(GRANTS, grant("Approved", LATER))
    story.commit(GRANTS, grant("Approved", LATER), gone=True)
    write(story)


def under_anothers(story: Story) -> None:
    story.commit(GRANTS, grant("Approved", LATER, user="joe"))
    write(story, "late user jane")


def test_what_a_grant_allows_and_what_administrators_do_breaks_nothing() -> None:
    story = Story()
    write(story, "people")
    story.commit("configmaps", {"metadata": {"name": "menu"}}, gone=True)
    story.commit(GRANTS, grant("Approved", LATER))
    write(story)
    story.rest()


VIOLATIONS = [
    ("grants-end", without_a_grant),
    ("grants-end", before_its_approval),
    ("grants-end", at_its_end),
    ("grants-end", after_it_was_revoked),
    ("grants-end", after_it_was_deleted),
    ("grants-end", under_anothers),
]


@pytest.mark.parametrize(("invariant", "tell"), VIOLATIONS)
def test_a_fabricated_violation_is_told(invariant: str, tell: Callable[[Story], None]) -> None:
    assert told_by(tell) == invariant
