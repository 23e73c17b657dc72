"""Which schemas are structural, and what is said of those that are not."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.problems import Problems
from fairlead.model.custom import plain_rules, structural, validating
from fairlead.model.custom.structural import check_schema

TEXT: Any = {"type": "string"}
KEPT: Any = {"x-kubernetes-preserve-unknown-fields": True}


def told(schema: Any) -> list[str]:
    problems = Problems()
    check_schema(schema, "openAPIV3Schema", problems)
    found = [f"{cause.field}: {cause.message}" for cause in problems.causes]
    return [text.replace("openAPIV3Schema", "S") for text in found]


def of(**properties: Any) -> Any:
    return {"type": "object", "properties": properties}


def listed(keys: list[str], items: Any, kind: str = "map") -> Any:
    found = {"type": "array", "x-kubernetes-list-type": kind, "items": items}
    return of(x={**found, "x-kubernetes-list-map-keys": keys} if keys else found)


@pytest.mark.parametrize(
    "schema",
    [
        of(x=TEXT),
        of(x=KEPT),
        of(x={"x-kubernetes-int-or-string": True}),
        of(x={"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": "^1"}),
        of(
            x={
                "x-kubernetes-int-or-string": True,
                "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"pattern": "^1"}],
            }
        ),
        of(metadata={"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}}),
        of(x={"type": "object", "additionalProperties": TEXT}),
        of(x={"type": "object", "additionalProperties": True}),
        of(x={**TEXT, "default": "a", "enum": ["a"]}),
        of(x={"type": "object", "x-kubernetes-embedded-resource": True, **KEPT}),
        {**of(a=TEXT, b=TEXT), "oneOf": [{"required": ["a"]}, {"required": ["b"], "properties": {"b": {"enum": ["x"]}}}]},
        listed(["k"], {"type": "object", "required": ["k"], "properties": {"k": TEXT}}),
        listed(["k"], {"type": "object", "properties": {"k": {**TEXT, "default": ""}}}),
        listed([], TEXT, "set"),
        of(x={**TEXT, "x-kubernetes-validations": [{"rule": "self != ''"}]}),
    ],
)  # fmt: skip
def test_structural_schemas_pass(schema: Any) -> None:
    assert told(schema) == []


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, ["S.type: Required value: must not be empty at the root"]),
        ({"type": "string"}, ['S.type: Invalid value: "string": must be object at the root']),
        (of(x={}), ["S.properties[x].type: Required value: must not be empty for specified object fields"]),
        (of(x={"type": "text"}), ['S.properties[x].type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"']),
        (of(x={"type": "array"}), ["S.properties[x].items: Required value: must be specified"]),
        (of(x={"type": "array", "items": {}}), ["S.properties[x].items.type: Required value: must not be empty for specified array items"]),
        (of(x={"type": "object", "additionalProperties": {}}), ["S.properties[x].additionalProperties.type: Required value: must not be empty for specified object fields"]),
        (of(x={"type": "object", "additionalProperties": 5}), ["S.properties[x].additionalProperties: Invalid value: 5: must be of type object"]),
        (of(x={"type": "object", "additionalProperties": {"type": "object", "properties": -1}}), ["S.properties[x].additionalProperties.properties: Invalid value: -1: must be of type object"]),
        (of(x={"type": "object", "additionalProperties": of(y=0)}), ["S.properties[x].additionalProperties.properties[y]: Invalid value: 0: must be a schema"]),
        (of(x={"type": "object", "additionalProperties": TEXT, "properties": {"a": TEXT}}), ["S.properties[x].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"]),
        (of(x={**TEXT, "$ref": "#/x"}), ["S.properties[x].$ref: Forbidden: $ref is not supported"]),
        (of(x={"type": "array", "items": TEXT, "uniqueItems": True}), ["S.properties[x].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"]),
        (of(x={**TEXT, "pattern": "("}), ['S.properties[x].pattern: Invalid value: "(": must be a valid regular expression, but isn\'t: error parsing regexp: missing ): (']),
        (of(x={**TEXT, "x-kubernetes-int-or-string": True}), ["S.properties[x].type: Forbidden: must be empty if x-kubernetes-int-or-string is true"]),
        (of(x={**TEXT, "x-kubernetes-preserve-unknown-fields": False}), ["S.properties[x].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"]),
        (of(metadata=of(labels=TEXT)), ["S.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified"]),
        (of(kind={"type": "integer"}), ['S.properties[kind].type: Invalid value: "integer": must be string']),
        (of(x={**KEPT, "x-kubernetes-embedded-resource": True}), ["S.properties[x].type: Required value: must be object if x-kubernetes-embedded-resource is true"]),
        (of(x={"type": "object", "x-kubernetes-embedded-resource": True}), ["S.properties[x].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"]),
        (of(x={**TEXT, "anyOf": [{"type": "string"}]}), ["S.properties[x].anyOf[0].type: Forbidden: must be empty to be structural"]),
        (of(x={**TEXT, "allOf": [{"default": "a", "description": "d", "nullable": True}]}), [
            "S.properties[x].allOf[0].default: Forbidden: must be undefined to be structural",
            "S.properties[x].allOf[0].description: Forbidden: must be empty to be structural",
            "S.properties[x].allOf[0].nullable: Forbidden: must be false to be structural",
        ]),
        ({**of(a=TEXT), "not": {"properties": {"b": {"enum": ["c"]}}}}, ["S.properties[b]: Required value: because it is defined in S.not.properties[b]"]),
        ({**of(a=TEXT), "allOf": [{"properties": {"metadata": {}}}]}, [
            "S.allOf[0].properties[metadata]: Forbidden: must not be specified in a nested context",
            "S.properties[metadata]: Required value: because it is defined in S.allOf[0].properties[metadata]",
        ]),
        (listed(["k"], {"type": "object", "properties": {"k": TEXT}}), ["S.properties[x].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"]),
        (listed(["z"], {"type": "object", "properties": {"k": TEXT}}), ['S.properties[x].x-kubernetes-list-map-keys[0]: Invalid value: "z": entries must all be names of item properties']),
        (listed([], {"type": "object"}), ["S.properties[x].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map"]),
        (listed(["k"], {"type": "object", "required": ["k"], "properties": {"k": TEXT}}, "set"), [
            'S.properties[x].x-kubernetes-list-type: Invalid value: "set": must be map if x-kubernetes-list-map-keys is non-empty',
            "S.properties[x].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
        ]),
        (of(x={**TEXT, "x-kubernetes-list-type": "set"}), ['S.properties[x].type: Invalid value: "string": must be array if x-kubernetes-list-type is specified']),
        (of(x={"type": "integer", "default": "a"}), ['S.properties[x].default: Invalid value: "string":  in body must be of type integer: "string"']),
        (of(x={**of(a=TEXT), "default": {"b": 1}}), ['S.properties[x].default: Invalid value: {"b":1}: must not have unknown fields: [0].b']),
        (of(metadata={**of(name={**TEXT, "default": "a"})}), ["S.properties[metadata].properties[name].default: Forbidden: must not be set in top-level metadata"]),
    ],
)  # fmt: skip
def test_what_is_not_structural_is_named_with_its_place(schema: Any, expected: list[str]) -> None:
    assert told(schema) == expected


def test_a_schema_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structural, "SCHEMA_NODES_MAX", 5)
    assert told(of(**{f"x{index}": TEXT for index in range(4)})) == []
    assert told(of(**{f"x{index}": TEXT for index in range(5)})) == [
        "S: Forbidden: a schema may hold at most 5 schemas"
    ]


def test_patterns_may_need_only_so_many_states_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_rules, "SCHEMA_STATES_MAX", 50)
    many = {f"x{number}": {**TEXT, "pattern": f"^a{{{number + 10}}}$"} for number in range(5)}
    assert "at most 50 states together" in told(of(**many))[0]
    assert told(of(**{name: {**TEXT, "pattern": "^a{10}$"} for name in many})) == [], (
        "the same one counts once"
    )


def test_all_defaults_of_a_schema_cost_no_more_than_one_object_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validating, "VALIDATION_STEPS_MAX", 100)
    slow = {**TEXT, "pattern": "^a*$", "default": "a" * 100}
    assert told(of(x=slow)) == []
    assert "the object is too large" in told(of(**{f"x{number}": slow for number in range(10)}))[0]
