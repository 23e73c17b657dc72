"""Of a SchedulerOverride that names what there is not: the cause says so, which the command line has an exit code for."""

from __future__ import annotations

import pytest

from fairlead.core.problems import NOT_FOUND
from fairlead.model.kind import Json
from tests.inprocess import InProcess
from tests.unit.api.test_overrides import made, override, plane

__all__ = ["plane"]


@pytest.mark.parametrize(
    ("body", "namespace", "reasons"),
    [
        (override("deployment/nope"), "default", {NOT_FOUND}),
        (override("node/nope", changes={"drain": True}), "kube-system", {NOT_FOUND}),
        (override("region/nope", changes={"cordon": True}), "kube-system", {NOT_FOUND}),
        (override(changes={"avoidZones": ["z"]}), "default", {NOT_FOUND}),
        (override(changes={"trafficWeights": [{"zone": "z", "weight": 0}]}), "default", {NOT_FOUND}),
        (override(changes={"priorityClassName": "z", "priorityReplicas": 1}), "default", {NOT_FOUND}),
        (override(scope="zone/z"), "default", {NOT_FOUND}),
        (override(replaces="nope"), "default", {NOT_FOUND}),
        (override("deployment/nope", lasts="5h"), "default", {NOT_FOUND, "FieldValueInvalid"}),
    ],
)
def test_a_name_that_is_nobodys_is_told_apart_from_a_value_that_cannot_be(
    plane: InProcess, body: Json, namespace: str, reasons: set[str]
) -> None:
    _, answer = made(plane, body, namespace)
    assert {each["reason"] for each in answer["details"]["causes"]} == reasons
