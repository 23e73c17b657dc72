"""How managedFields are reset, edited and kept by those who do not know them; what was there before the first apply."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.differential.asking import apply, json_patch, merge, post, put, strategic
from tests.differential.objects import CM, STATUS, WHOLE, cm, deployment
from tests.differential.rows import ABSENT, AtLeast, Row, check, moment

# What `kubectl apply --server-side` makes of the entry of an earlier `kubectl apply`.
MOVED = {
    "manager": "kubectl",
    "operation": "Apply",
    "apiVersion": "v1",
    "time": moment(1),
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:data": {".": {}, "f:a": {}}},
}

RESET = [
    Row(
        "a merge patch with one empty entry strips managedFields",
        (apply(cm({"a": "1"})), merge(CM, {"metadata": {"managedFields": [{}]}})),
        {"metadata.managedFields": ABSENT, "data": {"a": "1"}},
    ),
    Row(
        "a JSON patch with one empty entry strips managedFields",
        (
            apply(cm({"a": "1"})),
            json_patch(CM, [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]),
        ),
        {"metadata.managedFields": ABSENT},
    ),
    Row(
        "a strategic merge patch with one empty entry strips managedFields",
        (apply(cm({"a": "1"})), strategic(CM, {"metadata": {"managedFields": [{}]}})),
        {"metadata.managedFields": ABSENT},
    ),
    Row(
        "an update with one empty entry strips managedFields",
        (apply(cm({"a": "1"})), put(cm({"a": "1"}, managedFields=[{}]))),
        {"metadata.managedFields": ABSENT},
    ),
    Row(
        "an update that does not mention managedFields keeps them",
        (apply(cm({"a": "1"})), put(cm({"a": "1", "b": "1"}))),
        owns={"one Apply": ".data.a", "two Update": ".data.b"},
    ),
    Row(
        "managedFields are not reset through a subresource",
        (apply(deployment()), merge(STATUS, {"metadata": {"managedFields": [{}]}})),
        owns={"one Apply": WHOLE},
    ),
    Row(
        "managedFields can be edited",
        (
            apply(cm({"a": "1"})),
            apply(cm({"b": "1"}), "two"),
            json_patch(CM, [{"op": "remove", "path": "/metadata/managedFields/0"}], "editor"),
        ),
        {"data": {"a": "1", "b": "1"}},
        {"two Apply": ".data.b"},
    ),
    Row(
        "a whole list of entries can be put in their place, at a revision",
        (
            post(cm({"a": "1"}), "kubectl-client-side-apply"),
            json_patch(
                CM,
                [
                    {"op": "replace", "path": "/metadata/managedFields", "value": [MOVED]},
                    {"op": "replace", "path": "/metadata/resourceVersion", "value": "3"},
                ],
            ),
        ),
        {"metadata.managedFields": [MOVED]},
    ),
    Row(
        "but not at a revision that is gone",
        (
            post(cm({"a": "1"}), "kubectl-client-side-apply"),
            json_patch(
                CM,
                [
                    {"op": "replace", "path": "/metadata/managedFields", "value": [MOVED]},
                    {"op": "replace", "path": "/metadata/resourceVersion", "value": "2"},
                ],
            ),
        ),
        status=409,
    ),
    Row(
        "what was there before the first apply belongs to before-first-apply",
        (
            post(cm({"a": "1"}, {"x": "y"})),
            merge(CM, {"metadata": {"managedFields": [{}]}}),
            apply(cm({"b": "1"})),
        ),
        {"data": {"a": "1", "b": "1"}},
        {
            "before-first-apply Update": AtLeast(".data .data.a .metadata.labels .metadata.labels.x"),
            "one Apply": ".data.b",
        },
    ),
    Row(
        "before-first-apply is in conflict like any updater",
        (
            post(cm({"a": "1"})),
            merge(CM, {"metadata": {"managedFields": [{}]}}),
            apply(cm({"a": "2"})),
        ),
        status=409,
        message='Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.a',
    ),
    Row(
        "before-first-apply shares what the first apply repeats",
        (
            post(cm({"a": "1"})),
            merge(CM, {"metadata": {"managedFields": [{}]}}),
            apply(cm({"a": "1"})),
        ),
        owns={"before-first-apply Update": ".data .data.a", "one Apply": ".data.a"},
    ),
]


@pytest.mark.parametrize("row", [*RESET], ids=str)
def test_resets(row: Row, record_property: Callable[[str, object], None]) -> None:
    check(row, record_property)
