"""Sets of fields: their spelling, and the arithmetic of them."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core import codec
from fairlead.model.apply.elements import UndecodableError
from fairlead.model.apply.sets import (
    decode_fields,
    encode_fields,
    fields_json,
    intersection,
    minus,
    path_text,
    paths,
    union,
)
from tests.field_sets import has, of_paths

LABELS: dict[str, Any] = {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}}
ONE_LABEL: dict[str, Any] = {"f:metadata": {"f:labels": {"f:app": {}}}}
JUST_LABELS: dict[str, Any] = {"f:metadata": {"f:labels": {}}}
OTHER_LABEL: dict[str, Any] = {"f:metadata": {"f:labels": {"f:tier": {}}}}

NAMES = [
    "f:\U0001f600",
    "f:\uffff",
    "f:b",
    "f:B",
    "f:",
    "f:aa",
    "f:a",
    ".",
    'k:{"name":"é"}',
    "v:1",
    "f:a\0",
    'f:"q',
]


def test_a_set_is_written_in_one_order_however_it_was_put_together() -> None:
    ways: list[dict[str, Any]] = [
        {name: {inner: {} for inner in names} for name in names} for names in (NAMES, NAMES[::-1])
    ]
    written = {fields_json(each) for each in ways}
    assert written == {codec.encode(encode_fields(each)) for each in ways}
    assert len(written) == 1


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ({}, {}, {}),
        (LABELS, {}, LABELS),
        ({}, LABELS, LABELS),
        (ONE_LABEL, JUST_LABELS, LABELS),
        (JUST_LABELS, ONE_LABEL, LABELS),
        (ONE_LABEL, OTHER_LABEL, {"f:metadata": {"f:labels": {"f:app": {}, "f:tier": {}}}}),
        (LABELS, LABELS, LABELS),
        (JUST_LABELS, JUST_LABELS, JUST_LABELS),
    ],
)
def test_a_union_has_what_either_has(one: Any, other: Any, both: Any) -> None:
    assert union(one, other) == both


@pytest.mark.parametrize(
    ("one", "other", "left"),
    [
        (LABELS, {}, LABELS),
        ({}, LABELS, {}),
        (LABELS, LABELS, {}),
        (LABELS, ONE_LABEL, JUST_LABELS),
        (LABELS, JUST_LABELS, ONE_LABEL),
        (ONE_LABEL, JUST_LABELS, ONE_LABEL),
        (JUST_LABELS, ONE_LABEL, JUST_LABELS),
        (JUST_LABELS, LABELS, {}),
        (ONE_LABEL, OTHER_LABEL, ONE_LABEL),
    ],
)
def test_a_difference_takes_members_and_not_what_is_below_them(one: Any, other: Any, left: Any) -> None:
    before = encode_fields(one), encode_fields(other)
    assert minus(one, other) == left
    assert (encode_fields(one), encode_fields(other)) == before, "sets are shared and never changed"


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        (LABELS, LABELS, LABELS),
        (LABELS, ONE_LABEL, ONE_LABEL),
        (LABELS, JUST_LABELS, JUST_LABELS),
        (ONE_LABEL, JUST_LABELS, {}),
        (ONE_LABEL, OTHER_LABEL, {}),
        (LABELS, {"f:spec": {}}, {}),
        (LABELS, {"f:metadata": {"f:labels": {".": {}, "f:tier": {}}}}, JUST_LABELS),
    ],
)
def test_an_intersection_has_what_both_have(one: Any, other: Any, common: Any) -> None:
    assert intersection(one, other) == common
    assert intersection(other, one) == common


@pytest.mark.parametrize(
    ("fields", "same"),
    [
        ({"f:a": {".": {}}}, {"f:a": {}}),
        ({"f:a": None}, {"f:a": {}}),
        ({".": {}, "f:a": {}}, {"f:a": {}}),
        ({'k:{"name":"web"}': {".": {}, "f:image": {}}}, {'k:{"name":"web"}': {".": {}, "f:image": {}}}),
        ({'v:"a"': {}, "v:1": {}, "i:3": {}}, {'v:"a"': {}, "v:1": {}, "i:3": {}}),
        ({"f:": {}, "f:a:b": {}}, {"f:": {}, "f:a:b": {}}),
    ],
)
def test_every_spelling_of_a_set_is_read(fields: Any, same: Any) -> None:
    assert decode_fields(fields) == same


@pytest.mark.parametrize(
    "fields",
    [
        [], "f:a", {"a": {}}, {"x:a": {}}, {"k:": {}}, {"k:{": {}}, {"k:[]": {}}, {"k:{}": {}}, {"v:": {}},
        {"i:x": {}}, {"f:a": []}, {"f:a": 1}, {"f:a": {".": {"f:b": {}}}}, {"": {}}, {"f:a": {"b": {}}},
    ],
)  # fmt: skip
def test_what_is_no_set_is_refused(fields: Any) -> None:
    with pytest.raises(UndecodableError):
        decode_fields(fields)


def test_a_set_of_any_depth_is_refused_before_it_costs_anything() -> None:
    deep: Any = {}
    for _ in range(5000):
        deep = {"f:a": deep}
    with pytest.raises(UndecodableError, match="levels"):
        decode_fields(deep)


def test_members_and_paths_are_the_same_thing() -> None:
    members = [
        ("f:metadata", "f:labels"),
        ("f:metadata", "f:labels", "f:app"),
        ("f:spec", "f:ports", 'k:{"port":80,"protocol":"TCP"}', "f:name"),
        ("f:spec", "f:ports", 'k:{"port":80,"protocol":"TCP"}'),
    ]
    fields = of_paths(members)
    assert set(paths(fields)) == set(members)
    assert all(has(fields, path) for path in members)
    assert not has(fields, ("f:metadata",))
    assert not has(fields, ("f:metadata", "f:labels", "f:tier"))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("f:spec", "f:replicas"), ".spec.replicas"),
        (("f:ports", 'k:{"protocol":"TCP","port":80}'), '.ports[port=80,protocol="TCP"]'),
        (("f:finalizers", 'v:"a.b/c"'), '.finalizers[="a.b/c"]'),
        (("f:args", "i:2"), ".args[2]"),
        (("f:labels", "f:a.b/c:d"), ".labels.a.b/c:d"),
    ],
)
def test_a_path_reads_as_in_kubernetes_messages(path: tuple[str, ...], text: str) -> None:
    assert path_text(path) == text


def test_a_set_has_one_order() -> None:
    assert list(encode_fields({"f:b": {}, "f:a": {"f:z": {}, ".": {}}})) == ["f:a", "f:b"]
    assert list(encode_fields({"f:a": {"f:z": {}, ".": {}}})["f:a"]) == [".", "f:z"]
