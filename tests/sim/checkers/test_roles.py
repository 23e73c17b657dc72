"""The checker of roles that gather others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sim.checkers.story import Json, Story, told_by

ROLES = "clusterroles.rbac.authorization.k8s.io"
PODS: Json = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
NODES: Json = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}


def lender(name: str, *rules: Json, label: str = "yes") -> Json:
    return {"metadata": {"name": name, "labels": {"to": label}}, "rules": list(rules)}


def gathering(*rules: Json) -> Json:
    rule = {"clusterRoleSelectors": [{"matchLabels": {"to": "yes"}}]}
    return {"metadata": {"name": "whole"}, "rules": list(rules), "aggregationRule": rule}


def a_rule_that_was_not_gathered(story: Story) -> None:
    story.commit(ROLES, lender("a", PODS, NODES))
    story.commit(ROLES, gathering(PODS))
    story.rest()


def a_rule_that_nobody_lends(story: Story) -> None:
    story.commit(ROLES, lender("a", PODS))
    story.commit(ROLES, lender("b", NODES, label="no"))
    story.commit(ROLES, gathering(PODS, NODES))
    story.rest()


def a_rule_of_a_role_that_is_gone(story: Story) -> None:
    story.commit(ROLES, lender("a", PODS))
    story.commit(ROLES, gathering(PODS))
    story.commit(ROLES, lender("a", PODS), gone=True)
    story.rest()


def test_what_is_gathered_breaks_nothing() -> None:
    story = Story()
    story.commit(ROLES, lender("a", PODS))
    story.commit(ROLES, lender("b", PODS, NODES))
    story.commit(ROLES, lender("c", label="no"))
    story.commit(ROLES, gathering(PODS, NODES))
    story.rest()


VIOLATIONS = [
    ("roles-are-gathered", a_rule_that_was_not_gathered),
    ("roles-are-gathered", a_rule_that_nobody_lends),
    ("roles-are-gathered", a_rule_of_a_role_that_is_gone),
]


@pytest.mark.parametrize(("invariant", "tell"), VIOLATIONS)
def test_a_fabricated_violation_is_told(invariant: str, tell: Callable[[Story], None]) -> None:
    assert told_by(tell) == invariant
