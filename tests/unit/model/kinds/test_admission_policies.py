"""Policies and bindings as they are written: what is filled in, and what is refused with its field."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairlead.core.problems import Problems
from fairlead.model.kind import Json, Kind
from fairlead.model.kinds.admission import bindings, policies
from fairlead.model.kinds.admission.expressions import ANNOTATIONS_MAX, CONDITIONS_MAX, EXPRESSIONS_MAX
from fairlead.model.kinds.admission.matching import RULES_MAX
from tests.samples import SAMPLES

KINDS = {
    each.kind: each
    for each in (policies.VALIDATING, policies.MUTATING, bindings.VALIDATING, bindings.MUTATING)
}
VALIDATING, MUTATING = "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"


def told(kind: Kind, obj: Json) -> list[str]:
    problems = Problems()
    kind.validate(obj, problems)
    return [f"{each.field}: {each.message}" for each in problems.causes]


def changed(kind: str, path: str, value: Any) -> Json:
    obj: Any = copy.deepcopy(SAMPLES[kind])
    at: Any = obj["spec"]
    *steps, last = path.split(".")
    for step in steps:
        at = at[int(step)] if step.isdigit() else at[step]
    if value is None:
        at.pop(last, None)
    else:
        at[int(last) if last.isdigit() else last] = value
    return dict(obj)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_is_right(kind: str) -> None:
    assert told(KINDS[kind], copy.deepcopy(SAMPLES[kind])) == []


def test_what_is_not_said_is_filled_in() -> None:
    rule = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    policy: Json = {"spec": {"matchConstraints": {"resourceRules": [rule]}}}
    policies.VALIDATING.defaults(policy)
    assert policy["spec"]["failurePolicy"] == "Fail"
    match = policy["spec"]["matchConstraints"]
    assert (match["matchPolicy"], match["namespaceSelector"], match["objectSelector"]) == (
        "Equivalent",
        {},
        {},
    )
    assert match["resourceRules"][0]["scope"] == "*"


RULE = "matchConstraints.resourceRules.0"


@pytest.mark.parametrize(
    ("kind", "path", "value", "field"),
    [
        (VALIDATING, "matchConstraints", None, "spec.matchConstraints: Required value"),
        (
            VALIDATING,
            "matchConstraints.resourceRules",
            None,
            "spec.matchConstraints.resourceRules: Required value",
        ),
        (
            VALIDATING,
            f"{RULE}.operations",
            [],
            "spec.matchConstraints.resourceRules[0].operations: Required value",
        ),
        (
            VALIDATING,
            f"{RULE}.apiGroups",
            ["*", "a"],
            "spec.matchConstraints.resourceRules[0].apiGroups: Invalid",
        ),
        (
            VALIDATING,
            f"{RULE}.resources",
            ["a/b/c"],
            "spec.matchConstraints.resourceRules[0].resources[0]: Invalid",
        ),
        (
            VALIDATING,
            f"{RULE}.resources",
            ["*/*", "a"],
            "spec.matchConstraints.resourceRules[0].resources: Invalid",
        ),
        (
            VALIDATING,
            f"{RULE}.resources",
            ["*", "a"],
            "spec.matchConstraints.resourceRules[0].resources: Invalid",
        ),
        (
            VALIDATING,
            f"{RULE}.resources",
            ["a"] * (RULES_MAX + 1),
            "spec.matchConstraints.resourceRules[0].resources: Too",
        ),
        (VALIDATING, "paramKind.kind", "", "spec.paramKind.kind: Required value"),
        (VALIDATING, "paramKind.apiVersion", "a/b/c", "spec.paramKind.apiVersion: Invalid value"),
        (VALIDATING, "validations.0.expression", "", "spec.validations[0].expression: Required value"),
        (VALIDATING, "validations.0.expression", "1 +", "spec.validations[0].expression: Invalid value"),
        (VALIDATING, "validations.0.message", "a\nb", "spec.validations[0].message: Invalid value"),
        (VALIDATING, "validations.0.reason", "Odd", "spec.validations[0].reason: Unsupported value"),
        (
            VALIDATING,
            "validations.0.messageExpression",
            "1",
            "spec.validations[0].messageExpression: Invalid",
        ),
        (
            VALIDATING,
            "validations.0.messageExpression",
            "authorizer.path('/').check('get').reason()",
            "spec.validations[0].messageExpression: Invalid",
        ),
        (VALIDATING, "variables.0.name", "no-name", "spec.variables[0].name: Invalid value"),
        (VALIDATING, "variables.0.expression", "variables.replicas", "spec.variables[0].expression: Invalid"),
        (VALIDATING, "matchConditions.0.name", "", "spec.matchConditions[0].name: Required value"),
        (
            VALIDATING,
            "matchConditions.0.expression",
            "variables.replicas > 1",
            "spec.matchConditions[0].expression: ",
        ),
        (VALIDATING, "auditAnnotations.0.key", "a b", "spec.auditAnnotations[0].key: Invalid value"),
        (
            VALIDATING,
            "auditAnnotations.0.valueExpression",
            "1",
            "spec.auditAnnotations[0].valueExpression: Invalid",
        ),
        (MUTATING, "mutations", [], "spec.mutations: Required value"),
        (MUTATING, "reinvocationPolicy", None, "spec.reinvocationPolicy: Required value"),
        (
            MUTATING,
            "mutations.0.applyConfiguration.expression",
            "1",
            "spec.mutations[0].applyConfiguration.expression: ",
        ),
        (
            MUTATING,
            "mutations.1.jsonPatch.expression",
            "1",
            "spec.mutations[1].jsonPatch.expression: Invalid value",
        ),
        (MUTATING, "mutations.0.jsonPatch", {"expression": "[]"}, "spec.mutations[0].jsonPatch: Forbidden"),
        (f"{VALIDATING}Binding", "policyName", "", "spec.policyName: Required value"),
        (f"{VALIDATING}Binding", "validationActions", [], "spec.validationActions: Required value"),
        (
            f"{VALIDATING}Binding",
            "validationActions",
            ["Deny", "Warn"],
            "spec.validationActions: Invalid value",
        ),
        (
            f"{VALIDATING}Binding",
            "validationActions",
            ["Deny", "Deny"],
            "spec.validationActions[1]: Duplicate",
        ),
        (f"{VALIDATING}Binding", "paramRef.selector", {}, "spec.paramRef.name: Invalid value"),
        (
            f"{VALIDATING}Binding",
            "paramRef.parameterNotFoundAction",
            None,
            "spec.paramRef.parameterNotFoundAction: Req",
        ),
        (f"{MUTATING}Binding", "policyName", "A B", "spec.policyName: Invalid value"),
    ],
)
def test_what_is_wrong_is_refused_with_its_field(kind: str, path: str, value: Any, field: str) -> None:
    found = told(KINDS[kind], changed(kind, path, value))
    assert any(each.startswith(field) for each in found), found


def test_a_policy_without_anything_to_say_is_refused() -> None:
    policy = changed(VALIDATING, "validations", [])
    del policy["spec"]["auditAnnotations"]
    assert told(policies.VALIDATING, policy) == [
        "spec.validations: Required value: validations or auditAnnotations must be specified"
    ]


@pytest.mark.parametrize(
    ("name", "one", "most"),
    [
        ("validations", {"expression": "true"}, EXPRESSIONS_MAX),
        ("matchConditions", {"name": "c", "expression": "true"}, CONDITIONS_MAX),
        ("auditAnnotations", {"key": "k", "valueExpression": "'v'"}, ANNOTATIONS_MAX),
    ],
)
def test_there_are_not_more_expressions_than_there_may_be(name: str, one: Json, most: int) -> None:
    found = told(policies.VALIDATING, changed(VALIDATING, name, [one] * (most + 1)))
    assert f"spec.{name}: Too many: {most + 1}: must have at most {most} items" in found


def test_a_variable_is_known_to_those_after_it_alone() -> None:
    earlier = [{"name": "a", "expression": "variables.b"}, {"name": "b", "expression": "1"}]
    found = told(policies.VALIDATING, changed(VALIDATING, "variables", earlier))
    assert any("spec.variables[0].expression" in each and "undefined field 'b'" in each for each in found)
