"""JSON patch (RFC 6902) through the API: each operation, pointers, what fails, all or nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.differential.asking import json_patch, post
from tests.differential.objects import CM, IN_POD, WEB, cm, deployment
from tests.differential.rows import EMPTY, REFUSED, Row, check

ARGS = "/spec/template/spec/containers/0/args"
AT_ARGS = f"{IN_POD}.containers[0].args"
MAKE = post(cm({"foo": "bar", "baz": "qux"}))
LIST = post(deployment({"containers": [{"name": "web", "image": "web:1", "args": ["one", "two"]}]}))


def on_map(*operations: Any) -> tuple[Any, Any]:
    return MAKE, json_patch(CM, list(operations))


def on_list(*operations: Any) -> tuple[Any, Any]:
    return LIST, json_patch(WEB, list(operations))


def op(name: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": name, "path": path, **more}


ADD = [
    Row(
        "add puts a member",
        on_map(op("add", "/data/new", value="1")),
        {"data": {"foo": "bar", "baz": "qux", "new": "1"}},
    ),
    Row(
        "add replaces a member that is there",
        on_map(op("add", "/data/foo", value="1")),
        {"data": {"foo": "1", "baz": "qux"}},
    ),
    Row(
        "add puts an item before the one at its index",
        on_list(op("add", f"{ARGS}/1", value="mid")),
        {AT_ARGS: ["one", "mid", "two"]},
    ),
    Row(
        "add at the length of a list appends",
        on_list(op("add", f"{ARGS}/2", value="end")),
        {AT_ARGS: ["one", "two", "end"]},
    ),
    Row("add at - appends", on_list(op("add", f"{ARGS}/-", value="end")), {AT_ARGS: ["one", "two", "end"]}),
    Row(
        "add at 0 goes first",
        on_list(op("add", f"{ARGS}/0", value="first")),
        {AT_ARGS: ["first", "one", "two"]},
    ),
    Row(
        "add beyond the end is refused",
        on_list(op("add", f"{ARGS}/3", value="far")),
        {AT_ARGS: ["one", "two"]},
        status=REFUSED,
    ),
    Row(
        "add into what is not there is refused",
        on_map(op("add", "/metadata/annotations/a", value="1")),
        status=REFUSED,
    ),
    Row(
        "add a map, then a member of it",
        on_map(op("add", "/metadata/labels", value={}), op("add", "/metadata/labels/a", value="1")),
        {"metadata.labels": {"a": "1"}},
    ),
    Row(
        "members that the operation does not know are ignored",
        on_map(op("add", "/data/x", value="1", xyz=123)),
        {"data.x": "1"},
    ),
]

REMOVE_AND_REPLACE = [
    Row("remove takes a member", on_map(op("remove", "/data/foo")), {"data": {"baz": "qux"}}),
    Row("remove takes an item, the others move up", on_list(op("remove", f"{ARGS}/0")), {AT_ARGS: ["two"]}),
    Row("remove of what is not there is refused", on_map(op("remove", "/data/none")), status=REFUSED),
    Row("remove beyond the end is refused", on_list(op("remove", f"{ARGS}/2")), status=REFUSED),
    Row("remove at - is refused: there is nothing", on_list(op("remove", f"{ARGS}/-")), status=REFUSED),
    Row(
        "replace changes a member",
        on_map(op("replace", "/data/foo", value="1")),
        {"data": {"foo": "1", "baz": "qux"}},
    ),
    Row("replace changes an item", on_list(op("replace", f"{ARGS}/1", value="2")), {AT_ARGS: ["one", "2"]}),
    Row(
        "replace of what is not there is refused",
        on_map(op("replace", "/data/none", value="1")),
        status=REFUSED,
    ),
    Row(
        "replace changes a whole map", on_map(op("replace", "/data", value={"x": "y"})), {"data": {"x": "y"}}
    ),
]

MOVE_AND_COPY = [
    Row(
        "move takes a member elsewhere",
        on_map({"op": "move", "from": "/data/foo", "path": "/data/new"}),
        {"data": {"baz": "qux", "new": "bar"}},
    ),
    Row(
        "move takes an item elsewhere",
        on_list({"op": "move", "from": f"{ARGS}/0", "path": f"{ARGS}/1"}),
        {AT_ARGS: ["two", "one"]},
    ),
    Row(
        "move of what is not there is refused",
        on_map({"op": "move", "from": "/data/none", "path": "/data/x"}),
        status=REFUSED,
    ),
    Row(
        "move into its own child is refused",
        on_map({"op": "move", "from": "/data", "path": "/data/foo"}),
        status=REFUSED,
    ),
    Row(
        "move onto itself changes nothing",
        on_map({"op": "move", "from": "/data/foo", "path": "/data/foo"}),
        unchanged=True,
    ),
    Row(
        "copy leaves the source",
        on_map({"op": "copy", "from": "/data/foo", "path": "/data/new"}),
        {"data": {"foo": "bar", "baz": "qux", "new": "bar"}},
    ),
    Row(
        "copy of what is not there is refused",
        on_map({"op": "copy", "from": "/data/none", "path": "/data/x"}),
        status=REFUSED,
    ),
]

TEST = [
    Row(
        "a test that holds lets the rest happen",
        on_map(op("test", "/data/foo", value="bar"), op("remove", "/data/foo")),
        {"data": {"baz": "qux"}},
    ),
    Row(
        "a test that fails lets nothing happen",
        on_map(op("remove", "/data/foo"), op("test", "/data/baz", value="no")),
        {"data.foo": "bar"},
        status=422,
    ),
    Row("a test of what is not there fails", on_map(op("test", "/data/none", value="x")), status=REFUSED),
    Row(
        "a string is not the number that it spells",
        on_list(op("test", "/spec/replicas", value="1")),
        status=422,
    ),
    Row("true is not the number 1", on_list(op("test", "/spec/replicas", value=True)), status=422),
    Row("1.0 is the number 1", on_list(op("test", "/spec/replicas", value=1.0)), unchanged=True),
    Row("a number is tested by its value", on_list(op("test", "/spec/replicas", value=1)), unchanged=True),
    Row(
        "objects are tested without regard to order",
        on_map(op("test", "/data", value={"baz": "qux", "foo": "bar"})),
        unchanged=True,
    ),
    Row("lists are tested with regard to order", on_list(op("test", ARGS, value=["two", "one"])), status=422),
]

POINTERS = [
    Row(
        "~1 in a pointer is a slash",
        (
            post(cm(annotations={"example.com/a": "1"})),
            json_patch(CM, [op("replace", "/metadata/annotations/example.com~1a", value="2")]),
        ),
        {"metadata.annotations": {"example.com/a": "2"}},
    ),
    Row(
        "a slash that is not escaped leads elsewhere",
        (
            post(cm(annotations={"example.com/a": "1"})),
            json_patch(CM, [op("remove", "/metadata/annotations/example.com/a")]),
        ),
        status=REFUSED,
    ),
    Row("a pointer must begin with a slash", on_map(op("remove", "data/foo")), status=400),
    Row("an index has no leading zero", on_list(op("replace", f"{ARGS}/01", value="x")), status=REFUSED),
    Row("an index is a number", on_list(op("replace", f"{ARGS}/one", value="x")), status=REFUSED),
]

WHOLE = [
    Row(
        "operations apply in their order",
        on_map(op("add", "/data/x", value="1"), op("replace", "/data/x", value="2")),
        {"data.x": "2"},
    ),
    Row("no operations change nothing", on_map(), unchanged=True),
    Row(
        "the whole document is replaced",
        on_map(op("replace", "", value=cm({"only": "this"}))),
        {"data": {"only": "this"}},
    ),
    Row("the whole document is not removed", on_map(op("remove", "")), status=REFUSED),
    Row("an unknown operation is refused", on_map(op("spam", "/data/foo")), status=400),
    Row("an operation without path is refused", on_map({"op": "remove"}), status=400),
    Row("add without value is refused", on_map(op("add", "/data/x")), status=400),
    Row("what is no list is refused", (MAKE, json_patch(CM, op("remove", "/data/foo"))), status=400),
    Row("a value of the wrong type is refused", on_map(op("add", "/data/x", value=["y"])), status=REFUSED),
    Row(
        "an object that is no longer valid is refused",
        on_list(op("remove", "/spec/template/spec/containers/0")),
        status=422,
    ),
    Row(
        "the last member is removed",
        (post(cm({"a": "1"})), json_patch(CM, [op("remove", "/data/a")])),
        {"data": EMPTY},
    ),
]


@pytest.mark.parametrize(
    "row", [*ADD, *REMOVE_AND_REPLACE, *MOVE_AND_COPY, *TEST, *POINTERS, *WHOLE], ids=str
)
def test_json_patch(row: Row, record_property: Callable[[str, object], None]) -> None:
    check(row, record_property)
