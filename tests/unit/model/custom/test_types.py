"""A schema as types of the field tables: every type that a field refers to is there, and no other."""

from __future__ import annotations

import copy
from collections.abc import Iterator

from fairlead.model.custom.schema import compile_schema
from fairlead.model.custom.types import types_of
from fairlead.model.fields import ListOf, MapOf, Ref, Type
from tests.unit.api.custom.definitions import Json
from tests.unit.api.custom.test_nothing_breaks import SCHEMA

NAME = "example.com/v1.CronTab"
OBJECT: Json = {"type": "object", "properties": {"a": {"type": "string"}}}


def referred(kind: Type) -> Iterator[str]:
    while isinstance(kind, ListOf | MapOf):
        kind = kind.item if isinstance(kind, ListOf) else kind.value
    if isinstance(kind, Ref):
        yield kind.name


def test_every_type_that_is_referred_to_is_there_and_no_other() -> None:
    schema = copy.deepcopy(SCHEMA)
    schema["properties"].update(
        deep={"type": "object", "properties": {"list": {"type": "array", "items": OBJECT}, "one": OBJECT}},
        maps={"type": "object", "additionalProperties": {"type": "array", "items": OBJECT}},
        open={"type": "object", "additionalProperties": True, "properties": {"x": OBJECT}},
        kept={**OBJECT, "x-kubernetes-preserve-unknown-fields": True},
        atomic={**OBJECT, "x-kubernetes-map-type": "atomic"},
        metadata=OBJECT,
    )
    root, *others = types_of(compile_schema(schema), NAME)
    fields = [field for each in (root, *others) for field in each.fields.values()]
    named = {name for field in fields for name in referred(field.type)}
    assert named - {"ObjectMeta"} == {each.name for each in others}
    assert len(others) == len({each.name for each in others})
    assert {f"{NAME}.deep.list[]", f"{NAME}.maps{{}}[]", f"{NAME}.atomic"} <= named
    assert not any(".open" in name or ".kept" in name or ".metadata" in name for name in named)
    assert next(each for each in others if each.name == f"{NAME}.atomic").atomic


def test_schemas_that_say_the_same_share_a_node_and_others_do_not() -> None:
    text: Json = {"type": "string", "maxLength": 5}
    node = compile_schema(
        {
            "type": "object",
            "properties": {
                "a": text,
                "b": {**text, "description": "the same to us"},
                "c": {**text, "maxLength": 6},
                "one": {"x-kubernetes-preserve-unknown-fields": True, "default": 1},
                "true": {"x-kubernetes-preserve-unknown-fields": True, "default": True},
            },
        }
    )
    below = node.properties
    assert below["a"] is below["b"]
    assert below["a"] is not below["c"]
    assert (below["one"].default, below["true"].default) == (1, True)
    assert type(below["true"].default) is bool
