"""What a schema makes of an object: unknown fields and nulls go, defaults come."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairlead.model.custom.schema import SchemaNode
from fairlead.model.custom.shaping import drop_nulls, fill_defaults, prune

OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
KNOWN = {"type": "object", "properties": {"a": {"type": "string"}}}


@pytest.mark.parametrize(
    ("schema", "value", "left", "unknown"),
    [
        (KNOWN, {"a": 1, "b": 2}, {"a": 1}, ["x.b"]),
        (OPEN, {"b": {"c": 1}}, {"b": {"c": 1}}, []),
        ({**OPEN, "properties": {"a": KNOWN}}, {"a": {"a": 1, "z": 1}, "b": 1}, {"a": {"a": 1}, "b": 1}, ["x.a.z"]),
        ({"type": "object", "additionalProperties": KNOWN}, {"k": {"a": 1, "b": 1}}, {"k": {"a": 1}}, ["x.k.b"]),
        ({"type": "object", "additionalProperties": True}, {"k": {"b": 1}}, {"k": {"b": 1}}, []),
        ({"type": "array", "items": KNOWN}, [{"a": 1, "b": 1}], [{"a": 1}], ["x[0].b"]),
        ({"type": "object"}, {"a": 1}, {}, ["x.a"]),
        ({"type": "string"}, {"a": 1}, {}, ["x.a"]),
        (
            {**KNOWN, "x-kubernetes-embedded-resource": True},
            {"apiVersion": "v1", "kind": "K", "metadata": {"labels": {}}, "a": 1, "b": 1},
            {"apiVersion": "v1", "kind": "K", "metadata": {"labels": {}}, "a": 1},
            ["x.b"],
        ),
    ],
)  # fmt: skip
def test_unknown_fields_are_dropped_and_named(schema: Any, value: Any, left: Any, unknown: list[str]) -> None:
    obj = {"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "n"}, "x": copy.deepcopy(value)}
    found: list[str] = []
    prune(obj, SchemaNode({"type": "object", "properties": {"x": schema}}), found)
    assert obj == {"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "n"}, "x": left}
    assert found == unknown


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "string", "default": "d"}, {}, {"x": "d"}),
        ({"type": "string", "default": "d"}, {"x": "e"}, {"x": "e"}),
        ({"type": "string", "default": "d"}, {"x": None}, {"x": "d"}),
        ({"type": "string", "default": "d", "nullable": True}, {"x": None}, {"x": None}),
        ({"type": "string"}, {"x": None}, {}),
        ({"type": "string", "nullable": True}, {"x": None}, {"x": None}),
        ({"type": "object", "properties": {"y": {"type": "string", "default": "d"}}}, {}, {}),
        ({"type": "object", "properties": {"y": {"type": "string", "default": "d"}}}, {"x": {}}, {"x": {"y": "d"}}),
        (
            {"type": "object", "default": {}, "properties": {"y": {"type": "string", "default": "d"}}},
            {},
            {"x": {"y": "d"}},
        ),
        (
            {"type": "array", "items": {"type": "object", "properties": {"y": {"type": "integer", "default": 1}}}},
            {"x": [{}, {"y": 2}]},
            {"x": [{"y": 1}, {"y": 2}]},
        ),
        (
            {"type": "object", "additionalProperties": {"type": "object", "properties": {"y": {"type": "integer", "default": 1}}}},
            {"x": {"k": {}}},
            {"x": {"k": {"y": 1}}},
        ),
    ],
)  # fmt: skip
def test_nulls_go_and_defaults_come(schema: Any, value: Any, expected: Any) -> None:
    obj, node = copy.deepcopy(value), SchemaNode({"type": "object", "properties": {"x": schema}})
    drop_nulls(obj, node)
    fill_defaults(obj, node)
    assert obj == expected


def test_a_default_is_nobodys_but_the_objects() -> None:
    node = SchemaNode(
        {
            "type": "object",
            "properties": {"x": {"type": "array", "items": {"type": "string"}, "default": ["a"]}},
        }
    )
    one: Any = {}
    other: Any = {}
    fill_defaults(one, node)
    one["x"].append("b")
    fill_defaults(other, node)
    assert other == {"x": ["a"]}
