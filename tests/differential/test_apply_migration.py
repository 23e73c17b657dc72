"""From `kubectl apply` to `kubectl apply --server-side` and back: the annotation last-applied-configuration.

The manager kubectl takes over, without conflict, what the annotation says was applied before; nobody else does. While
the annotation is there it follows what kubectl applies, so that the way back stays open.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.differential.asking import apply, merge, post
from tests.differential.objects import CM, Json, cm
from tests.differential.rows import Plane, Row, check, found

LAST = "kubectl.kubernetes.io/last-applied-configuration"
EARLIER = "kubectl-client-side-apply"


def applied_before(data: Json) -> Json:
    """What a `kubectl apply` left: the object, and what was applied in its annotation."""
    return cm(data, annotations={LAST: json.dumps(cm(data))})


ROWS = [
    Row(
        "what was changed since it was applied stays in conflict",
        (
            post(applied_before({"a": "1"}), EARLIER),
            merge(CM, {"data": {"a": "9"}}, "other"),
            apply(cm({"a": "2"}), "kubectl"),
        ),
        {"data": {"a": "9"}},
        status=409,
        causes=frozenset({('conflict with "other" using v1', ".data.a")}),
    ),
    Row(
        "applying the same again changes nothing",
        (
            post(applied_before({"a": "1"}), EARLIER),
            apply(cm({"a": "2"}), "kubectl"),
            apply(cm({"a": "2"}), "kubectl"),
        ),
        unchanged=True,
    ),
    Row(
        "kubectl takes over what it applied before",
        (post(applied_before({"a": "1"}), EARLIER), apply(cm({"a": "2"}), "kubectl")),
        {"data": {"a": "2"}},
    ),
    Row(
        "another manager does not",
        (post(applied_before({"a": "1"}), EARLIER), apply(cm({"a": "2"}), "gitops")),
        {"data": {"a": "1"}},
        status=409,
        causes=frozenset({(f'conflict with "{EARLIER}" using v1', ".data.a")}),
    ),
    Row(
        "without the annotation kubectl does not either",
        (post(cm({"a": "1"}), EARLIER), apply(cm({"a": "2"}), "kubectl")),
        {"data": {"a": "1"}},
        status=409,
    ),
    Row(
        "what was not applied before stays in conflict",
        (
            post(applied_before({"a": "1"}), EARLIER),
            merge(CM, {"data": {"b": "1"}}, "other"),
            apply(cm({"a": "2", "b": "2"}), "kubectl"),
        ),
        {"data": {"a": "1", "b": "1"}},
        status=409,
        causes=frozenset({('conflict with "other" using v1', ".data.b")}),
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_taking_over(row: Row, record_property: Callable[[str, object], None]) -> None:
    check(row, record_property)


def _annotation(plane: Plane) -> Json:
    text = found(plane.get(CM)[1], "metadata")["annotations"][LAST]
    told: Json = json.loads(text)
    return told


def test_the_annotation_follows_what_kubectl_applies() -> None:
    plane = Plane()
    plane.ask(post(applied_before({"a": "1"}), EARLIER))
    assert plane.ask(apply(cm({"a": "2", "b": "1"}), "kubectl"))[0] == 200
    assert _annotation(plane)["data"] == {"a": "2", "b": "1"}


def test_the_annotation_does_not_follow_others() -> None:
    plane = Plane()
    plane.ask(post(applied_before({"a": "1"}), EARLIER))
    assert plane.ask(apply(cm({"b": "1"}), "gitops"))[0] == 200
    assert _annotation(plane)["data"] == {"a": "1"}


def test_no_annotation_is_made_where_there_is_none() -> None:
    plane = Plane()
    plane.ask(apply(cm({"a": "1"}), "kubectl"))
    assert "annotations" not in plane.get(CM)[1]["metadata"]
