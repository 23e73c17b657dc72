"""What is wrong with a value, by its schema, in Kubernetes' words; every problem at once."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.problems import Problems
from fairlead.model.custom import validating
from fairlead.model.custom.schema import SchemaNode
from fairlead.model.custom.validating import judge, judge_lists

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}


def told(schema: Any, value: Any) -> list[str]:
    """Of a field `x` with this schema."""
    problems = Problems()
    node = SchemaNode({"type": "object", "properties": {"x": schema}})
    judge({"x": value}, node, problems)
    judge_lists({"x": value}, node, "", problems)
    return [f"{cause.field}: {cause.message}" for cause in problems.causes]


def wrong(kind: str, found: str, path: str = "x") -> str:
    return f'{path}: Invalid value: "{found}": {path} in body must be of type {kind}: "{found}"'


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (NUMBER, "a", [wrong("integer", "string")]),
        (NUMBER, 1.5, [wrong("integer", "number")]),
        (NUMBER, 2.0, []),
        (NUMBER, True, [wrong("integer", "boolean")]),
        (NUMBER, None, [wrong("integer", "null")]),
        ({**NUMBER, "nullable": True}, None, []),
        (NUMBER, 2**63, ["x: Invalid value: 9223372036854775808: Checked value must be of type integer with format int64"]),
        ({**NUMBER, "format": "int32"}, 2**31, ["x: Invalid value: 2147483648: Checked value must be of type integer with format int32"]),
        ({"type": "number"}, 3, []),
        ({"type": "number"}, "3", [wrong("number", "string")]),
        ({"type": "boolean"}, "true", [wrong("boolean", "string")]),
        (TEXT, 5, [wrong("string", "integer")]),
        ({"type": "object"}, [], [wrong("object", "array")]),
        ({"type": "array", "items": TEXT}, {}, [wrong("array", "object")]),
        ({"type": "array", "items": TEXT}, ["a", 1], [wrong("string", "integer", "x[1]")]),
        ({"type": "object", "additionalProperties": NUMBER}, {"a": "b"}, [wrong("integer", "string", "x.a")]),
        ({"x-kubernetes-int-or-string": True}, 5, []),
        ({"x-kubernetes-int-or-string": True}, "5%", []),
        ({"x-kubernetes-int-or-string": True}, [], [wrong("integer,string", "array")]),
        ({"type": "object", "required": ["a", "b"]}, {"a": 1}, ["x.b: Required value"]),
        ({**TEXT, "enum": ["a", "b"]}, "c", ['x: Unsupported value: "c": supported values: "a", "b"']),
        ({**NUMBER, "enum": [1, 2]}, 3, ['x: Unsupported value: 3: supported values: "1", "2"']),
        ({**TEXT, "pattern": "^a+$"}, "b", ["x: Invalid value: \"b\": x in body should match '^a+$'"]),
        ({**TEXT, "minLength": 2}, "é", ['x: Invalid value: "é": x in body should be at least 2 chars long']),
        ({**TEXT, "maxLength": 2}, "éé", []),
        ({**TEXT, "maxLength": 2}, "abc", ["x: Too long: may not be more than 2 bytes"]),
        ({**NUMBER, "minimum": 2}, 1, ["x: Invalid value: 1: x in body should be greater than or equal to 2"]),
        ({**NUMBER, "minimum": 2, "exclusiveMinimum": True}, 2, ["x: Invalid value: 2: x in body should be greater than 2"]),
        ({**NUMBER, "maximum": 2}, 3, ["x: Invalid value: 3: x in body should be less than or equal to 2"]),
        ({"type": "number", "maximum": 0.5, "exclusiveMaximum": True}, 0.5, ["x: Invalid value: 0.5: x in body should be less than 0.5"]),
        ({**NUMBER, "multipleOf": 3}, 7, ["x: Invalid value: 7: x in body should be a multiple of 3"]),
        ({"type": "number", "multipleOf": 0.1}, 0.3, []),
        ({"type": "array", "items": TEXT, "minItems": 1}, [], ["x: Invalid value: 0: x in body should have at least 1 items"]),
        ({"type": "array", "items": TEXT, "maxItems": 1}, ["a", "b"], ["x: Too many: 2: must have at most 1 items"]),
        ({"type": "object", "minProperties": 1}, {}, ["x: Invalid value: 0: x in body should have at least 1 properties"]),
        ({"type": "object", "maxProperties": 0}, {"a": 1}, ["x: Too many: 1: must have at most 0 items"]),
        ({**TEXT, "format": "date-time"}, "now", ['x: Invalid value: "now": x in body must be of type date-time: "now"']),
        ({**TEXT, "format": "date-time"}, "2026-01-02T03:04:05Z", []),
        ({**TEXT, "format": "ipv4"}, "::1", ['x: Invalid value: "::1": x in body must be of type ipv4: "::1"']),
        ({**TEXT, "format": "uuid"}, "7f1a9c0e-5f0b-4a3d-9d7e-2f5a1c3b4d5e", []),
        ({**TEXT, "format": "unheard-of"}, "anything", []),
        (
            {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {},
            ['<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found none valid', "x.a: Required value"],
        ),
        (
            {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"a": "", "b": ""},
            ['<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
        ),
        (
            {**NUMBER, "anyOf": [{"minimum": 5}, {"maximum": 1}]},
            3,
            [
                '<nil>: Invalid value: "": "x" must validate at least one schema (anyOf)',
                "x: Invalid value: 3: x in body should be greater than or equal to 5",
            ],
        ),
        ({**NUMBER, "anyOf": [{"minimum": 5}, {"maximum": 1}]}, 0, []),
        (
            {**NUMBER, "allOf": [{"minimum": 5}, {"maximum": 9}]},
            3,
            [
                "x: Invalid value: 3: x in body should be greater than or equal to 5",
                '<nil>: Invalid value: "": "x" must validate all the schemas (allOf)',
            ],
        ),
        ({**TEXT, "not": {"enum": ["a"]}}, "a", ['<nil>: Invalid value: "": "x" must not validate the schema (not)']),
        ({"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}, ["a", "b", "a"], ['x[2]: Duplicate value: "a"']),
        (
            {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object"}},
            [{"k": 1, "v": 1}, {"k": 2}, {"k": 1}],
            ['x[2]: Duplicate value: {"k":1}'],
        ),
    ],
)  # fmt: skip
def test_a_value_is_judged_in_kubernetes_words(schema: Any, value: Any, expected: list[str]) -> None:
    assert told(schema, value) == expected


def test_true_is_not_one() -> None:
    assert told({"enum": [1], "x-kubernetes-preserve-unknown-fields": True}, True) != []


@pytest.mark.parametrize(
    ("multiple", "value"),
    [(1e-300, 1e300), (0.5, 10**400), (0.5, 1e308), (3, 10**400)],
)
def test_a_number_that_is_out_of_reach_is_no_multiple(multiple: float, value: float) -> None:
    found = told({"type": "number", "multipleOf": multiple}, value)
    assert all("should be a multiple of" in each for each in found)


@pytest.mark.parametrize(
    ("schema", "fits", "over"),
    [
        (TEXT, "a" * 5_000, "a" * 10_000),
        ({**TEXT, "pattern": "^a*$"}, "a" * 2_000, "a" * 5_000),
        ({**TEXT, "pattern": "^[ab]*a[ab]{500}$"}, "ab" * 5, "ab" * 500),
        ({**TEXT, "allOf": [{"pattern": "^a*$"}] * 10}, "a" * 200, "a" * 2_000),
        ({"type": "array", "items": {**TEXT, "enum": ["a"] * 800}}, ["a"] * 5, ["a"] * 20),
    ],
)
def test_long_texts_patterns_and_enumerations_count_as_steps(
    schema: Any, fits: Any, over: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validating, "VALIDATION_STEPS_MAX", 1_000)
    assert not any("too large" in each for each in told(schema, fits))
    assert "the object is too large for its schema" in told(schema, over)[-1]


def test_an_object_too_large_for_its_schema_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validating, "VALIDATION_STEPS_MAX", 50)
    schema = {"type": "array", "items": {"type": "integer", "anyOf": [{"minimum": 0}, {"maximum": 5}]}}
    assert told(schema, [1] * 5) == []
    assert "the object is too large for its schema" in told(schema, [1] * 50)[0]
