"""What the status of a policy tells of its expressions."""

from __future__ import annotations

import pytest

from tests.inprocess import InProcess
from tests.unit.api.admission.policing import (
    DEPLOYMENTS,
    PODS,
    Json,
    config_map,
    create,
    path_of,
    put_in_force,
    validating,
)


def warned(policy: Json) -> list[Json]:
    status, told = InProcess().post(path_of(policy), policy)
    assert status == 201, told
    found: list[Json] = told["status"]["typeChecking"].get("expressionWarnings", [])
    return found


def test_a_field_that_the_kind_does_not_have_is_told_with_its_place() -> None:
    (only,) = warned(validating("few", "object.replicas > 1", rules=[DEPLOYMENTS]))
    assert only == {
        "fieldRef": "spec.validations[0].expression",
        "warning": "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'replicas'\n"
        " | object.replicas > 1\n | ......^",
    }


def test_each_kind_that_does_not_fit_has_its_line() -> None:
    rules = [{**DEPLOYMENTS, "resources": ["deployments", "replicasets"]}, PODS]
    (only,) = warned(validating("few", "object.spec.replicas > 1", rules=rules))
    assert only["warning"].startswith("v1, Kind=Pod: ERROR: <input>:1:12: undefined field 'replicas'")
    assert "Deployment" not in only["warning"]


@pytest.mark.parametrize(
    "expression",
    [
        "object.spec.replicas == 'three'",
        "object.spec.template.spec.containers.all(c, c.imagee == 'a')",
        "object.metadata.labels.exists(k, object.metadata.labels[k] > 3)",
        "variables.size.startsWith('a')",
        "params.dat.size() > 0",
    ],
)
def test_types_are_compared_however_deep(expression: str) -> None:
    more: Json = {
        "variables": [{"name": "size", "expression": "object.spec.replicas"}],
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
    }
    assert len(warned(validating("deep", expression, rules=[DEPLOYMENTS], **more))) == 1


@pytest.mark.parametrize(
    "expression",
    [
        "object == null || object.spec.replicas <= 3",
        "has(object.metadata.labels) && object.metadata.labels['a'] == 'b'",
        "object.spec.template.spec.containers.all(c, c.image.startsWith('registry/') && !has(c.lifecycle))",
        "quantity(object.spec.template.spec.containers[0].resources.limits['cpu']).isLessThan(quantity('2'))",
        "object.metadata.creationTimestamp == null || timestamp(object.metadata.creationTimestamp) > timestamp('2020-01-01T00:00:00Z')",
        "object.spec.strategy.rollingUpdate.maxSurge == '25%' || object.spec.strategy.rollingUpdate.maxSurge == 1",
        "oldObject.spec.?paused.orValue(false) == false",
    ],
)
def test_what_fits_is_not_doubted(expression: str) -> None:
    assert warned(validating("fine", expression, rules=[DEPLOYMENTS])) == []


@pytest.mark.parametrize("rule", [{"resources": ["*"]}, {"apiGroups": ["*"]}, {"apiVersions": ["*"]}])
def test_rules_for_everything_name_no_kind(rule: Json) -> None:
    assert warned(validating("any", "object.replicas > 1", rules=[{**DEPLOYMENTS, **rule}])) == []


def test_a_policy_that_is_doubtful_is_in_force_all_the_same() -> None:
    plane = InProcess()
    put_in_force(plane, validating("odd", "has(object.nothing)"))
    assert create(plane, config_map())[0] == 422
