"""Server-side apply by several managers: sharing, conflicts, force, apply and update mixed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.differential.asking import apply, force, json_patch, merge, post, put
from tests.differential.objects import CM, WEB, WHOLE, cm, deployment, part
from tests.differential.rows import Row, check

SHARING_AND_CONFLICTS = [
    Row(
        "two appliers own different keys",
        (apply(cm({"a": "1"})), apply(cm({"b": "2"}), "two")),
        {"data": {"a": "1", "b": "2"}},
        {"one Apply": ".data.a", "two Apply": ".data.b"},
    ),
    Row(
        "the same value is shared",
        (apply(cm({"a": "1"})), apply(cm({"a": "1"}), "two")),
        {"data": {"a": "1"}},
        {"one Apply": ".data.a", "two Apply": ".data.a"},
    ),
    Row(
        "a conflict names the manager and the field",
        (apply(cm({"a": "1"})), apply(cm({"a": "2"}), "two")),
        {"data": {"a": "1"}},
        {"one Apply": ".data.a"},
        status=409,
        message='Apply failed with 1 conflict: conflict with "one": .data.a',
        causes=frozenset({('conflict with "one"', ".data.a")}),
    ),
    Row(
        "a shared value is not changed by one of its owners",
        (apply(cm({"a": "1"})), apply(cm({"a": "1"}), "two"), apply(cm({"a": "2"}))),
        {"data": {"a": "1"}},
        status=409,
        causes=frozenset({('conflict with "two"', ".data.a")}),
    ),
    Row(
        "several fields in conflict are listed",
        (apply(cm({"a": "1", "b": "1"})), apply(cm({"a": "2", "b": "2"}), "two")),
        status=409,
        message='Apply failed with 2 conflicts: conflicts with "one":\n- .data.a\n- .data.b',
        causes=frozenset({('conflict with "one"', ".data.a"), ('conflict with "one"', ".data.b")}),
    ),
    Row(
        "several managers in conflict are listed in the order of their names",
        (
            apply(cm({"b": "1"}), "two"),
            apply(cm({"a": "1"}), "three"),
            apply(cm({"a": "2", "b": "2"})),
        ),
        status=409,
        message='Apply failed with 2 conflicts: conflicts with "three":\n- .data.a\nconflicts with "two":\n- .data.b',
        causes=frozenset({('conflict with "three"', ".data.a"), ('conflict with "two"', ".data.b")}),
    ),
    Row(
        "both owners of a shared field are in conflict",
        (apply(cm({"a": "1"})), apply(cm({"a": "1"}), "two"), apply(cm({"a": "2"}), "three")),
        status=409,
        message='Apply failed with 2 conflicts: conflicts with "one":\n- .data.a\nconflicts with "two":\n- .data.a',
        causes=frozenset({('conflict with "one"', ".data.a"), ('conflict with "two"', ".data.a")}),
    ),
    Row(
        "a conflict with an updater tells its version",
        (post(cm({"a": "1"})), apply(cm({"a": "2"}))),
        status=409,
        message='Apply failed with 1 conflict: conflict with "maker" using v1: .data.a',
        causes=frozenset({('conflict with "maker" using v1', ".data.a")}),
    ),
    Row(
        "whoever updates under the same name is another manager",
        (post(cm({"a": "1"}), "one"), apply(cm({"a": "2"}))),
        status=409,
        causes=frozenset({('conflict with "one" using v1', ".data.a")}),
    ),
    Row(
        "the version told is that of the updated kind",
        (post(deployment(replicas=1)), apply(part(replicas=2))),
        status=409,
        message='Apply failed with 1 conflict: conflict with "maker" using apps/v1: .spec.replicas',
    ),
    Row(
        "labels are owned one by one",
        (apply(cm(None, {"a": "1", "b": "1"})), apply(cm(None, {"b": "2"}), "two")),
        {"metadata.labels": {"a": "1", "b": "1"}},
        status=409,
        causes=frozenset({('conflict with "one"', ".metadata.labels.b")}),
    ),
    Row(
        "annotations are owned one by one",
        (
            apply(cm(annotations={"example.com/a": "1"})),
            apply(cm(annotations={"example.com/b": "2"}), "two"),
        ),
        {"metadata.annotations": {"example.com/a": "1", "example.com/b": "2"}},
        {
            "one Apply": ".metadata.annotations.example.com/a",
            "two Apply": ".metadata.annotations.example.com/b",
        },
    ),
    Row(
        "a conflict ends when the field is left out",
        (apply(cm({"a": "1"})), apply(cm({"b": "2"}), "two")),
        {"data": {"a": "1", "b": "2"}},
        {"one Apply": ".data.a", "two Apply": ".data.b"},
    ),
    Row(
        "a new field conflicts with nobody",
        (post(cm({"a": "1"})), apply(cm({"b": "1"}))),
        {"data": {"a": "1", "b": "1"}},
        {"maker Update": ".data .data.a", "one Apply": ".data.b"},
    ),
]

FORCE = [
    Row(
        "force changes the value and takes the field",
        (apply(cm({"a": "1", "b": "1"})), force(cm({"a": "2"}), "two")),
        {"data": {"a": "2", "b": "1"}},
        {"one Apply": ".data.b", "two Apply": ".data.a"},
    ),
    Row(
        "force takes only the fields in conflict, others are shared",
        (apply(cm({"a": "1", "b": "1"})), force(cm({"a": "2", "b": "1"}), "two")),
        {"data": {"a": "2", "b": "1"}},
        {"one Apply": ".data.b", "two Apply": ".data.a .data.b"},
    ),
    Row(
        "force takes a field from everybody",
        (apply(cm({"a": "1"})), apply(cm({"a": "1", "b": "1"}), "two"), force(cm({"a": "3"}), "three")),
        {"data": {"a": "3", "b": "1"}},
        {"two Apply": ".data.b", "three Apply": ".data.a"},
    ),
    Row(
        "force takes a field from an updater",
        (post(cm({"a": "1"})), force(cm({"a": "2"}))),
        {"data": {"a": "2"}},
        {"maker Update": ".data", "one Apply": ".data.a"},
    ),
    Row(
        "who has lost every field has no entry",
        (apply(cm({"a": "1"})), force(cm({"a": "2"}), "two")),
        owns={"two Apply": ".data.a"},
    ),
    Row(
        "force where nothing is in conflict shares as without",
        (apply(cm({"a": "1"})), force(cm({"a": "1"}), "two")),
        owns={"one Apply": ".data.a", "two Apply": ".data.a"},
    ),
    Row(
        "force=false is not force",
        (apply(cm({"a": "1"})), apply(cm({"a": "2"}), "two", force="false")),
        status=409,
    ),
    Row(
        "who lost a field to force is in conflict when applying again",
        (apply(cm({"a": "1"})), force(cm({"a": "2"}), "two"), apply(cm({"a": "1"}))),
        {"data": {"a": "2"}},
        status=409,
        causes=frozenset({('conflict with "two"', ".data.a")}),
    ),
]

WITH_UPDATES = [
    Row(
        "an update that changes a value takes the field",
        (apply(cm({"key": "v"}, {"test-label": "test"})), merge(CM, {"data": {"key": "new"}})),
        {"data": {"key": "new"}},
        {"one Apply": ".metadata.labels.test-label", "two Update": ".data.key"},
    ),
    Row(
        "an update that changes nothing takes nothing",
        (apply(cm({"a": "1"})), merge(CM, {"data": {"a": "1"}})),
        owns={"one Apply": ".data.a"},
        unchanged=True,
    ),
    Row(
        "an update never conflicts, and takes a field from all who share it",
        (
            apply(cm({"a": "1"})),
            apply(cm({"a": "1", "b": "1"}), "two"),
            put(cm({"a": "2", "b": "1"}), "three"),
        ),
        {"data": {"a": "2", "b": "1"}},
        {"two Apply": ".data.b", "three Update": ".data.a"},
    ),
    Row(
        "applying the value that an updater wrote shares it",
        (post(cm({"a": "1"})), apply(cm({"a": "1"}))),
        owns={"maker Update": ".data .data.a", "one Apply": ".data.a"},
    ),
    Row(
        "applying one's old value after an update is a conflict",
        (apply(deployment(replicas=3)), merge(WEB, {"spec": {"replicas": 5}}), apply(deployment(replicas=3))),
        {"spec.replicas": 5},
        status=409,
        message='Apply failed with 1 conflict: conflict with "two" using apps/v1: .spec.replicas',
    ),
    Row(
        "and can be forced",
        (apply(deployment(replicas=3)), merge(WEB, {"spec": {"replicas": 5}}), force(deployment(replicas=3))),
        {"spec.replicas": 3},
        {"one Apply": f"{WHOLE} .spec.replicas"},
    ),
    Row(
        "an update that removes a field takes it from its owners",
        (apply(cm({"a": "1", "b": "1"})), put(cm({"a": "1"}))),
        {"data": {"a": "1"}},
        {"one Apply": ".data.a"},
    ),
    Row(
        "what an update removed comes back by applying again",
        (
            apply(cm({"a": "1", "b": "1"})),
            json_patch(CM, [{"op": "remove", "path": "/data/b"}]),
            apply(cm({"a": "1", "b": "1"})),
        ),
        {"data": {"a": "1", "b": "1"}},
        {"one Apply": ".data.a .data.b"},
    ),
    Row(
        "what an updater took stays when its first owner leaves it out",
        (apply(cm({"a": "1", "b": "1"})), merge(CM, {"data": {"b": "2"}}), apply(cm({"a": "1"}))),
        {"data": {"a": "1", "b": "2"}},
        {"one Apply": ".data.a", "two Update": ".data.b"},
    ),
    Row(
        "a key that an updater added survives its neighbours",
        (apply(cm({"a": "1"})), merge(CM, {"data": {"b": "2"}}), apply(cm())),
        {"data": {"b": "2"}},
        {"two Update": ".data.b"},
    ),
]


@pytest.mark.parametrize("row", [*SHARING_AND_CONFLICTS, *FORCE, *WITH_UPDATES], ids=str)
def test_conflicts(row: Row, record_property: Callable[[str, object], None]) -> None:
    check(row, record_property)
