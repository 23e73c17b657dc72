"""Get and list: which revision is read, pages that fit together, selectors."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from fairlead.store.events import FloorsMoved
from tests.inprocess import InProcess
from tests.unit.api.things import CONFIGMAPS, NAMESPACES, PODS, configmap, made, pod

ONE = f"{CONFIGMAPS}/settings"


def _names(body: Any) -> list[str]:
    return [item["metadata"]["name"] for item in body["items"]]


def _history(plane: InProcess) -> list[int]:
    """Three versions of one object; returns their revisions."""
    revisions = [int(made(plane, CONFIGMAPS, configmap())["metadata"]["resourceVersion"])]
    for value in ("2", "3"):
        _, body = plane.patch(ONE, {"data": {"a": value}})
        revisions.append(int(body["metadata"]["resourceVersion"]))
    return revisions


@pytest.mark.parametrize("revision", ["", "0", "1", "first", "last"])
def test_a_get_answers_with_the_newest_whatever_lower_bound_is_named(revision: str) -> None:
    plane = InProcess()
    revisions = _history(plane)
    named = {"first": revisions[0], "last": revisions[-1]}.get(revision, revision)
    status, body = plane.get(f"{ONE}?resourceVersion={named}")
    assert (status, body["data"]) == (200, {"a": "3"})


@pytest.mark.parametrize("target", [ONE, CONFIGMAPS])
def test_a_revision_that_has_not_happened_is_a_timeout_that_says_so(target: str) -> None:
    plane = InProcess()
    _history(plane)
    status, body = plane.get(f"{target}?resourceVersion={plane.store.revision + 1}")
    assert (status, body["reason"]) == (504, "Timeout")
    assert body["details"]["causes"] == [
        {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    ]
    assert body["details"]["retryAfterSeconds"] == 1


@pytest.mark.parametrize("target", [ONE, CONFIGMAPS])
@pytest.mark.parametrize("text", ["x", "-1", "1.5", "9" * 30, "１"])
def test_a_revision_that_is_none_is_refused(target: str, text: str) -> None:
    plane = InProcess()
    _history(plane)
    assert plane.get(f"{target}?resourceVersion={quote(text)}")[0] == 400


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("", "3"),
        ("resourceVersion=0", "3"),
        ("resourceVersion={0}", "3"),
        ("resourceVersion={0}&resourceVersionMatch=NotOlderThan", "3"),
        ("resourceVersion=0&resourceVersionMatch=NotOlderThan", "3"),
        ("resourceVersion={0}&resourceVersionMatch=Exact", "1"),
        ("resourceVersion={1}&resourceVersionMatch=Exact", "2"),
        ("resourceVersion={0}&limit=5", "1"),
        ("resourceVersion={0}&limit=5&resourceVersionMatch=NotOlderThan", "3"),
        ("resourceVersion=0&limit=5", "3"),
    ],
)
def test_a_list_reads_the_revision_that_is_asked_for(query: str, value: str) -> None:
    plane = InProcess()
    revisions = _history(plane)
    status, body = plane.get(f"{CONFIGMAPS}?{query.format(*revisions)}")
    assert (status, body["items"][0]["data"]) == (200, {"a": value})
    exact = revisions[int(value) - 1]
    assert body["metadata"]["resourceVersion"] == str(exact if value != "3" else plane.store.revision)


@pytest.mark.parametrize(
    "query",
    [
        "limit=-1",
        "limit=many",
        "continue=%21%21",
        "continue=e30=",
        "continue=" + quote("WzEsMiwzXQ=="),
        "labelSelector=a in",
        "fieldSelector=data.a=1",
        "fieldSelector=spec.nodeName=x",
        "fieldSelector=nonsense",
        "timeoutSeconds=soon",
        "sendInitialEvents=perhaps",
    ],
)
def test_lists_that_make_no_sense_are_refused(query: str) -> None:
    status, body = InProcess().get(f"{CONFIGMAPS}?{query.replace(' ', '%20')}")
    assert (status, body["reason"]) == (400, "BadRequest")


@pytest.mark.parametrize(
    ("query", "field", "message"),
    [
        (
            "resourceVersionMatch=Exact",
            "resourceVersionMatch",
            "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        (
            "resourceVersionMatch=NotOlderThan",
            "resourceVersionMatch",
            "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        (
            "resourceVersion=0&resourceVersionMatch=Exact",
            "resourceVersionMatch",
            'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
        ),
        (
            "resourceVersion=1&resourceVersionMatch=Nearly",
            "resourceVersionMatch",
            'Unsupported value: "Nearly": supported values: "Exact", "NotOlderThan", ""',
        ),
        (
            "resourceVersion=1&resourceVersionMatch=NotOlderThan&continue=x",
            "resourceVersionMatch",
            "Forbidden: resourceVersionMatch is forbidden when continue is provided",
        ),
        ("sendInitialEvents=true", "sendInitialEvents", "Forbidden: sendInitialEvents is forbidden for list"),
    ],
)
def test_options_that_do_not_go_together_are_named_in_kubernetes_words(
    query: str, field: str, message: str
) -> None:
    status, body = InProcess().get(f"{CONFIGMAPS}?{query}")
    assert (status, body["reason"]) == (422, "Invalid")
    assert body["message"] == f'ListOptions.meta.k8s.io "" is invalid: {field}: {message}'
    (cause,) = body["details"]["causes"]
    assert (cause["field"], cause["message"]) == (field, message)


def test_an_unsupported_field_is_named_with_those_that_are() -> None:
    _, body = InProcess().get(f"{PODS}?fieldSelector=spec.image%3Dx")
    assert body["message"].startswith("field label not supported: spec.image; ")
    assert "spec.nodeName" in body["message"]


def test_history_that_is_gone_has_expired() -> None:
    plane = InProcess()
    revisions = _history(plane)
    _, page = plane.get(f"{CONFIGMAPS}?limit=1")
    plane.store.handle(FloorsMoved({"configmaps": revisions[-1]}))
    status, body = plane.get(f"{CONFIGMAPS}?resourceVersion={revisions[0]}&resourceVersionMatch=Exact")
    assert (status, body["reason"], body["code"]) == (410, "Expired", 410)
    assert body["message"].startswith("The resourceVersion for the provided list is too old. ")
    assert page["metadata"].get("continue") is None


def test_pages_are_of_one_revision_while_others_write() -> None:
    plane = InProcess()
    names = [f"c{number:02}" for number in range(10)]
    for name in names:
        made(plane, CONFIGMAPS, configmap(name))
    collected: list[str] = []
    query, revisions, remaining = "?limit=3", set(), []
    while query:
        status, body = plane.get(CONFIGMAPS + query)
        assert status == 200
        collected += _names(body)
        revisions.add(body["metadata"]["resourceVersion"])
        remaining.append(body["metadata"].get("remainingItemCount"))
        token = body["metadata"].get("continue")
        query = f"?limit=3&continue={quote(token)}" if token else ""
        plane.delete(f"{CONFIGMAPS}/c09")
        made(plane, CONFIGMAPS, configmap(f"c05-{len(collected)}"))
        plane.patch(f"{CONFIGMAPS}/c04", {"data": {"a": str(len(collected))}})
    assert collected == names
    assert len(revisions) == 1
    assert remaining == [7, 4, 1, None]


def test_pages_across_namespaces_follow_one_another() -> None:
    plane = InProcess()
    for space in ("default", "kube-system"):
        for name in ("a", "b", "c"):
            made(plane, f"{NAMESPACES}/{space}/configmaps", configmap(name))
    seen, query = [], "?limit=2"
    while query:
        _, body = plane.get(f"/api/v1/configmaps{query}")
        seen += [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in body["items"]]
        token = body["metadata"].get("continue")
        query = f"?limit=2&continue={quote(token)}" if token else ""
    assert seen == sorted((space, name) for space in ("default", "kube-system") for name in ("a", "b", "c"))


def test_a_page_with_selectors_is_filled_and_does_not_count_the_rest() -> None:
    plane = InProcess()
    for number in range(9):
        made(plane, CONFIGMAPS, configmap(f"c{number}", labels={"third": str(number % 3)}))
    _, body = plane.get(f"{CONFIGMAPS}?limit=2&labelSelector=third%3D0")
    assert _names(body) == ["c0", "c3"]
    assert "remainingItemCount" not in body["metadata"]
    token = quote(body["metadata"]["continue"])
    _, body = plane.get(f"{CONFIGMAPS}?limit=2&labelSelector=third%3D0&continue={token}")
    assert _names(body) == ["c6"]
    assert "continue" not in body["metadata"]


def test_a_page_token_outlives_neither_its_history_nor_a_named_revision() -> None:
    plane = InProcess()
    for number in range(4):
        made(plane, CONFIGMAPS, configmap(f"c{number}"))
    token = quote(plane.get(f"{CONFIGMAPS}?limit=2")[1]["metadata"]["continue"])
    assert plane.get(f"{CONFIGMAPS}?limit=2&continue={token}&resourceVersion=3")[0] == 400
    assert plane.get(f"{CONFIGMAPS}?limit=2&continue={token}&resourceVersion=0")[0] == 200
    made(plane, CONFIGMAPS, configmap("late"))
    plane.store.handle(FloorsMoved({"configmaps": plane.store.revision}))
    status, body = plane.get(f"{CONFIGMAPS}?limit=2&continue={token}")
    assert (status, body["reason"]) == (410, "Expired")
    assert body["message"].startswith(
        "The provided continue parameter is too old to display a consistent list result. "
    )
    assert "continue" in body["message"]


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("app=web", ["a", "b"]),
        ("app==web,tier!=back", ["a"]),
        ("app in (web, db)", ["a", "b", "c"]),
        ("app notin (web)", ["c", "d"]),
        ("tier", ["a", "b"]),
        ("!tier", ["c", "d"]),
        ("", ["a", "b", "c", "d"]),
    ],
)
def test_labels_select(selector: str, names: list[str]) -> None:
    plane = InProcess()
    labels: dict[str, Any] = {
        "a": {"app": "web", "tier": "front"},
        "b": {"app": "web", "tier": "back"},
        "c": {"app": "db"},
        "d": None,
    }
    for name, given in labels.items():
        made(plane, CONFIGMAPS, configmap(name, labels=given))
    assert _names(plane.get(f"{CONFIGMAPS}?labelSelector={quote(selector)}")[1]) == names


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("metadata.name=a", ["a"]),
        ("metadata.name!=a", ["b", "c"]),
        ("metadata.namespace=default", ["a", "b", "c"]),
        ("metadata.namespace=other", []),
        ("spec.nodeName=node-1", ["b"]),
        ("spec.nodeName=", ["a", "c"]),
        ("spec.nodeName!=node-1,metadata.name!=c", ["a"]),
        ("status.phase=Pending", ["a", "b", "c"]),
    ],
)
def test_fields_select(selector: str, names: list[str]) -> None:
    plane = InProcess()
    for name, node in (("a", ""), ("b", "node-1"), ("c", "")):
        made(plane, PODS, pod(name, node))
    assert _names(plane.get(f"{PODS}?fieldSelector={quote(selector)}")[1]) == names


def test_an_empty_list_has_items() -> None:
    plane = InProcess()
    assert plane.get(CONFIGMAPS) == (
        200,
        {
            "kind": "ConfigMapList",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": str(plane.store.revision)},
            "items": [],
        },
    )


def test_a_past_list_shows_what_was_deleted_since() -> None:
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap())
    then = plane.store.revision
    plane.delete(ONE)
    _, body = plane.get(f"{CONFIGMAPS}?resourceVersion={then}&resourceVersionMatch=Exact")
    assert _names(body) == ["settings"]
    assert json.loads(plane.published[-1].entry.data)["metadata"]["name"] == "settings"
