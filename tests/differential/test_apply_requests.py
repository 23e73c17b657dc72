"""Server-side apply as a request: what it must say, what is refused, dry runs, generations."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.differential.asking import APPLY, Ask, apply, json_patch, merge, strategic
from tests.differential.objects import (
    CM,
    cm,
    deployment,
    of_web,
    part,
)
from tests.differential.rows import REFUSED, Row, check, moment

OTHER_UID = "11111111-2222-4333-8444-555555555555"
MADE = apply(cm({"a": "1"}))
SECRETS = "/api/v1/namespaces/default/secrets/x"
# What is stored of it is written otherwise than what was sent.
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "stringData": {"a": "1"}}


def text(body: str) -> Ask:
    """An applied text, as it stands."""
    return Ask("PATCH", f"{CM}?fieldManager=one", body.encode(), APPLY)


OPTIONS = [
    Row("without fieldManager it is invalid", (MADE, apply(cm({"a": "2"}), "")), status=422),
    Row("without fieldManager nothing is created", (apply(cm({"a": "1"}), ""),), status=422),
    Row("a name of 128 characters is allowed", (apply(cm({"a": "1"}), "m" * 128),), status=201),
    Row("a longer name is invalid", (apply(cm({"a": "1"}), "m" * 129),), status=422),
    Row("a name that cannot be printed is invalid", (apply(cm({"a": "1"}), "a%07b"),), status=422),
    Row(
        "force has no place in a merge patch",
        (MADE, merge(CM, {"data": {"a": "2"}}, force="true")),
        status=422,
    ),
    Row(
        "force has no place in a strategic merge patch",
        (MADE, strategic(CM, {"data": {"a": "2"}}, force="true")),
        status=422,
    ),
    Row(
        "force has no place in a JSON patch",
        (MADE, json_patch(CM, [{"op": "remove", "path": "/data/a"}], force="true")),
        status=422,
    ),
]

BODIES = [
    Row(
        "managedFields in the body are refused", (MADE, apply(cm({"a": "2"}, managedFields=[{}]))), status=400
    ),
    Row("another apiVersion is refused", (MADE, apply({**cm({"a": "2"}), "apiVersion": "v2"})), status=400),
    Row("another kind is refused", (MADE, apply({**cm({"a": "2"}), "kind": "Secret"}, to=CM)), status=400),
    Row(
        "a body without apiVersion and kind is refused",
        (MADE, apply({"data": {"a": "2"}}, to=CM)),
        status=400,
    ),
    Row(
        "another name is refused",
        (MADE, apply({**cm({"a": "2"}), "metadata": {"name": "other"}}, to=CM)),
        status=REFUSED,
    ),
    Row(
        "another namespace is refused", (MADE, apply(cm({"a": "2"}, namespace="kube-system"))), status=REFUSED
    ),
    Row("another uid is refused", (MADE, apply(cm({"a": "2"}, uid=OTHER_UID))), status=(409, 422)),
    Row("what has a uid is not created", (apply(cm({"a": "1"}, uid=OTHER_UID)),), status=409),
    Row("another revision is a conflict", (MADE, apply(cm({"a": "2"}, resourceVersion="1"))), status=409),
    Row(
        "a namespace that is not there",
        (apply(cm({"a": "1"}), to=CM.replace("default", "nowhere")),),
        status=404,
    ),
    Row("a list is refused", (MADE, apply([cm({"a": "2"})], to=CM)), status=REFUSED),
    Row("what is no YAML is refused", (MADE, text("a: [")), status=400),
    Row(
        "YAML is applied",
        (text("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  a: one # first\n"),),
        {"data": {"a": "one"}},
        {"one Apply": ".data.a"},
    ),
    Row(
        "apiVersion and kind alone change nothing",
        (MADE, apply({"apiVersion": "v1", "kind": "ConfigMap"}, "two", to=CM)),
        {"data": {"a": "1"}},
        {"one Apply": ".data.a"},
        unchanged=True,
    ),
    Row("what does not make a valid object is invalid", (apply(part(replicas=3)),), status=422),
    Row(
        "what makes an object invalid is invalid",
        (apply(deployment()), apply(of_web(imagePullPolicy="Sometimes"))),
        status=422,
    ),
    Row(
        "an unknown field is refused where it is to be",
        (MADE, apply({**cm({"a": "2"}), "dta": {"b": "1"}}, fieldValidation="Strict")),
        status=REFUSED,
    ),
    Row(
        "the revision that was read may be said",
        (
            apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}),
            apply(
                {
                    "apiVersion": "v1",
                    "kind": "Namespace",
                    "metadata": {"name": "shop", "resourceVersion": "3", "labels": {"a": "1"}},
                }
            ),
        ),
        {"metadata.labels.a": "1"},
    ),
    Row(
        "the answer tells the owners",
        (apply(cm({"a": "1"}), "kubectl"),),
        answer={"metadata.managedFields[*].manager": ["kubectl"], "data": {"a": "1"}},
    ),
    Row("a value of the wrong type is refused", (MADE, apply(cm({"a": {"b": "c"}}))), status=REFUSED),
    Row(
        "a change of what cannot change is invalid",
        (apply(deployment()), apply(part(selector={"matchLabels": {"app": "other"}}), force="true")),
        status=422,
    ),
    Row(
        "objects of no namespace are applied as well",
        (
            apply(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"a": "1"}}}
            ),
        ),
        {"metadata.labels.a": "1"},
        {"one Apply": ".metadata.labels.a"},
        status=201,
    ),
]

DRY_RUNS = [
    Row("a dry run creates nothing", (apply(cm({"a": "1"}), dryRun="All"),), status=201, unchanged=True),
    Row(
        "a dry run changes nothing",
        (MADE, apply(cm({"a": "2", "b": "1"}), dryRun="All")),
        {"data": {"a": "1"}},
        {"one Apply": ".data.a"},
        unchanged=True,
    ),
    Row(
        "a dry run answers with what would be",
        (MADE, apply(cm({"b": "1"}), "two", dryRun="All")),
        {"data": {"a": "1"}},
        answer={"data": {"a": "1", "b": "1"}, "metadata.managedFields[*].manager": ["one", "two"]},
        unchanged=True,
    ),
    Row(
        "a dry run of what changes nothing answers with what is there, times included",
        (apply(SECRET, to=SECRETS), apply(SECRET, to=SECRETS, dryRun="All")),
        answer={"metadata.managedFields[0].time": moment(1)},
        unchanged=True,
    ),
    Row(
        "a dry run is in conflict as the real one would be",
        (MADE, apply(cm({"a": "2"}), "two", dryRun="All")),
        status=409,
    ),
]

GENERATIONS = [
    Row(
        "a changed spec is a new generation",
        (apply(deployment()), apply(deployment(replicas=3))),
        {"metadata.generation": 2},
    ),
    Row(
        "a changed label is not",
        (
            apply(deployment()),
            apply({**deployment(), "metadata": {"name": "web", "labels": {"a": "1"}}}),
        ),
        {"metadata.generation": 1, "metadata.labels": {"a": "1"}},
    ),
    Row(
        "a shared spec is not",
        (apply(deployment()), apply(deployment(), "two")),
        {"metadata.generation": 1},
    ),
]


@pytest.mark.parametrize("row", [*OPTIONS, *BODIES, *DRY_RUNS, *GENERATIONS], ids=str)
def test_requests(row: Row, record_property: Callable[[str, object], None]) -> None:
    check(row, record_property)
