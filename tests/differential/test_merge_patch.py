"""JSON merge patch (RFC 7396) through the API. The examples of its appendix, as far as objects with types have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.differential.asking import merge, post
from tests.differential.objects import CM, IN_POD, WEB, cm, deployment
from tests.differential.rows import ABSENT, EMPTY, REFUSED, Row, check

DEDICATED = {"key": "dedicated", "operator": "Equal", "value": "web", "effect": "NoSchedule"}
SPOT = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}
MAKE = post(
    deployment(
        {
            "containers": [
                {"name": "web", "image": "web:1", "args": ["a"]},
                {"name": "side", "image": "s:1"},
            ],
            "tolerations": [DEDICATED],
        },
        replicas=3,
    )
)


def data(before: dict[str, str], change: Any) -> tuple[Any, Any]:
    return post(cm(before)), merge(CM, {"data": change})


def labels(before: dict[str, str], change: Any) -> tuple[Any, Any]:
    return post(cm(None, before)), merge(CM, {"metadata": {"labels": change}})


def pods(change: Any) -> tuple[Any, Any]:
    return MAKE, merge(WEB, {"spec": {"template": {"spec": change}}})


APPENDIX = [
    Row("a member is replaced", data({"a": "b"}, {"a": "c"}), {"data": {"a": "c"}}),
    Row("a member is added", data({"a": "b"}, {"b": "c"}), {"data": {"a": "b", "b": "c"}}),
    Row("null removes the last member", data({"a": "b"}, {"a": None}), {"data": EMPTY}),
    Row("null removes one of two members", data({"a": "b", "b": "c"}, {"a": None}), {"data": {"b": "c"}}),
    Row(
        "a list where a string belongs", data({"a": "c"}, {"a": ["b"]}), {"data": {"a": "c"}}, status=REFUSED
    ),
    Row("a string where a list belongs", pods({"tolerations": "all"}), status=REFUSED),
    Row(
        "objects merge, null inside removes",
        labels({"b": "c", "d": "e"}, {"b": "d", "d": None}),
        {"metadata.labels": {"b": "d"}},
    ),
    Row("a list replaces a list", pods({"tolerations": [SPOT]}), {f"{IN_POD}.tolerations": [SPOT]}),
    Row("a patch that is a list is refused", (MAKE, merge(WEB, ["c"])), status=REFUSED),
    Row("a patch that is null is refused", (MAKE, merge(WEB, b"null")), status=REFUSED),
    Row("a patch that is a string is refused", (MAKE, merge(WEB, "bar")), status=REFUSED),
    Row(
        "null deep in what is new leaves empty objects",
        pods({"securityContext": {"seLinuxOptions": {"level": None}}}),
        {f"{IN_POD}.securityContext": {"seLinuxOptions": {}}},
    ),
]

OBJECTS = [
    Row("an empty patch changes nothing", (MAKE, merge(WEB, {})), unchanged=True),
    Row("the values that are there change nothing", data({"a": "b"}, {"a": "b"}), unchanged=True),
    Row(
        "null for what is not there changes nothing",
        data({"a": "b"}, {"z": None}),
        {"data": {"a": "b"}},
        unchanged=True,
    ),
    Row("null for a whole map removes it", data({"a": "b"}, None), {"data": ABSENT}),
    Row(
        "an empty object changes nothing in a map", data({"a": "b"}, {}), {"data": {"a": "b"}}, unchanged=True
    ),
    Row(
        "a map that was not there is added",
        (post(cm()), merge(CM, {"data": {"a": "b"}})),
        {"data": {"a": "b"}},
    ),
    Row(
        "containers are a list: they are replaced, not merged",
        pods({"containers": [{"name": "new", "image": "new:1"}]}),
        {f"{IN_POD}.containers[*].name": ["new"]},
    ),
    Row("an empty list empties", pods({"tolerations": []}), {f"{IN_POD}.tolerations": EMPTY}),
    Row(
        "null gives a field its default back",
        (MAKE, merge(WEB, {"spec": {"replicas": None}})),
        {"spec.replicas": 1},
    ),
    Row(
        "several branches change at once",
        (
            MAKE,
            merge(WEB, {"metadata": {"labels": {"a": "b"}}, "spec": {"replicas": 5, "minReadySeconds": 2}}),
        ),
        {"metadata.labels": {"a": "b"}, "spec.replicas": 5, "spec.minReadySeconds": 2},
    ),
    Row(
        "finalizers are a list: they are replaced, not merged",
        (post(cm(finalizers=["example.com/a"])), merge(CM, {"metadata": {"finalizers": ["example.com/b"]}})),
        {"metadata.finalizers": ["example.com/b"]},
    ),
    Row(
        "directives of other patches mean nothing in it",
        data({"a": "b"}, {"$patch": "replace"}),
        status=REFUSED,
    ),
    Row(
        "what makes the object invalid is invalid", (MAKE, merge(WEB, {"spec": {"replicas": -1}})), status=422
    ),
    Row("what is no JSON is refused", (MAKE, merge(WEB, b"{")), status=400),
    Row(
        "another revision is a conflict",
        (MAKE, merge(WEB, {"metadata": {"resourceVersion": "1"}, "spec": {"replicas": 9}})),
        {"spec.replicas": 3},
        status=409,
    ),
    Row("another name is refused", (MAKE, merge(WEB, {"metadata": {"name": "other"}})), status=REFUSED),
    Row("what is not there is not patched", (merge(WEB, {"spec": {"replicas": 1}}),), status=404),
]


@pytest.mark.parametrize("row", [*APPENDIX, *OBJECTS], ids=str)
def test_merge_patch(row: Row, record_property: Callable[[str, object], None]) -> None:
    check(row, record_property)
