"""Server-side apply to custom resources: the markers of their schema say what merges, and what has none is deduced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.differential.asking import Ask, apply, merge, strategic
from tests.differential.objects import Json, item
from tests.differential.rows import AtLeast, Row, check

AT = "/apis/example.com/v1/namespaces/default/things/x"
TEXTS: Json = {"type": "array", "items": {"type": "string"}}
PORT = {
    "type": "object",
    "required": ["port"],
    "properties": {
        "port": {"type": "integer"},
        "protocol": {"type": "string", "default": "TCP"},
        "name": {"type": "string"},
    },
}
SPEC = {
    "replicas": {"type": "integer"},
    "level": {"type": "string", "default": "low"},
    "plain": TEXTS,
    "names": {**TEXTS, "x-kubernetes-list-type": "set"},
    "ports": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"],
        "items": PORT,
    },
    "each": {"type": "object", "additionalProperties": {"type": "string"}},
    "whole": {
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "additionalProperties": {"type": "string"},
    },
    "piece": {
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
    },
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "maybe": {"type": "string", "nullable": True},
    "some": {**TEXTS, "x-kubernetes-list-type": "set", "nullable": True},
}
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": SPEC},
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
    },
}
DEFINE = Ask(
    "POST",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": SCHEMA},
                    "subresources": {"status": {}},
                }
            ],
        },
    },
)


def thing(**spec: Any) -> Json:
    made: Json = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}}
    return {**made, "spec": spec} if spec else made


def two(first: Json, second: Json) -> tuple[Ask, Ask, Ask]:
    """Two appliers."""
    return DEFINE, apply(thing(**first), "one", AT), apply(thing(**second), "two", AT)


NULLS: Json = {"maybe": None, "some": None, "free": {"a": None, "b": {"c": None}}}


def against(path: str) -> frozenset[tuple[str, str]]:
    return frozenset({('conflict with "one"', path)})


def port(key: str, *fields: str) -> str:
    return item(f".spec.ports[{key}]", *fields)


CUSTOM = [
    Row(
        "a custom resource is created by applying it",
        (DEFINE, apply(thing(replicas=1), "one", AT)),
        {"spec.replicas": 1, "metadata.managedFields[0].apiVersion": "example.com/v1"},
        {"one Apply": ".spec.replicas"},
        status=201,
    ),
    Row(
        "applying it again changes nothing",
        (
            DEFINE,
            apply(thing(names=["a"], ports=[{"port": 80}], free={"a": [1]}), "one", AT),
            apply(thing(names=["a"], ports=[{"port": 80}], free={"a": [1]}), "one", AT),
        ),
        unchanged=True,
    ),
    Row(
        "null is a value where the schema has room for it, and applying it again changes nothing",
        (DEFINE, apply(thing(**NULLS), "one", AT), apply(thing(**NULLS), "one", AT)),
        {"spec": {**NULLS, "level": "low"}},
        {"one Apply": ".spec.maybe .spec.some .spec.free.a .spec.free.b .spec.free.b.c"},
        unchanged=True,
    ),
    Row(
        "a null of two appliers is shared as any value is",
        two(NULLS, {"maybe": None}),
        {"spec": {**NULLS, "level": "low"}},
        {
            "one Apply": ".spec.maybe .spec.some .spec.free.a .spec.free.b .spec.free.b.c",
            "two Apply": ".spec.maybe",
        },
    ),
    Row(
        "who changes something else has nothing to do with a null",
        (DEFINE, apply(thing(**NULLS), "one", AT), merge(AT, {"spec": {"replicas": 1}})),
        {"spec": {**NULLS, "level": "low", "replicas": 1}},
        {
            "one Apply": ".spec.maybe .spec.some .spec.free.a .spec.free.b .spec.free.b.c",
            "two Update": ".spec.replicas",
        },
    ),
    Row(
        "items in place of null are owned one by one",
        (DEFINE, apply(thing(**NULLS), "one", AT), merge(AT, {"spec": {"some": ["a"]}})),
        {"spec.some": ["a"]},
        {
            "one Apply": ".spec.maybe .spec.free.a .spec.free.b .spec.free.b.c",
            "two Update": '.spec.some .spec.some[="a"]',
        },
    ),
    Row(
        "a null that is no longer applied goes",
        (DEFINE, apply(thing(**NULLS), "one", AT), apply(thing(replicas=1), "one", AT)),
        {"spec": {"replicas": 1, "level": "low"}},
        {"one Apply": ".spec.replicas"},
    ),
    Row(
        "a list without a marker is one piece",
        two({"plain": ["a"]}, {"plain": ["b"]}),
        {"spec.plain": ["a"]},
        status=409,
        causes=against(".spec.plain"),
    ),
    Row(
        "a set is owned value by value",
        two({"names": ["a"]}, {"names": ["b"]}),
        {"spec.names": ["a", "b"]},
        {"one Apply": '.spec.names[="a"]', "two Apply": '.spec.names[="b"]'},
    ),
    Row(
        "a list with keys is owned item by item, a default stands for a key left out",
        two({"ports": [{"port": 80, "name": "a"}]}, {"ports": [{"port": 80, "protocol": "UDP"}]}),
        {"spec.ports[*].protocol": ["TCP", "UDP"]},
        {
            "one Apply": port('port=80,protocol="TCP"', "port", "name"),
            "two Apply": port('port=80,protocol="UDP"', "port", "protocol"),
        },
    ),
    Row(
        "a map without a marker is owned key by key",
        two({"each": {"a": "1"}}, {"each": {"b": "2"}}),
        {"spec.each": {"a": "1", "b": "2"}},
        {"one Apply": ".spec.each.a", "two Apply": ".spec.each.b"},
    ),
    Row(
        "an atomic map is one piece",
        two({"whole": {"a": "1"}}, {"whole": {"b": "2"}}),
        {"spec.whole": {"a": "1"}},
        status=409,
        causes=against(".spec.whole"),
    ),
    Row(
        "an atomic object is one piece",
        two({"piece": {"a": "1"}}, {"piece": {"b": "2"}}),
        {"spec.piece": {"a": "1"}},
        status=409,
        causes=against(".spec.piece"),
    ),
    Row(
        "what the schema leaves open is owned key by key",
        two({"free": {"a": {"x": 1}}}, {"free": {"b": 2}}),
        {"spec.free": {"a": {"x": 1}, "b": 2}},
        {"one Apply": ".spec.free.a .spec.free.a.x", "two Apply": ".spec.free.b"},
    ),
    Row(
        "a list in what the schema leaves open is one piece",
        two({"free": {"a": [1]}}, {"free": {"a": [2]}}),
        {"spec.free": {"a": [1]}},
        status=409,
        causes=against(".spec.free.a"),
    ),
    Row(
        "a field with a default goes back to it when left out",
        (
            DEFINE,
            apply(thing(replicas=1, level="high"), "one", AT),
            apply(thing(replicas=1), "one", AT),
        ),
        {"spec.level": "low"},
        {"one Apply": ".spec.replicas"},
    ),
    Row(
        "a conflict with an updater tells the version",
        (
            DEFINE,
            apply(thing(replicas=1), "one", AT),
            merge(AT, {"spec": {"replicas": 2}}),
            apply(thing(replicas=3), "one", AT),
        ),
        status=409,
        message='Apply failed with 1 conflict: conflict with "two" using example.com/v1: .spec.replicas',
    ),
    Row(
        "an update moves what it changes",
        (
            DEFINE,
            apply(thing(names=["a"], ports=[{"port": 80, "name": "a"}]), "one", AT),
            merge(
                AT, {"spec": {"names": ["a", "b"], "ports": [{"port": 80, "name": "b", "protocol": "TCP"}]}}
            ),
        ),
        owns={
            "one Apply": '.spec.names[="a"] ' + port('port=80,protocol="TCP"', "port"),
            "two Update": '.spec.names[="b"] .spec.ports[port=80,protocol="TCP"].name',
        },
    ),
    Row(
        "status is out of reach of the resource, and the spec of status",
        (
            DEFINE,
            apply({**thing(replicas=1), "status": {"phase": "no"}}, "one", AT),
            apply({**thing(replicas=9), "status": {"phase": "Ready"}}, "two", f"{AT}/status"),
        ),
        {"spec.replicas": 1, "status.phase": "Ready"},
        {"one Apply": ".spec.replicas", "two Apply status": ".status.phase"},
    ),
    Row(
        "a merge patch by another is tracked",
        (DEFINE, apply(thing(replicas=1), "one", AT), merge(AT, {"spec": {"each": {"a": "1"}}})),
        owns={"one Apply": ".spec.replicas", "two Update": AtLeast(".spec.each .spec.each.a")},
    ),
    Row(
        "true is not 1: an applier in conflict",
        two({"free": {"a": 1}}, {"free": {"a": True}}),
        status=409,
        causes=against(".spec.free.a"),
    ),
    Row(
        "true is not 1: a list of one piece in conflict",
        two({"free": {"a": [0]}}, {"free": {"a": [False]}}),
        status=409,
        causes=against(".spec.free.a"),
    ),
    Row(
        "true is not 1: its owner changes it",
        (DEFINE, apply(thing(free={"a": 1}), "one", AT), apply(thing(free={"a": True}), "one", AT)),
        {"spec.free": {"a": True}, "metadata.generation": 2},
        times={"one Apply": 3},
    ),
    Row(
        "true is not 1: an update changes it and takes it",
        (DEFINE, apply(thing(free={"a": 1}), "one", AT), merge(AT, {"spec": {"free": {"a": True}}})),
        {"spec.free": {"a": True}},
        {"two Update": ".spec.free.a"},
    ),
    Row(
        "a strategic merge patch is not for custom resources",
        (DEFINE, apply(thing(replicas=1), "one", AT), strategic(AT, {"spec": {"replicas": 2}})),
        {"spec.replicas": 1},
        status=415,
    ),
]


@pytest.mark.parametrize("row", CUSTOM, ids=str)
def test_custom_resources(row: Row, record_property: Callable[[str, object], None]) -> None:
    check(row, record_property)
