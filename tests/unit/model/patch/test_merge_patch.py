"""JSON merge patch: the examples of RFC 7386 that concern objects, and ours."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairlead.model.patch.merge import merge_patch, patch_between

CASES: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ({"a": "foo"}, {"a": {"b": {"c": None, "d": 1}}}, {"a": {"b": {"d": 1}}}),
    ({"a": {"b": 1}}, {"a": {}}, {"a": {"b": 1}}),
    ({"a": [1]}, {"a": [None]}, {"a": [None]}),
    ({"a": {"b": 1}}, {"a": None, "c": None}, {}),
]


@pytest.mark.parametrize(("current", "patch", "expected"), CASES)
def test_patches_merge_and_touch_neither_side(
    current: dict[str, Any], patch: dict[str, Any], expected: dict[str, Any]
) -> None:
    before = copy.deepcopy((current, patch))
    assert merge_patch(current, patch) == expected
    assert (current, patch) == before


def test_the_result_shares_nothing_with_object_or_patch() -> None:
    current: dict[str, Any] = {"kept": {"x": [1]}}
    patch: dict[str, Any] = {"new": {"y": [2]}, "list": [{"z": 1}]}
    result = merge_patch(current, patch)
    result["kept"]["x"].append(9)
    result["new"]["y"].append(9)
    result["list"][0]["z"] = 9
    assert current == {"kept": {"x": [1]}}
    assert patch == {"new": {"y": [2]}, "list": [{"z": 1}]}


def test_fields_stay_where_they_were_and_new_ones_follow() -> None:
    assert list(merge_patch({"b": 1, "a": 1}, {"c": 1, "a": 2})) == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("current", "wanted", "part", "whole"),
    [
        ({"a": 1}, {"a": 1}, {}, {}),
        ({"a": 1}, {"a": 2}, {"a": 2}, {"a": 2}),
        ({}, {"a": {"b": 1}}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, {}, {"a": {"c": None}}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"c": None}}, {"a": {"c": None}}, {"a": {"b": None, "c": None}}),
        ({"a": {"b": 1}}, {"a": {"c": None}}, {}, {"a": {"b": None}}),
        ({"a": [1, 2]}, {"a": [2, 1]}, {"a": [2, 1]}, {"a": [2, 1]}),
        ({"a": 1, "b": {"c": 1}}, {"b": 2}, {"b": 2}, {"a": None, "b": 2}),
    ],
)
def test_a_patch_between_two_names_only_what_must_change(
    current: dict[str, Any], wanted: dict[str, Any], part: dict[str, Any], whole: dict[str, Any]
) -> None:
    assert patch_between(current, wanted, removes=False) == part
    assert patch_between(current, wanted) == whole
