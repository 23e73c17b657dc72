"""JSON patch: operations, refusals with index, path and way out, and bounds."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairlead.core.codec import DEPTH_MAX
from fairlead.core.errors import BadRequest, Invalid, TooLarge
from fairlead.model.patch.jsonpatch import OPERATIONS_MAX, json_patch

POD: dict[str, Any] = {
    "metadata": {"name": "web", "labels": {"app": "web", "a/b": "x", "t~e": "y"}},
    "spec": {"containers": [{"name": "a"}, {"name": "b"}], "priority": 1, "hostNetwork": True},
}


def op(name: str, path: str, value: Any = None, source: str | None = None) -> dict[str, Any]:
    if source is not None:
        return {"op": name, "path": path, "from": source}
    return {"op": name, "path": path} if name == "remove" else {"op": name, "path": path, "value": value}


@pytest.mark.parametrize(
    ("operations", "at", "expected"),
    [
        ([], ("spec", "priority"), 1),
        ([op("add", "/spec/x", {"y": 1})], ("spec", "x"), {"y": 1}),
        ([op("add", "/spec/priority", 2)], ("spec", "priority"), 2),
        ([op("replace", "/spec/priority", 3)], ("spec", "priority"), 3),
        ([op("add", "/spec/containers/-", {"name": "c"})], ("spec", "containers", 2, "name"), "c"),
        ([op("add", "/spec/containers/0", {"name": "c"})], ("spec", "containers", 0, "name"), "c"),
        ([op("remove", "/spec/containers/0")], ("spec", "containers"), [{"name": "b"}]),
        ([op("replace", "/metadata/labels/a~1b", "z")], ("metadata", "labels", "a/b"), "z"),
        ([op("replace", "/metadata/labels/t~0e", "z")], ("metadata", "labels", "t~e"), "z"),
        ([op("move", "/spec/moved", source="/spec/priority")], ("spec", "moved"), 1),
        ([op("copy", "/spec/copied", source="/spec/containers")], ("spec", "copied", 1, "name"), "b"),
        ([op("test", "/spec/priority", 1), op("replace", "/spec/priority", 2)], ("spec", "priority"), 2),
        ([op("add", "/spec/x", None)], ("spec", "x"), None),
        (
            [op("move", "/spec/containers/1", source="/spec/containers/0")],
            ("spec", "containers", 1, "name"),
            "a",
        ),
        ([op("replace", "", {"a": 1})], ("a",), 1),
    ],
)
def test_operations_apply_to_a_copy(operations: list[Any], at: tuple[Any, ...], expected: Any) -> None:
    before = copy.deepcopy((POD, operations))
    result: Any = json_patch(POD, operations)
    for step in at:
        result = result[step]
    assert result == expected
    assert (POD, operations) == before


def test_the_result_shares_nothing_with_object_or_patch() -> None:
    operations = [op("add", "/spec/x", {"y": []}), op("copy", "/spec/z", source="/spec/x")]
    result = json_patch(POD, operations)
    result["spec"]["x"]["y"].append(1)
    result["metadata"]["labels"]["app"] = "changed"
    assert result["spec"]["z"] == {"y": []}
    assert operations[0]["value"] == {"y": []}
    assert POD["metadata"]["labels"]["app"] == "web"


@pytest.mark.parametrize(
    ("operation", "part"),
    [
        ("remove", "must be an object"),
        (["op"], "must be an object"),
        ({}, "op null is not supported: use one of add, copy, move, remove, replace, test"),
        ({"op": "append", "path": "/a", "value": "x"}, 'op "append" is not supported'),
        ({"op": ["add"], "path": "/a", "value": 1}, "is not supported"),
        ({"op": "add", "value": 1}, "(add): 'path' is missing"),
        ({"op": "add", "path": "/a"}, "(add): 'value' is missing"),
        ({"op": "move", "path": "/a"}, "(move): 'from' is missing"),
        ({"op": "remove", "path": 5}, "'path' must be a string, got 5"),
        ({"op": "remove", "path": "spec"}, "starts with '/'"),
        ({"op": "remove", "path": "/a~2"}, "no JSON pointer"),
        ({"op": "copy", "path": "/a", "from": "b"}, "'from' is \"b\""),
    ],
)
def test_malformed_operations_are_bad_requests_that_name_the_index(operation: Any, part: str) -> None:
    with pytest.raises(BadRequest) as caught:
        json_patch(POD, [op("test", "/spec/priority", 1), operation])
    assert "JSON patch operation 1" in str(caught.value)
    assert part in str(caught.value)


def test_a_malformed_operation_is_found_before_any_is_applied() -> None:
    with pytest.raises(BadRequest):
        json_patch(POD, [op("test", "/spec/priority", 99), {"op": "jump"}])


@pytest.mark.parametrize(
    ("operation", "part"),
    [
        (op("remove", "/spec/missing"), "does not exist: use add"),
        (op("replace", "/spec/missing", 1), "does not exist: use add"),
        (op("add", "/spec/a/b/c", 1), '"/spec/a" does not exist: add it first'),
        (op("add", "/metadata/annotations/x~1y", 1), '"/metadata/annotations" does not exist: add it first'),
        (op("remove", "/spec/containers/2"), "the list has 2 items"),
        (op("replace", "/spec/containers/2", {}), "the list has 2 items"),
        (op("add", "/spec/containers/3", {}), "the list has 2 items"),
        (op("add", "/spec/containers/01", {}), "the list has 2 items"),
        (op("add", "/spec/containers/-1", {}), "the list has 2 items"),
        (op("remove", "/spec/containers/-"), "the list has 2 items"),
        (op("replace", "/spec/containers/-", {}), "the list has 2 items"),
        (op("add", "/spec/containers/9/name", "x"), '"/spec/containers/9" does not exist'),
        (op("add", "/spec/priority/x", 1), '"/spec/priority" is neither an object nor a list'),
        (op("add", "/metadata/name/x", 1), '"/metadata/name" is neither an object nor a list'),
        (op("remove", ""), "can't be removed"),
        (op("move", "/a", source="/missing"), 'nothing is at "/missing" to move'),
        (op("copy", "/a", source="/spec/containers/-"), 'nothing is at "/spec/containers/-" to copy'),
        (op("move", "/spec/x", source="/spec"), "can't be moved into itself"),
        (op("test", "/spec/priority", 2), "not the one tested for"),
        (op("test", "/spec/missing", 2), "not the one tested for"),
        (op("test", "/spec/hostNetwork", 1), "not the one tested for"),
    ],
)
def test_operations_that_do_not_fit_name_index_path_and_way_out(operation: dict[str, Any], part: str) -> None:
    with pytest.raises(Invalid) as caught:
        json_patch(POD, [op("test", "/spec/priority", 1), operation])
    message = str(caught.value)
    assert message.startswith(f'JSON patch operation 1 ({operation["op"]} "{operation["path"]}"): ')
    assert part in message
    assert caught.value.causes[0].field == operation["path"]


def test_failures_never_quote_the_object() -> None:
    secret = {"data": {"password": "hunter2"}}
    for operation in (op("test", "/data", {}), op("remove", "/data/x"), op("replace", "/data/password/x", 1)):
        with pytest.raises(Invalid) as caught:
            json_patch(secret, [operation])
        assert "hunter2" not in str(caught.value)


def test_a_patch_must_leave_an_object() -> None:
    with pytest.raises(Invalid, match="where an object is expected"):
        json_patch(POD, [op("replace", "", [1])])


def test_too_many_operations_are_refused() -> None:
    assert json_patch({"a": 1}, [op("test", "/a", 1)] * OPERATIONS_MAX) == {"a": 1}
    with pytest.raises(TooLarge, match="maximum operations in a JSON patch is 10000, got 10001"):
        json_patch({"a": 1}, [op("test", "/a", 1)] * (OPERATIONS_MAX + 1))


def test_copies_cannot_double_an_object_without_end() -> None:
    doubling = [op("copy", "/l/-", source="/l")] * 60
    with pytest.raises((TooLarge, Invalid)):
        json_patch({"l": ["x" * 1000]}, doubling)
    side_by_side = [op("copy", f"/o/k{i}", source="/o") for i in range(60)]
    with pytest.raises((TooLarge, Invalid)):
        json_patch({"o": {"x": "y" * 100_000}}, side_by_side)


@pytest.mark.parametrize("name", ["add", "copy", "move"])
def test_a_patch_cannot_nest_an_object_deeper_than_a_body_may_be(name: str) -> None:
    operations = [op("add", "/a", {})]
    path = "/a"
    for index in range(DEPTH_MAX + 5):
        if name == "add":
            operations.append(op("add", f"{path}/a", {}))
        elif name == "copy":
            operations.append(op("copy", f"{path}/a", source="/s"))
        else:
            operations += [op("add", f"/t{index}", {}), op("move", f"{path}/a", source=f"/t{index}")]
        path += "/a"
    with pytest.raises(Invalid, match="nested deeper"):
        json_patch({"s": {}}, operations)
