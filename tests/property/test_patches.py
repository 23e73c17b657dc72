"""Laws of the three patches on arbitrary trees, and JSON patch against a naive model."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.codec import duplicate_fields, encode
from fairlead.core.errors import BadRequest, Invalid
from fairlead.model.diff import changed_fields
from fairlead.model.fields import Field, FieldTables, ListOf, MapOf, ObjectType, Ref, Scalar
from fairlead.model.patch.jsonpatch import json_patch
from fairlead.model.patch.merge import merge_patch, patch_between
from fairlead.model.patch.strategic import strategic

Tree = dict[str, Any]
KEYS = st.sampled_from(["a", "b", "c", "d/e", "~f"])
LEAVES = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "x", "y"])
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
TREES = st.dictionaries(KEYS, VALUES, max_size=4)


def without_nulls(tree: Any) -> Any:
    """As an object of the API: no key has the value null. Lists stay as they are."""
    if isinstance(tree, dict):
        return {key: without_nulls(value) for key, value in tree.items() if value is not None}
    return tree


OBJECTS = TREES.map(without_nulls)


@given(TREES)
def test_an_empty_merge_patch_changes_nothing(tree: Tree) -> None:
    assert merge_patch(tree, {}) == tree


@given(TREES, TREES)
def test_a_merge_patch_done_twice_is_done_once_and_touches_no_input(tree: Tree, patch: Tree) -> None:
    before = copy.deepcopy((tree, patch))
    once = merge_patch(tree, patch)
    assert merge_patch(once, patch) == once
    assert (tree, patch) == before


@given(OBJECTS, TREES)
def test_a_merge_patch_leaves_no_null_of_its_own(tree: Tree, patch: Tree) -> None:
    result = merge_patch(tree, patch)
    assert without_nulls(result) == result


@given(OBJECTS, OBJECTS)
def test_a_merge_patch_leads_from_any_object_to_any_other(old: Tree, new: Tree) -> None:
    assert merge_patch(old, patch_between(old, new)) == new
    kept = merge_patch(old, patch_between(old, new, removes=False))
    assert patch_between(kept, new, removes=False) == {}


@given(TREES, TREES)
def test_no_changed_fields_means_equal_trees(old: Tree, new: Tree) -> None:
    assert (changed_fields(old, new) == ()) is (old == new)
    assert changed_fields(old, copy.deepcopy(old)) == ()


@given(TREES)
def test_encoded_trees_have_no_repeated_fields(tree: Tree) -> None:
    assert duplicate_fields(encode(tree)) == []


# JSON patch against a model that knows paths as tuples.

PARTS = KEYS | st.sampled_from(["0", "1", "2", "-"])
POINTERS = st.lists(PARTS, max_size=3).map(tuple)
OPERATIONS = st.one_of(
    st.tuples(st.sampled_from(["add", "replace", "test"]), POINTERS, VALUES),
    st.tuples(st.just("remove"), POINTERS, st.none()),
    st.tuples(st.sampled_from(["move", "copy"]), POINTERS, POINTERS),
)


class DoesNotFit(Exception):
    pass


def pointer(parts: tuple[str, ...]) -> str:
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


def find(tree: Any, parts: tuple[str, ...]) -> Any:
    for part in parts:
        if isinstance(tree, dict) and part in tree:
            tree = tree[part]
        elif isinstance(tree, list) and part.isdigit() and int(part) < len(tree):
            tree = tree[int(part)]
        else:
            raise DoesNotFit
    return tree


def put(tree: Any, parts: tuple[str, ...], value: Any, replace: bool) -> Any:
    if not parts:
        return value
    if replace:
        find(tree, parts)
    parent, last = find(tree, parts[:-1]), parts[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list) and replace:
        parent[int(last)] = value
    elif isinstance(parent, list) and last == "-":
        parent.append(value)
    elif isinstance(parent, list) and last.isdigit() and int(last) <= len(parent):
        parent.insert(int(last), value)
    else:
        raise DoesNotFit
    return tree


def take(tree: Any, parts: tuple[str, ...]) -> Any:
    if not parts:
        raise DoesNotFit
    value = find(tree, parts)
    parent = find(tree, parts[:-1])
    del parent[parts[-1] if isinstance(parent, dict) else int(parts[-1])]
    return value


def model(tree: Any, operation: tuple[str, tuple[str, ...], Any]) -> Any:
    name, path, argument = operation
    if name in ("add", "replace"):
        return put(tree, path, copy.deepcopy(argument), name == "replace")
    if name == "test":
        if encode(_sorted(find(tree, path))) != encode(_sorted(argument)):
            raise DoesNotFit
    elif name == "remove":
        take(tree, path)
    elif name == "copy":
        return put(tree, path, copy.deepcopy(find(tree, argument)), False)
    elif path != argument:
        if path[: len(argument)] == argument:
            raise DoesNotFit
        return put(tree, path, take(tree, argument), False)
    else:
        find(tree, path)
    return tree


def _sorted(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _sorted(tree[key]) for key in sorted(tree)}
    return [_sorted(item) for item in tree] if isinstance(tree, list) else tree


@given(TREES, st.lists(OPERATIONS, max_size=5))
def test_json_patch_equals_the_model(tree: Tree, operations: list[tuple[str, tuple[str, ...], Any]]) -> None:
    patch = [
        {"op": name, "path": pointer(path), "from": pointer(argument)}
        if name in ("move", "copy")
        else {"op": name, "path": pointer(path), "value": argument}
        for name, path, argument in operations
    ]
    saved = copy.deepcopy((tree, patch))
    expected: Any = copy.deepcopy(tree)
    try:
        for operation in operations:
            expected = model(expected, operation)
    except DoesNotFit:
        expected = None
    try:
        result: Any = json_patch(tree, patch)
    except Invalid:
        result = None
    assert result == (expected if isinstance(expected, dict) else None)
    assert (tree, patch) == saved


# Strategic merge on a table where a is a keyed list, b a set, c an object of the same type, d/e a map.

TABLE = ObjectType(
    "T",
    {
        "a": Field("a", ListOf(Ref("T")), merge_key="name", strategy=frozenset({"merge"})),
        "b": Field("b", ListOf(Scalar("string")), strategy=frozenset({"merge"})),
        "c": Field("c", Ref("T")),
        "d/e": Field("d/e", MapOf(Scalar("any"))),
        "~f": Field("~f", ListOf(Scalar("any"))),
    },
)
TABLES = FieldTables({"T": TABLE})
NAMES = st.sampled_from("pqrs")


def typed(nulls: bool) -> st.SearchStrategy[Tree]:
    def made(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        item = st.builds(lambda name, rest: {**rest, "name": name}, NAMES, inner)
        fields: dict[str, st.SearchStrategy[Any]] = {
            "a": st.lists(item, max_size=3, unique_by=lambda each: each["name"]),
            "b": st.lists(NAMES, max_size=3, unique=True),
            "c": inner,
            "d/e": st.dictionaries(NAMES, st.integers(0, 3), max_size=2),
            "~f": st.lists(st.integers(0, 3), max_size=2),
            "x": st.integers(0, 3),
        }
        if nulls:
            fields = {name: values | st.none() for name, values in fields.items()}
        return st.fixed_dictionaries({}, optional=fields)

    return st.recursive(st.just({}), made, max_leaves=4)


@given(typed(nulls=False))
def test_an_empty_strategic_patch_changes_nothing(tree: Tree) -> None:
    assert strategic(tree, {}, TABLE, TABLES) == tree


@given(typed(nulls=False), typed(nulls=True))
def test_a_strategic_patch_done_twice_is_done_once_and_touches_no_input(tree: Tree, patch: Tree) -> None:
    before = copy.deepcopy((tree, patch))
    once = strategic(tree, patch, TABLE, TABLES)
    assert strategic(once, patch, TABLE, TABLES) == once
    assert (tree, patch) == before


@given(typed(nulls=False))
def test_an_object_merged_into_itself_is_itself(tree: Tree) -> None:
    assert strategic(tree, tree, TABLE, TABLES) == tree


@given(typed(nulls=False), typed(nulls=False))
def test_merged_lists_have_every_name_once_and_keep_the_patch_order(tree: Tree, patch: Tree) -> None:
    result = strategic(tree, patch, TABLE, TABLES)
    for field in ("a", "b"):
        old, asked, new = (
            [item["name"] if field == "a" else item for item in each.get(field, [])]
            for each in (tree, patch, result)
        )
        assert sorted(new) == sorted({*old, *asked})
        assert [name for name in new if name in asked] == asked
        assert [name for name in new if name not in asked] == [name for name in old if name not in asked]


DIRECTIVES = st.sampled_from(
    ["$patch", "$retainKeys", "$setElementOrder/a", "$deleteFromPrimitiveList/b", "$x", "a", "b"]
)


@given(
    typed(nulls=False), st.dictionaries(DIRECTIVES, VALUES | st.sampled_from(["delete", "replace", "merge"]))
)
def test_any_patch_is_applied_or_refused_cleanly(tree: Tree, patch: Tree) -> None:
    saved = copy.deepcopy((tree, patch))
    with suppress(BadRequest):
        strategic(tree, patch, TABLE, TABLES)
    assert (tree, patch) == saved
