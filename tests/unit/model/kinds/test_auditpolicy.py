"""AuditPolicy: what a rule may say, bounds, and what kubectl shows."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.problems import Problems
from fairlead.model.kind import Json
from fairlead.model.kinds.auditpolicy import KIND, LEVELS, RULES_MAX, VALUES_MAX
from tests.samples import SAMPLES
from tests.unit.model.kinds.workload_objects import row, shown


def policy(*rules: Json) -> Json:
    return {"metadata": {"name": "default"}, "spec": {"rules": list(rules)}}


def one(level: str = "None", **conditions: Any) -> Json:
    return policy({"level": level, **conditions})


def said(obj: Json) -> list[tuple[str, str]]:
    problems = Problems()
    KIND.validate(obj, problems)
    return [(each.field, each.message) for each in problems.causes]


@pytest.mark.parametrize("level", LEVELS)
def test_a_rule_needs_nothing_but_a_level(level: str) -> None:
    assert said(one(level)) == []
    assert said(policy()) == []


def test_every_condition_at_once() -> None:
    assert said(SAMPLES["AuditPolicy"]) == []
    assert said(one(namespaces=["", "builds"], resources=[{"resources": ["*", "pods/*", "*/scale"]}])) == []
    assert said(one(nonResourceURLs=["*", "/fairlead/*", "/metrics"], verbs=["get", "post"])) == []


@pytest.mark.parametrize("level", ["Request", "RequestResponse"])
def test_levels_with_values_are_refused_in_words(level: str) -> None:
    ((field, message),) = said(one(level))
    assert field == "spec.rules[0].level"
    assert "values never reach the audit log" in message
    assert "Changes" in message


@pytest.mark.parametrize(
    ("obj", "field"),
    [
        ({**policy(), "metadata": {"name": "mine"}}, "metadata.name"),
        (one(""), "spec.rules[0].level"),
        (one("none"), "spec.rules[0].level"),
        (policy(*[{"level": "None"}] * (RULES_MAX + 1)), "spec.rules"),
        (one(users=["x"] * (VALUES_MAX + 1)), "spec.rules[0].users"),
        (one(users=[""]), "spec.rules[0].users[0]"),
        (one(userGroups=["a", ""]), "spec.rules[0].userGroups[1]"),
        (one(verbs=["read"]), "spec.rules[0].verbs[0]"),
        (one(verbs=["post"], resources=[{"resources": ["pods"]}]), "spec.rules[0].verbs[0]"),
        (one(verbs=["list"], nonResourceURLs=["/metrics"]), "spec.rules[0].verbs[0]"),
        (one(nonResourceURLs=["metrics"]), "spec.rules[0].nonResourceURLs[0]"),
        (one(nonResourceURLs=["/a*b"]), "spec.rules[0].nonResourceURLs[0]"),
        (one(nonResourceURLs=["/a"], namespaces=["x"]), "spec.rules[0].nonResourceURLs"),
        (one(nonResourceURLs=["/a"], resources=[{"resources": ["pods"]}]), "spec.rules[0].nonResourceURLs"),
        (one(resources=[{"group": "apps/v1"}]), "spec.rules[0].resources[0].group"),
        (one(resources=[{"resources": ["Pods"]}]), "spec.rules[0].resources[0].resources[0]"),
        (one(resources=[{"resources": ["pods/log/x"]}]), "spec.rules[0].resources[0].resources[0]"),
        (one(resources=[{"resources": [""]}]), "spec.rules[0].resources[0].resources[0]"),
        (one(resources=[{"resources": ["pods."]}]), "spec.rules[0].resources[0].resources[0]"),
        (one(resources=[{"resourceNames": ["web"]}]), "spec.rules[0].resources[0].resources"),
        (one(resources=[{}] * (VALUES_MAX + 1)), "spec.rules[0].resources"),
    ],
)
def test_what_is_wrong_is_named_with_its_field(obj: Json, field: str) -> None:
    assert field in [each for each, _ in said(obj)]


def test_columns() -> None:
    assert shown(KIND) == ["IN FORCE", "RULES", "AGE"]
    assert row(KIND, SAMPLES["AuditPolicy"])["Rules"] == 3
