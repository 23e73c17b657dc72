"""Namespaces and events: defaults, rules, columns."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.problems import Problems
from fairlead.core.times import timestamp
from fairlead.model.kinds.event import KIND as EVENT
from fairlead.model.kinds.namespace import KIND as NAMESPACE

Json = dict[str, Any]
NOW = 1_700_000_000.0


def test_a_namespace_is_active_and_labelled_with_its_name() -> None:
    made: Json = {"metadata": {"name": "team", "labels": {"kubernetes.io/metadata.name": "other", "a": "b"}}}
    NAMESPACE.defaults(made)
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team", "a": "b"}
    assert made["status"] == {"phase": "Active"}
    assert NAMESPACE.finalizers_spec == ("kubernetes",)
    assert [column.cell(made, NOW) for column in NAMESPACE.columns] == ["Active", "<unknown>"]
    assert NAMESPACE.selectable["status.phase"](made) == "Active"


def test_a_namespaces_finalizers_are_standard_or_qualified() -> None:
    problems = Problems()
    NAMESPACE.validate({"spec": {"finalizers": ["kubernetes", "example.com/x", "mine"]}}, problems)
    assert [(cause.field, cause.message) for cause in problems.causes] == [
        (
            "spec.finalizers[2]",
            'Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
        )
    ]


@pytest.mark.parametrize(
    ("deleted", "phase", "right"),
    [
        (False, "Active", True),
        (False, "Terminating", False),
        (True, "Terminating", True),
        (True, "Active", False),
    ],
)
def test_the_phase_of_a_namespace_follows_its_deletion(deleted: bool, phase: str, right: bool) -> None:
    metadata = {"deletionTimestamp": "t"} if deleted else {}
    problems = Problems()
    NAMESPACE.validate_status({"metadata": metadata, "status": {"phase": phase}}, {}, problems)
    assert bool(problems) is not right


def event(namespace: str = "default", involved: str = "", **more: Any) -> Json:
    return {
        "metadata": {"name": "e.1", "namespace": namespace},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": involved, "fieldPath": "spec"},
        **more,
    }


NEW: Json = {
    "eventTime": timestamp(NOW - 10),
    "reportingComponent": "example.com/scheduler",
    "reportingInstance": "s-1",
    "action": "Binding",
    "reason": "Scheduled",
}


@pytest.mark.parametrize(
    ("obj", "fields"),
    [
        (event("team", "team"), []),
        (event("default"), []),
        (event("team"), ["involvedObject.namespace"]),
        (event("team", "other"), ["involvedObject.namespace"]),
        (event("kube-system"), ["involvedObject.namespace"]),
        (event("kube-system", **NEW), []),
        (event("team", "other", **NEW), ["involvedObject.namespace"]),
        (event(eventTime="t"), ["reportingComponent", "reportingInstance", "action", "reason"]),
        (event(**{**NEW, "message": "x" * 1025}), ["message"]),
        (event(**{**NEW, "reason": "x" * 129}), ["reason"]),
        (event(**{**NEW, "reportingComponent": "a b"}), ["reportingComponent"]),
    ],
)
def test_an_event_lies_in_the_namespace_of_its_object_and_says_who_reports(
    obj: Json, fields: list[str]
) -> None:
    problems = Problems()
    EVENT.validate(obj, problems)
    assert [cause.field for cause in problems.causes] == fields


def cells(obj: Json, priority: int) -> Json:
    return {column.name: column.cell(obj, NOW) for column in EVENT.columns if column.priority <= priority}


def test_events_show_the_name_last_and_only_when_wide() -> None:
    assert [(column.name, column.priority) for column in EVENT.columns] == [
        ("Last Seen", 0),
        ("Type", 0),
        ("Reason", 0),
        ("Object", 0),
        ("Subobject", 1),
        ("Source", 1),
        ("Message", 0),
        ("First Seen", 1),
        ("Count", 1),
        ("Name", 1),
    ]


def test_an_old_event_shows_its_timestamps_and_source() -> None:
    old = event(
        type="Warning",
        reason="BackOff",
        message=" again \n",
        count=7,
        source={"component": "agent", "host": "n"},
        firstTimestamp=timestamp(NOW - 300),
        lastTimestamp=timestamp(NOW - 5),
    )
    assert cells(old, 1) == {
        "Last Seen": "5s",
        "Type": "Warning",
        "Reason": "BackOff",
        "Object": "pod/p",
        "Subobject": "spec",
        "Source": "agent, n",
        "Message": "again",
        "First Seen": "5m",
        "Count": 7,
        "Name": "e.1",
    }


def test_a_new_event_shows_its_time_and_its_series() -> None:
    single = event(**NEW)
    assert cells(single, 1)["Last Seen"] == cells(single, 1)["First Seen"] == "10s"
    assert cells(single, 1)["Count"] == 1
    assert cells(single, 1)["Source"] == "example.com/scheduler, s-1"
    series = event(**NEW, series={"count": 3, "lastObservedTime": timestamp(NOW - 2)})
    assert (cells(series, 1)["Last Seen"], cells(series, 1)["Count"]) == ("2s", 3)
    assert cells(event(), 0)["Last Seen"] == "<unknown>"


def test_events_can_be_selected_by_their_object() -> None:
    obj = event("team", "team", type="Normal", reason="R", source={"component": "agent"})
    read = {path: select(obj) for path, select in EVENT.selectable.items()}
    assert read["involvedObject.kind"] == "Pod"
    assert read["involvedObject.name"] == "p"
    assert read["involvedObject.namespace"] == "team"
    assert read["involvedObject.uid"] == ""
    assert (read["reason"], read["type"], read["source"]) == ("R", "Normal", "agent")
