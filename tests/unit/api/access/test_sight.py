"""What a user may be told of by name."""

from __future__ import annotations

import pytest

from fairlead.api.access.authz import builtin_chain
from fairlead.api.access.contract import AccessRules, AccessVerdict, Attributes
from fairlead.api.access.sight import EVERYTHING, Sight
from fairlead.api.access.users import User
from fairlead.model.kind import Json
from tests.unit.api.access.granting import Objects, grants_of

JANE = User("jane", groups=("system:authenticated",))
RBAC = "rbac.authorization.k8s.io"


def role(namespace: str, *rules: Json) -> tuple[Json, Json]:
    """A Role with these rules, and jane in it."""
    metadata = {"name": "work", "namespace": namespace}
    return (
        {"kind": "Role", "metadata": metadata, "rules": list(rules)},
        {
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "work"},
            "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "jane"}],
        },
    )


def rule(*resources: str, group: str = "", verb: str = "get", names: tuple[str, ...] = ()) -> Json:
    named = {"resourceNames": list(names)} if names else {}
    return {"verbs": [verb], "apiGroups": [group], "resources": list(resources), **named}


def sight_of(*objects: Json) -> Sight:
    return Sight(builtin_chain(Objects(), grants_of(*objects)), JANE)


@pytest.mark.parametrize(
    ("place", "seen"),
    [
        (("pods", "team-a", ""), True),
        (("pods", "team-a", "web"), True),
        (("pods", "team-b", "web"), False),
        (("pods", "", "web"), False),
        (("secrets", "team-a", "key"), False),
        (("deployments.apps", "team-a", "web"), True),
        (("deployments", "team-a", "web"), False),
        (("statefulsets.apps", "team-a", "web"), False),
        (("configmaps", "team-a", "mine"), True),
        (("configmaps", "team-a", "other"), False),
        (("configmaps", "team-a", ""), False),
        (("services", "team-a", "web"), False),
    ],
)
def test_what_a_role_lets_one_get_may_be_named(place: tuple[str, str, str], seen: bool) -> None:
    sight = sight_of(
        *role(
            "team-a",
            rule("pods"),
            rule("deployments", group="apps"),
            rule("configmaps", names=("mine",)),
            rule("services", verb="list"),
        )
    )
    assert sight.sees(*place) is seen
    assert not sight.is_whole


def test_everything_is_seen_by_whoever_may_read_the_document() -> None:
    assert EVERYTHING.is_whole
    assert EVERYTHING.sees("secrets", "any", "key")
    assert EVERYTHING.namespaces(["a", "b"]) is None
    assert EVERYTHING.shown([1, 2], lambda each: ("", "", "")) == ([1, 2], 0)


def test_the_namespaces_are_those_whose_pods_may_be_read() -> None:
    sight = sight_of(*role("team-a", rule("pods")), *role("team-b", rule("configmaps")))
    assert sight.namespaces(["team-a", "team-b", "team-c"]) == frozenset({"team-a"})


def test_others_are_counted() -> None:
    sight = sight_of(*role("team-a", rule("pods")))
    items = [("team-a", "x"), ("team-b", "y"), ("team-a", "z"), ("", "w")]
    assert sight.shown(items, lambda each: ("pods", *each)) == ([("team-a", "x"), ("team-a", "z")], 2)


def test_one_place_is_asked_about_once() -> None:
    class Counting:
        asked = 0

        def authorize(self, asked: Attributes) -> AccessVerdict:
            self.asked += 1
            return AccessVerdict("allowed")

        def rules_for(self, user: User, namespace: str) -> AccessRules:
            return AccessRules()

    counting = Counting()
    sight = Sight(counting, JANE)
    for _ in range(3):
        sight.sees("pods", "team-a", "web")
        sight.sees("pods", "team-a")
    assert counting.asked == 2
