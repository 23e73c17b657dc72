"""The quick look at schemas: it lets nothing pass that the rules tell of, and what it remembers is the content."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from fairlead.core.problems import Problems
from fairlead.model.custom import judging, plain_rules, structural, validating
from fairlead.model.custom.judging import Verdicts, check_schema
from fairlead.model.custom.schema_parts import first_rule
from fairlead.model.custom.sound_schemas import look
from tests.unit.api.custom.definitions import CRDS, Json, definition, version
from tests.unit.api.custom.test_nothing_breaks import SCHEMA, mutated

TEXT: Any = {"type": "string"}
EITHER: Json = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
HELD = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}


def of(**properties: Any) -> Json:
    return {"type": "object", "properties": properties}


RICH: Json = {
    **copy.deepcopy(SCHEMA),
    "oneOf": [{"required": ["spec"]}, {"required": ["map"]}],
}
RICH["properties"].update(
    nested={
        **of(a={**TEXT, "default": "x"}, b=of(c={"type": "integer", "default": 1})),
        "default": {"b": {}},
    },
    choice={**TEXT, "enum": ["a", "b"], "default": "a"},
    flag={"type": "boolean", "default": False},
    set={"type": "array", "items": TEXT, "x-kubernetes-list-type": "set", "default": ["a"]},
    holds=HELD,
    ruled={**of(a=TEXT), "x-kubernetes-validations": [{"rule": "self.a != ''"}]},
    steps={"type": "number", "multipleOf": 0.5, "minimum": 0, "exclusiveMinimum": True},
    metadata={"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}},
)


def told(schema: Any) -> list[str]:
    problems = Problems()
    structural.check_schema(schema, "openAPIV3Schema", problems)
    return [f"{cause.field}: {cause.message}" for cause in problems.causes]


def test_what_people_write_is_seen_to_be_sound_at_once() -> None:
    assert look(RICH).sound
    assert told(RICH) == []


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=300)
@given(mutated(RICH))
def test_what_is_seen_to_be_sound_has_nothing_wrong_with_it(schema: Json) -> None:
    found = look(schema)
    if found.sound:
        assert told(schema) == []
        assert found.rules is bool(first_rule(schema, "S"))


@pytest.mark.parametrize(
    "schema",
    [
        of(metadata=of(name={**TEXT, "default": "a"})),
        of(x={**HELD, "properties": {"metadata": of(name={**TEXT, "default": "a"})}}),
        of(x={**of(y={"type": "integer", "default": "a"}), "default": {}}),
        of(x={"type": "boolean", "default": 1}),
        of(x={**TEXT, "enum": ["a"], "default": "b"}),
        of(x={**TEXT, "maxLength": 1, "default": "long"}),
        of(x={**TEXT, "nullable": 1}),
        of(x={"type": "array"}),
        of(x={"type": "object", "additionalProperties": of(y={"type": "array"})}),
        of(x={**EITHER, "type": "string"}),
        of(x={**EITHER, "x-kubernetes-preserve-unknown-fields": True}),
        of(x={"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        of(x={**TEXT, "anyOf": [{"pattern": "("}]}),
        {**of(a=TEXT), "not": {"properties": {"metadata": {}}}},
        of(x={"type": "number", "multipleOf": 0}),
        of(x={"type": "array", "items": TEXT, "uniqueItems": True}),
        of(x={**TEXT, "required": [1]}),
        of(kind={"type": "integer"}),
        of(x={"type": "object", "x-kubernetes-embedded-resource": True}),
    ],
)
def test_what_is_wrong_is_not_seen_to_be_sound(schema: Json) -> None:
    assert told(schema)
    assert not look(schema).sound


def test_limits_are_those_of_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = of(**{f"x{index}": copy.deepcopy(EITHER) for index in range(3)})  # each holds two, and is one
    monkeypatch.setattr(structural, "SCHEMA_NODES_MAX", 10)
    assert (look(schema).sound, told(schema)) == (True, [])
    monkeypatch.setattr(structural, "SCHEMA_NODES_MAX", 9)
    assert not look(schema).sound
    assert told(schema)
    patterns = of(x={**TEXT, "pattern": "^a{30}$"}, y={**TEXT, "pattern": "^a{31}$"})
    monkeypatch.setattr(plain_rules, "SCHEMA_STATES_MAX", 10)
    assert not look(patterns).sound
    monkeypatch.setattr(validating, "VALIDATION_STEPS_MAX", 2)
    assert not look(of(**{f"x{index}": {**TEXT, "default": "a"} for index in range(3)})).sound


def test_a_verdict_is_remembered_by_content_and_by_nothing_else() -> None:
    verdicts = Verdicts()
    schema = of(x={"x-kubernetes-preserve-unknown-fields": True, "default": 1})
    assert verdicts.of(schema).sound
    assert verdicts.of(copy.deepcopy(schema)).sound
    assert verdicts.looks == 1
    schema["properties"]["x"]["default"] = True  # the same in Python
    assert verdicts.of(schema).sound
    assert verdicts.looks == 2
    schema["properties"]["x"] = {}
    assert not verdicts.of(schema).sound, "it is the same object, and says something else"
    problems = Problems()
    check_schema(schema, "S", problems, verdicts)
    assert [cause.field for cause in problems.causes] == ["S.properties[x].type"]
    assert not verdicts.of(schema).sound
    assert verdicts.looks == 5, "what is wrong is looked at each time"


def test_verdicts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "VERDICTS_KEPT", 2)
    verdicts = Verdicts()
    for name in ("a", "b", "c", "c", "b"):
        assert verdicts.of(of(**{name: TEXT})).sound
    assert verdicts.looks == 3
    verdicts.of(of(a=TEXT))
    assert verdicts.looks == 4, "the oldest went"


def test_only_schemas_that_changed_are_read_again() -> None:
    from tests.inprocess import InProcess

    plane = InProcess()
    beta = {**version("v1beta1"), "storage": False}
    assert plane.post(CRDS, definition(version(), beta))[0] == 201
    at = f"{CRDS}/crontabs.example.com"
    before = plane.custom._made["crontabs.example.com"]
    found = plane.get(at)[1]
    grown = found["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    grown["more"] = {"type": "string"}
    assert plane.put(at, found)[0] == 200
    after = plane.custom._made["crontabs.example.com"]
    kept = before.schemas.keys() & after.schemas.keys()
    assert [name for name, _ in kept] == ["example.com/v1.CronTab"]
    assert all(before.schemas[mark] is after.schemas[mark] for mark in kept)
    assert "more" in plane.desk.tables["example.com/v1beta1.CronTab.spec"].fields
    assert "cronSpec" in plane.desk.tables["example.com/v1.CronTab.spec"].fields
