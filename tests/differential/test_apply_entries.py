"""The entries of managedFields: their form, order and times, and how many there are."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.differential.asking import Ask, apply, merge, post
from tests.differential.objects import CM, STATUS, WHOLE, cm, deployment, status
from tests.differential.rows import Json, Row, check, moment

FORM = [
    Row(
        "an applier's entry",
        (apply(cm({"key": "value"}, {"test-label": "test"}), "kubectl"),),
        {
            "metadata.managedFields": [
                {
                    "manager": "kubectl",
                    "operation": "Apply",
                    "apiVersion": "v1",
                    "time": moment(1),
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {
                        "f:metadata": {"f:labels": {"f:test-label": {}}},
                        "f:data": {"f:key": {}},
                    },
                }
            ]
        },
    ),
    Row(
        "an updater's entry",
        (apply(cm({"key": "value"})), merge(CM, {"data": {"key": "new value"}}, "updater")),
        {
            "metadata.managedFields": [
                {
                    "manager": "updater",
                    "operation": "Update",
                    "apiVersion": "v1",
                    "time": moment(2),
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:data": {"f:key": {}}},
                }
            ]
        },
    ),
    Row(
        "items are written with their key, values of sets with their value",
        (
            apply(
                {
                    **deployment(),
                    "metadata": {"name": "web", "finalizers": ["example.com/a"]},
                }
            ),
        ),
        {
            "metadata.managedFields[0].fieldsV1": {
                "f:metadata": {"f:finalizers": {'v:"example.com/a"': {}}},
                "f:spec": {
                    "f:selector": {},
                    "f:template": {
                        "f:metadata": {"f:labels": {"f:app": {}}},
                        "f:spec": {
                            "f:containers": {'k:{"name":"web"}': {".": {}, "f:image": {}, "f:name": {}}}
                        },
                    },
                },
            }
        },
    ),
    Row(
        "an item with two keys is written with both, in the order of their names",
        (
            apply(
                {
                    "apiVersion": "v1",
                    "kind": "Service",
                    "metadata": {"name": "web"},
                    "spec": {"ports": [{"protocol": "UDP", "port": 53}]},
                }
            ),
        ),
        {
            "metadata.managedFields[0].fieldsV1": {
                "f:spec": {
                    "f:ports": {'k:{"port":53,"protocol":"UDP"}': {".": {}, "f:port": {}, "f:protocol": {}}}
                }
            }
        },
    ),
    Row(
        "apiVersion is that of the object",
        (apply(deployment()),),
        {"metadata.managedFields[*].apiVersion": ["apps/v1"]},
    ),
    Row(
        "a write of status has its entry, with the version of the object",
        (apply(deployment(), "one"), apply(status(replicas=1), "one", STATUS)),
        {
            "metadata.managedFields[1].subresource": "status",
            "metadata.managedFields[*].apiVersion": ["apps/v1"] * 2,
        },
        {"one Apply": WHOLE, "one Apply status": ".status.replicas"},
    ),
    Row(
        "appliers come before updaters, then by time",
        (
            post(cm({"a": "1"}), "first"),
            apply(cm({"b": "1"}), "zeta"),
            merge(CM, {"data": {"c": "1"}}, "second"),
            apply(cm({"d": "1"}), "alpha"),
        ),
        {"metadata.managedFields[*].manager": ["zeta", "alpha", "first", "second"]},
    ),
    Row(
        "one name applying and updating has two entries",
        (apply(cm({"a": "1"})), merge(CM, {"data": {"b": "1"}}, "one")),
        owns={"one Apply": ".data.a", "one Update": ".data.b"},
    ),
]

TIMES = [
    Row(
        "applying the same again changes neither revision nor time",
        (apply(cm({"a": "1"}, {"x": "y"})), apply(cm({"a": "1"}, {"x": "y"}))),
        times={"one Apply": 1},
        unchanged=True,
    ),
    Row(
        "applying the same Deployment again changes nothing, defaults included",
        (apply(deployment(replicas=2)), apply(deployment(replicas=2))),
        times={"one Apply": 1},
        unchanged=True,
    ),
    Row(
        "forcing the same again changes nothing",
        (apply(cm({"a": "1"})), apply(cm({"a": "1"}), force="true")),
        unchanged=True,
    ),
    Row(
        "the time moves when a field is added",
        (apply(cm({"a": "1"})), apply(cm({"a": "1", "b": "1"}))),
        times={"one Apply": 2},
    ),
    Row(
        "the time moves when a value changes",
        (apply(cm({"a": "1"})), apply(cm({"a": "2"}))),
        times={"one Apply": 2},
    ),
    Row(
        "the time moves when its manager removes a field",
        (apply(cm({"a": "1", "b": "1"})), apply(cm({"a": "1"}))),
        times={"one Apply": 2},
    ),
    Row(
        "the time stays when another manager takes a field",
        (apply(cm({"a": "1", "b": "1"})), merge(CM, {"data": {"b": "2"}})),
        times={"one Apply": 1, "two Update": 2},
    ),
    Row(
        "an updater's time moves with what it changes",
        (
            apply(cm({"a": "1"})),
            merge(CM, {"data": {"b": "1"}}),
            merge(CM, {"data": {"c": "1"}}),
        ),
        times={"two Update": 3},
        owns={"one Apply": ".data.a", "two Update": ".data.b .data.c"},
    ),
]


def updaters(count: int) -> tuple[Ask, ...]:
    """An applied object, and one key each from so many updaters."""
    writes = [merge(CM, {"data": {f"k{index:02}": "1"}}, f"m{index:02}") for index in range(count)]
    return (apply(cm({"a": "1"})), *writes)


def entries(first: int, last: int) -> Json:
    return {f"m{index:02} Update": f".data.k{index:02}" for index in range(first, last + 1)}


CAP = [
    Row(
        "ten updaters keep their entries, appliers do not count",
        updaters(10),
        owns={"one Apply": ".data.a", **entries(0, 9)},
    ),
    Row(
        "with the eleventh the two oldest become ancient-changes",
        updaters(11),
        owns={"one Apply": ".data.a", "ancient-changes Update": ".data.k00 .data.k01", **entries(2, 10)},
        times={"ancient-changes Update": 3},
    ),
    Row(
        "and with each further one another",
        updaters(13),
        owns={
            "one Apply": ".data.a",
            "ancient-changes Update": ".data.k00 .data.k01 .data.k02 .data.k03",
            **entries(4, 12),
        },
    ),
    Row(
        "whoever writes again is not old",
        (*updaters(10), merge(CM, {"data": {"k00": "2"}}, "m00"), merge(CM, {"data": {"k10": "1"}}, "m10")),
        owns={
            "one Apply": ".data.a",
            "ancient-changes Update": ".data.k01 .data.k02",
            "m00 Update": ".data.k00",
            **entries(3, 10),
        },
    ),
]


@pytest.mark.parametrize("row", [*FORM, *TIMES, *CAP], ids=str)
def test_entries(row: Row, record_property: Callable[[str, object], None]) -> None:
    check(row, record_property)
