"""Server-side apply, field by field: creating, adding, leaving out, handing over."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.differential.asking import apply, merge, post
from tests.differential.objects import CM, SCALE, WHOLE, cm, deployment, part
from tests.differential.rows import ABSENT, EMPTY, AtLeast, Not, Row, check

CREATING = [
    Row(
        "applying creates what is not there",
        (apply(cm({"a": "1"})),),
        {"data": {"a": "1"}},
        {"one Apply": ".data.a"},
        status=201,
    ),
    Row(
        "applying to what is there answers 200",
        (apply(cm({"a": "1"})), apply(cm({"a": "2"}))),
        {"data": {"a": "2"}},
        status=200,
    ),
    Row(
        "each key of a map is owned, the map is not",
        (apply(cm({"key": "some value"}, {"test-label": "test"})),),
        owns={"one Apply": ".metadata.labels.test-label .data.key"},
    ),
    Row(
        "identity is never owned",
        (apply(cm({"a": "1"}, namespace="default")),),
        owns={"one Apply": ".data.a"},
    ),
    Row(
        "defaults are filled in and owned by nobody",
        (apply(deployment()),),
        {"spec.replicas": 1, "spec.template.spec.restartPolicy": "Always"},
        {"one Apply": WHOLE},
    ),
    Row("an object of which nobody owns anything has no entries", (apply(cm()),), owns={}),
    Row(
        "somebody else applying the same shares all of it",
        (apply(deployment()), apply(deployment(), "two")),
        owns={"one Apply": WHOLE, "two Apply": WHOLE},
    ),
]

ADDING_AND_LEAVING_OUT = [
    Row(
        "a field is added by applying more",
        (apply(cm({"a": "1"})), apply(cm({"a": "1", "b": "2"}))),
        {"data": {"a": "1", "b": "2"}},
        {"one Apply": ".data.a .data.b"},
    ),
    Row(
        "its only owner changes a field",
        (apply(cm({"a": "1"})), apply(cm({"a": "2"}))),
        {"data": {"a": "2"}},
        {"one Apply": ".data.a"},
    ),
    Row(
        "a field left out is removed",
        (apply(cm({"a": "1", "b": "2"})), apply(cm({"a": "1"}))),
        {"data": {"a": "1"}},
        {"one Apply": ".data.a"},
    ),
    Row(
        "a field left out stays if another applier owns it",
        (apply(cm({"a": "1", "b": "2"})), apply(cm({"b": "2"}), "two"), apply(cm({"a": "1"}))),
        {"data": {"a": "1", "b": "2"}},
        {"one Apply": ".data.a", "two Apply": ".data.b"},
    ),
    Row(
        "a field left out stays if an updater owns it",
        (post(cm({"a": "1", "b": "2"})), apply(cm({"a": "1", "b": "2"})), apply(cm({"a": "1"}))),
        {"data": {"a": "1", "b": "2"}},
        {"one Apply": ".data.a", "maker Update": ".data .data.a .data.b"},
    ),
    Row(
        "what was never owned is not removed by leaving it out",
        (post(cm({"a": "1", "b": "2"})), apply(cm({"a": "1"}))),
        {"data": {"a": "1", "b": "2"}},
    ),
    Row(
        "a map goes with the last of its keys",
        (apply(cm({"a": "1"}, {"x": "y"})), apply(cm(None, {"x": "y"}))),
        {"data": ABSENT, "metadata.labels": {"x": "y"}},
        {"one Apply": ".metadata.labels.x"},
    ),
    Row(
        "labels go with the last of them",
        (apply(cm({"a": "1"}, {"x": "y"})), apply(cm({"a": "1"}))),
        {"metadata.labels": ABSENT},
        {"one Apply": ".data.a"},
    ),
    Row(
        "applying nothing releases what was owned, and removes it",
        (apply(cm({"a": "1"})), apply(cm({"b": "2"}), "two"), apply(cm())),
        {"data": {"b": "2"}},
        {"two Apply": ".data.b"},
    ),
    Row(
        "a field with a default goes back to it when left out",
        (apply(deployment(replicas=3)), apply(deployment())),
        {"spec.replicas": 1},
        {"one Apply": WHOLE},
    ),
    Row(
        "null for a map leaves the keys of others",
        (apply(cm({"a": "1"}), "two"), apply({**cm(None, {"x": "y"}), "data": None})),
        {"data": {"a": "1"}, "metadata.labels": {"x": "y"}},
    ),
    Row(
        "an empty map leaves the keys of others",
        (apply(cm({"a": "1"}), "two"), apply(cm({}, {"x": "y"}))),
        {"data": {"a": "1"}},
    ),
    Row(
        "an empty map drops what its applier owned in it",
        (apply(cm({"a": "1"})), apply(cm({"b": "2"}), "two"), apply(cm({}))),
        {"data": {"b": "2"}},
    ),
    Row(
        "who empties a map owns the map and none of its keys",
        (apply(cm({"a": "1"})), apply(cm({}))),
        {"data": EMPTY},
        {"one Apply": ".data"},
    ),
    Row(
        "and beside the keys of others as well",
        (apply(cm({"a": "1"})), apply(cm({"a": "1", "b": "2"}), "two"), apply(cm({}))),
        {"data": {"a": "1", "b": "2"}},
        {"one Apply": ".data", "two Apply": ".data.a .data.b"},
    ),
    Row(
        "emptying it again changes nothing",
        (apply(cm({"a": "1"})), apply(cm({})), apply(cm({}))),
        unchanged=True,
    ),
    Row(
        "a map that somebody has emptied can be filled by another",
        (apply(cm({"a": "1"})), apply(cm({})), apply(cm({"b": "2"}), "two")),
        {"data": {"b": "2"}},
        {"one Apply": ".data", "two Apply": ".data.b"},
    ),
    Row(
        "who emptied a map and leaves it out no longer owns it, and what is in it stays",
        (apply(cm({"a": "1"})), apply(cm({})), apply(cm({"b": "2"}), "two"), apply(cm(None, {"x": "y"}))),
        {"data": {"b": "2"}},
        {"one Apply": ".metadata.labels.x", "two Apply": ".data.b"},
    ),
    Row(
        "labels that are emptied are gone, and applying that again changes nothing",
        (apply(cm({"a": "1"}, {"x": "y"})), apply(cm({"a": "1"}, {})), apply(cm({"a": "1"}, {}))),
        {"metadata.labels": ABSENT},
        unchanged=True,
    ),
    Row(
        "and do not keep others from setting theirs",
        (apply(cm({"a": "1"}, {"x": "y"})), apply(cm({"a": "1"}, {})), apply(cm(None, {"z": "1"}), "two")),
        {"metadata.labels": {"z": "1"}},
        {"one Apply": ".data.a", "two Apply": ".metadata.labels.z"},
    ),
]

OWNING_NOTHING = [
    Row(
        "an object that says nothing but its name is created, and nobody owns anything",
        (apply(cm()),),
        {"metadata.name": "settings", "metadata.managedFields": ABSENT},
        {},
        status=201,
    ),
    Row("applying it again changes nothing", (apply(cm()), apply(cm())), unchanged=True),
    Row(
        "who comes next owns what it says",
        (apply(cm()), apply(cm({"a": "1"}), "two")),
        {"data": {"a": "1"}},
        {"two Apply": ".data.a"},
    ),
    Row(
        "and whoever changes something without applying is named only once somebody has applied",
        (apply(cm()), merge(CM, {"data": {"a": "1"}}, "two"), apply(cm({"b": "2"}))),
        {"data": {"a": "1", "b": "2"}},
        {"one Apply": ".data.b", "before-first-apply Update": ".data .data.a"},
    ),
]

HANDING_OVER = [
    Row(
        "who shares a field keeps it when the other gives it up",
        (
            apply(deployment(replicas=3), "user"),
            apply(part(replicas=3), "handover-to-hpa"),
            apply(deployment(), "user"),
        ),
        {"spec.replicas": 3},
        {"user Apply": WHOLE, "handover-to-hpa Apply": ".spec.replicas"},
    ),
    Row(
        "the name used to hand over goes when the field is written",
        (
            apply(deployment(replicas=3), "user"),
            apply(part(replicas=3), "handover-to-hpa"),
            apply(deployment(), "user"),
            merge(SCALE, {"spec": {"replicas": 5}}, "hpa"),
        ),
        {"spec.replicas": 5},
        {"user Apply": Not(".spec.replicas"), "hpa Update scale": ".spec.replicas"},
    ),
    Row(
        "an applier's part needs no valid whole",
        (apply(deployment(), "user"), apply(part(replicas=4), "two")),
        {"spec.replicas": 4, "spec.template.spec.containers[*].name": ["web"]},
        {"user Apply": AtLeast(".spec.selector"), "two Apply": ".spec.replicas"},
    ),
]


@pytest.mark.parametrize("row", [*CREATING, *ADDING_AND_LEAVING_OUT, *OWNING_NOTHING, *HANDING_OVER], ids=str)
def test_fields(row: Row, record_property: Callable[[str, object], None]) -> None:
    check(row, record_property)
