"""The checkers of who may write, and of who decides about certificates."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sim.checkers.story import Json, Story, told_by

RBAC = "rbac.authorization.k8s.io"
ROLES, BINDINGS = f"clusterroles.{RBAC}", f"rolebindings.{RBAC}"
REQUESTS = "certificatesigningrequests.certificates.k8s.io"


def role(*verbs: str) -> Json:
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": list(verbs)}]
    return {"metadata": {"name": "writer", "namespace": ""}, "rules": rules}


def bound(user: str = "dev", space: str = "default") -> Json:
    return {
        "metadata": {"name": "dev", "namespace": space},
        "subjects": [{"kind": "User", "name": user}],
        "roleRef": {"kind": "ClusterRole", "name": "writer"},
    }


def given(story: Story, *verbs: str, user: str = "dev", space: str = "default") -> None:
    story.commit(ROLES, role(*verbs or ("create",)), namespace="")
    story.commit(BINDINGS, bound(user, space), namespace=space)


def write(story: Story, origin: str = "user dev", gone: bool = False) -> None:
    story.commit("secrets", {"metadata": {"name": "key"}}, origin=origin, gone=gone)


def after_it_was_taken_away(story: Story) -> None:
    given(story)
    story.commit(BINDINGS, bound(), gone=True)
    write(story)


def after_the_role_has_changed(story: Story) -> None:
    given(story)
    story.commit(ROLES, role("get"), namespace="")
    write(story, "late user dev")


def in_another_namespace(story: Story) -> None:
    given(story, space="team")
    write(story)


def by_another(story: Story) -> None:
    given(story, user="joe")
    write(story)


def another_verb(story: Story) -> None:
    given(story)
    write(story)
    write(story, gone=True)


def request(*types: str) -> Json:
    conditions = [{"type": each, "status": "True"} for each in types]
    return {"metadata": {"name": "first", "namespace": ""}, "status": {"conditions": conditions}}


def approved_by_anybody(story: Story) -> None:
    story.commit(
        ROLES, {**role(), "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}, namespace=""
    )
    story.commit(f"clusterrolebindings.{RBAC}", bound(space=""), namespace="")
    story.commit(REQUESTS, request(), origin="people", namespace="")
    story.commit(REQUESTS, request("Approved"), origin="user dev", namespace="")


def approval_taken_back(story: Story) -> None:
    story.commit(REQUESTS, request("Approved"), origin="people", namespace="")
    story.commit(REQUESTS, request("Denied"), origin="people", namespace="")


def test_what_a_role_allows_and_what_administrators_do_breaks_nothing() -> None:
    story = Story()
    write(story, "people")
    write(story, "people", gone=True)
    given(story, "create", "delete")
    write(story)
    write(story, gone=True)
    story.commit(REQUESTS, request(), origin="people", namespace="")
    story.commit(REQUESTS, request("Approved"), origin="people", namespace="")
    story.rest()


VIOLATIONS = [
    ("writers-have-rights", after_it_was_taken_away),
    ("writers-have-rights", after_the_role_has_changed),
    ("writers-have-rights", in_another_namespace),
    ("writers-have-rights", by_another),
    ("writers-have-rights", another_verb),
    ("certificates-are-approved", approved_by_anybody),
    ("certificates-are-approved", approval_taken_back),
]


@pytest.mark.parametrize(("invariant", "tell"), VIOLATIONS)
def test_a_fabricated_violation_is_told(invariant: str, tell: Callable[[Story], None]) -> None:
    assert told_by(tell) == invariant
