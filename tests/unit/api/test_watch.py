"""Watch: what comes first, what follows, and where a watch cannot begin."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead.api.plan import Watch
from fairlead.port.request import JSON, Reply, Request
from fairlead.store.contract import ADDED, CommittedChange
from fairlead.store.events import FloorsMoved
from fairlead.store.watch import frame
from tests.inprocess import InProcess
from tests.unit.api.things import CONFIGMAPS, METADATA, TABLE, configmap, made


def _open(plane: InProcess, accept: str = JSON, name: str = "", **query: str) -> Watch | tuple[int, Any]:
    request = Request(
        verb="watch",
        group="",
        version="v1",
        plural="configmaps",
        namespace="default",
        name=name,
        query=query,
        accept=accept,
    )
    step = plane.send(request)
    if isinstance(step, Reply):
        return step.status, json.loads(step.body)
    return step


def _watch(plane: InProcess, accept: str = JSON, name: str = "", **query: str) -> Watch:
    step = _open(plane, accept, name, **query)
    assert isinstance(step, Watch), step
    return step


def _events(plane: InProcess, watch: Watch) -> list[tuple[str, Any]]:
    """All that the stream would carry by now, as the wire sends it."""
    subscription = plane.hub.subscribe(watch.resource, watch.namespace, watch.accepts, watch.since)
    changes = [CommittedChange(ADDED, entry, None) for entry in watch.initial]
    while subscription.ready:
        changes += plane.hub.take(subscription)
    lines = [frame(c) if watch.encode is None else watch.encode(c.type, c, plane.now) for c in changes]
    return [(event["type"], event["object"]) for event in map(json.loads, lines)]


def _seen(plane: InProcess, watch: Watch) -> list[tuple[str, str]]:
    return [(event, obj["metadata"]["name"]) for event, obj in _events(plane, watch)]


def _two(plane: InProcess) -> list[int]:
    made(plane, CONFIGMAPS, configmap("a", labels={"app": "web"}))
    first = plane.store.revision
    made(plane, CONFIGMAPS, configmap("b"))
    return [first, plane.store.revision]


@pytest.mark.parametrize("revision", [None, "", "0"])
def test_without_a_revision_all_there_is_comes_first(revision: str | None) -> None:
    plane = InProcess()
    _two(plane)
    watch = _watch(plane, **({} if revision is None else {"resourceVersion": revision}))
    plane.delete(f"{CONFIGMAPS}/a")
    made(plane, CONFIGMAPS, configmap("c"))
    assert _seen(plane, watch) == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a"), ("ADDED", "c")]
    assert not watch.initial_end


def test_from_a_revision_only_what_came_after_it() -> None:
    plane = InProcess()
    first, _ = _two(plane)
    plane.patch(f"{CONFIGMAPS}/a", {"data": {"a": "2"}})
    watch = _watch(plane, resourceVersion=str(first))
    assert _seen(plane, watch) == [("ADDED", "b"), ("MODIFIED", "a")]
    assert _seen(plane, _watch(plane, resourceVersion=str(plane.store.revision))) == []


def test_a_future_revision_is_refused() -> None:
    plane = InProcess()
    status, body = _open(plane, resourceVersion=str(plane.store.revision + 1))  # type: ignore[misc]
    assert (status, body["details"]["causes"][0]["reason"]) == (504, "ResourceVersionTooLarge")


def test_a_compacted_revision_is_gone() -> None:
    plane = InProcess()
    first, last = _two(plane)
    plane.store.handle(FloorsMoved({"configmaps": last}))
    status, body = _open(plane, resourceVersion=str(first))  # type: ignore[misc]
    assert (status, body["reason"], body["code"]) == (410, "Expired", 410)
    assert body["message"].startswith("too old resource version: ")
    assert isinstance(_open(plane, resourceVersion=str(last)), Watch)


def test_initial_events_end_with_a_marked_bookmark() -> None:
    plane = InProcess()
    _two(plane)
    query = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    watch = _watch(plane, **query)
    assert (len(watch.initial), watch.initial_end, watch.bookmarks) == (2, True, True)
    assert json.loads(watch.bookmark(watch.since, True)) == {
        "type": "BOOKMARK",
        "object": {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {
                "resourceVersion": str(plane.store.revision),
                "creationTimestamp": None,
                "annotations": {"k8s.io/initial-events-end": "true"},
            },
        },
    }
    assert "annotations" not in json.loads(watch.bookmark(5, False))["object"]["metadata"]


def test_initial_events_can_be_declined() -> None:
    plane = InProcess()
    _two(plane)
    watch = _watch(plane, sendInitialEvents="false", resourceVersionMatch="NotOlderThan")
    assert _seen(plane, watch) == []


@pytest.mark.parametrize(
    "query",
    [
        {"sendInitialEvents": "perhaps", "resourceVersionMatch": "NotOlderThan"},
        {"resourceVersion": "x"},
        {"timeoutSeconds": "soon"},
        {"labelSelector": "a in"},
        {"fieldSelector": "data.a=1"},
    ],
)
def test_watches_that_make_no_sense_are_refused(query: dict[str, str]) -> None:
    assert _open(InProcess(), **query)[0] == 400  # type: ignore[index]


@pytest.mark.parametrize(
    ("query", "causes"),
    [
        (
            {"sendInitialEvents": "true"},
            ["Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"],
        ),
        (
            {"sendInitialEvents": "false", "resourceVersionMatch": "Exact"},
            [
                "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                'Unsupported value: "Exact": supported values: "NotOlderThan"',
            ],
        ),
        (
            {"resourceVersionMatch": "NotOlderThan"},
            ["Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"],
        ),
        (
            {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "continue": "x"},
            ["Forbidden: resourceVersionMatch is forbidden when continue is provided"],
        ),
    ],
)
def test_options_that_do_not_go_together_are_named_in_kubernetes_words(
    query: dict[str, str], causes: list[str]
) -> None:
    status, body = _open(InProcess(), **query)  # type: ignore[misc]
    assert (status, body["reason"]) == (422, "Invalid")
    assert body["message"].startswith('ListOptions.meta.k8s.io "" is invalid: ')
    assert [(each["field"], each["message"]) for each in body["details"]["causes"]] == [
        ("resourceVersionMatch", cause) for cause in causes
    ]


WATCH_LIST = {
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
    "allowWatchBookmarks": "true",
}


@pytest.mark.parametrize(
    ("query", "seen"),
    [
        ({"labelSelector": "app=web"}, ["a"]),
        ({"fieldSelector": "metadata.name!=a"}, ["b"]),
        ({"resourceVersion": ""}, ["a", "b"]),
        ({"resourceVersion": "0"}, ["a", "b"]),
        ({"resourceVersion": "1"}, ["a", "b"]),
    ],
)
@pytest.mark.parametrize("accept", [JSON, TABLE, METADATA])
def test_a_watch_list_begins_with_what_is_selected(
    query: dict[str, str], seen: list[str], accept: str
) -> None:
    plane = InProcess()
    _two(plane)
    watch = _watch(plane, accept, **WATCH_LIST, **query)
    events = [obj if accept != TABLE else obj["rows"][0]["object"] for _, obj in _events(plane, watch)]
    assert [each["metadata"]["name"] for each in events] == seen
    assert watch.initial_end


def test_a_watch_list_waits_for_no_revision_that_has_not_happened() -> None:
    plane = InProcess()
    status, _ = _open(plane, **WATCH_LIST, resourceVersion=str(plane.store.revision + 1))  # type: ignore[misc]
    assert status == 504


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_bookmark_among_tables_is_a_table_and_among_metadata_metadata(version: str) -> None:
    plane = InProcess()
    marks = [
        json.loads(_watch(plane, accept.replace("v=v1", f"v={version}"), **WATCH_LIST).bookmark(7, True))
        for accept in (TABLE, METADATA)
    ]
    table, metadata = (mark["object"] for mark in marks)
    assert [each["apiVersion"] for each in (table, metadata)] == [f"meta.k8s.io/{version}"] * 2
    assert (table["kind"], metadata["kind"]) == ("Table", "PartialObjectMetadata")
    assert table["rows"][0]["object"] == metadata
    assert metadata["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert table["metadata"]["resourceVersion"] == metadata["metadata"]["resourceVersion"] == "7"


def test_a_stream_is_not_in_yaml() -> None:
    status, body = _open(InProcess(), "application/yaml")  # type: ignore[misc]
    assert (status, body["message"]) == (
        406,
        "only the following media types are accepted: application/json;stream=watch",
    )
    assert isinstance(_open(InProcess(), "application/yaml,application/json;stream=watch"), Watch)


def test_a_table_is_refused_before_the_stream_and_not_in_it() -> None:
    assert _open(InProcess(), TABLE, includeObject="Some")[0] == 400  # type: ignore[index]


def test_a_selector_shows_what_enters_and_leaves_it() -> None:
    plane = InProcess()
    _two(plane)
    watch = _watch(plane, labelSelector="app=web")
    plane.patch(f"{CONFIGMAPS}/b", {"metadata": {"labels": {"app": "web"}}})
    plane.patch(f"{CONFIGMAPS}/a", {"metadata": {"labels": {"app": "db"}}})
    plane.patch(f"{CONFIGMAPS}/a", {"data": {"a": "5"}})
    plane.delete(f"{CONFIGMAPS}/b")
    events = _events(plane, watch)
    assert [(event, obj["metadata"]["name"]) for event, obj in events] == [
        ("ADDED", "a"),
        ("ADDED", "b"),
        ("DELETED", "a"),
        ("DELETED", "b"),
    ]
    assert events[2][1]["metadata"]["labels"] == {"app": "web"}, "as it was when it last matched"


def test_one_object_can_be_watched_by_name() -> None:
    plane = InProcess()
    _two(plane)
    assert _seen(plane, _watch(plane, name="b")) == [("ADDED", "b")]
    assert _seen(plane, _watch(plane, fieldSelector="metadata.name=a")) == [("ADDED", "a")]


def test_a_watch_as_a_table_sends_its_headings_once() -> None:
    plane = InProcess()
    _two(plane)
    events = _events(plane, _watch(plane, TABLE))
    assert [obj["kind"] for _, obj in events] == ["Table", "Table"]
    assert [column["name"] for column in events[0][1]["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert events[1][1]["columnDefinitions"] is None
    assert [obj["rows"][0]["cells"][0] for _, obj in events] == ["a", "b"]
    assert events[0][1]["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


def test_a_watch_of_metadata_shows_no_more() -> None:
    plane = InProcess()
    _two(plane)
    watch = _watch(plane, METADATA)
    for _, obj in _events(plane, watch):
        assert sorted(obj) == ["apiVersion", "kind", "metadata"]
        assert (obj["kind"], obj["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")
    assert json.loads(watch.bookmark(5, False))["object"]["kind"] == "PartialObjectMetadata"


@pytest.mark.parametrize(("text", "seconds"), [("7", 7.0), ("3601", 3600.0), ("9223372036854775807", 3600.0)])
def test_a_watch_ends_when_asked_to_and_within_an_hour(text: str, seconds: float) -> None:
    assert _watch(InProcess(), timeoutSeconds=text).timeout_seconds == seconds


def test_watches_that_name_no_end_do_not_all_end_together() -> None:
    plane = InProcess()
    ends = {_watch(plane, timeoutSeconds=text).timeout_seconds for text in ("", "0") * 8}
    assert len(ends) > 8
    assert all(1800 <= each < 3600 for each in ends)


def test_a_change_is_encoded_once_for_all_who_watch_it_in_the_same_form() -> None:
    plane = InProcess()
    watches = [_watch(plane, METADATA) for _ in range(2)]
    made(plane, CONFIGMAPS, configmap())
    change = plane.published[-1]
    first, second = (watch.encode(change.type, change, plane.now) for watch in watches if watch.encode)
    assert first is second
    assert frame(change) is frame(change)
    older = _watch(plane, METADATA.replace("v=v1", "v=v1beta1"))
    assert older.encode is not None
    assert (
        json.loads(older.encode(change.type, change, plane.now))["object"]["apiVersion"]
        == "meta.k8s.io/v1beta1"
    )
