"""Which fields changed, as paths."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.diff import MORE, changed_fields


@pytest.mark.parametrize(
    ("old", "new", "paths"),
    [
        ({}, {}, ()),
        ({"a": {"b": [1]}}, {"a": {"b": [1]}}, ()),
        ({"spec": {"replicas": 1}}, {"spec": {"replicas": 2}}, ("spec.replicas",)),
        ({"a": 1}, {"b": 1}, ("a", "b")),
        ({}, {"a": {"b": {"c": 1}}}, ("a",)),
        ({"a": {"b": {"c": 1}}}, {}, ("a",)),
        ({"a": {"b": 1}}, {"a": [1]}, ("a",)),
        ({"a": None}, {}, ("a",)),
        ({"a": "1"}, {"a": 1}, ("a",)),
        ({"c": [{"n": 1}, {"n": 2}]}, {"c": [{"n": 1}, {"n": 3}]}, ("c[1].n",)),
        ({"c": [1, 2]}, {"c": [1]}, ("c[1]",)),
        ({"c": [1]}, {"c": [2, 3, 4]}, ("c[0]", "c[1]", "c[2]")),
        ({"c": [[1], [2]]}, {"c": [[1], [3]]}, ("c[1][0]",)),
        (
            {"metadata": {"annotations": {"a.b/c": "1", "plain": "x"}}},
            {"metadata": {"annotations": {"a.b/c": "2", "plain": "y"}}},
            ('metadata.annotations["a.b/c"]', "metadata.annotations.plain"),
        ),
    ],
)
def test_differing_fields_are_named(old: dict[str, Any], new: dict[str, Any], paths: tuple[str, ...]) -> None:
    assert changed_fields(old, new) == paths


def test_values_never_leave() -> None:
    old, new = {"data": {"password": "hunter2"}}, {"data": {"password": "correct horse"}}
    assert changed_fields(old, new) == ("data.password",)


@pytest.mark.parametrize("limit", [1, 5])
def test_the_number_of_paths_is_bounded(limit: int) -> None:
    old = {"a": {f"k{i}": 1 for i in range(100)}, "l": list(range(100))}
    new = {"a": {f"k{i}": 2 for i in range(100)}, "l": [], "more": 1}
    paths = changed_fields(old, new, limit)
    assert paths == (*(f"a.k{i}" for i in range(limit)), MORE)


def test_exactly_as_many_as_the_limit_are_all_named() -> None:
    assert changed_fields({"a": 1, "b": 1}, {"a": 2, "b": 2}, 2) == ("a", "b")
