"""How far a workload has come in each zone or region: where its pods are by their nodes, and how many at each stage."""

from __future__ import annotations

import msgspec

from fairlead.cli.progress_places import count_by_place, places_of
from fairlead.model.marks import REGION, ZONE
from fairlead.model.views import Node, Pod

NODES = [
    msgspec.convert({"metadata": {"name": name, "uid": name, "labels": labels}}, Node)
    for name, labels in (
        ("n1", {REGION: "eu", ZONE: "eu-a"}),
        ("n2", {REGION: "eu", ZONE: "eu-b"}),
        ("n3", {REGION: "us", ZONE: "us-a"}),
        ("n4", {}),
    )
]


def pod(name: str, node: str = "", ready: bool = False) -> Pod:
    conditions = [{"type": "Ready", "status": "True"}] if ready else []
    status = {"phase": "Running" if ready else "Pending", "conditions": conditions}
    return msgspec.convert(
        {"metadata": {"name": name, "uid": name}, "spec": {"nodeName": node}, "status": status}, Pod
    )


PODS = [pod("a", "n1", ready=True), pod("b", "n2", ready=True), pod("c", "n2"), pod("d", "n4"), pod("e")]


def rows(by: str, served: frozenset[str] | None = None) -> list[list[str]]:
    return [line.split() for line in count_by_place(PODS, served, places_of(NODES, by)).lines(by)[1:]]


def test_pods_are_counted_where_their_nodes_are_and_a_place_without_any_is_told() -> None:
    header, *found = rows("region")
    assert header == ["REGION", "ADMITTED", "QUEUED", "SCHEDULED", "BOUND", "STARTING", "READY"]
    assert found == [
        ["eu", "3", "3", "3", "3", "2", "2"],
        ["us", "0", "0", "0", "0", "0", "0"],
        ["<none>", "2", "2", "1", "1", "0", "0"],
    ]


def test_zones_are_told_apart_and_who_serves_is_counted_where_a_service_selects_it() -> None:
    header, *found = rows("zone", frozenset({"a"}))
    assert header[-1] == "SERVING"
    assert [(row[0], row[-2], row[-1]) for row in found] == [
        ("eu-a", "1", "1"),
        ("eu-b", "1", "0"),
        ("us-a", "0", "0"),
        ("<none>", "0", "0"),
    ]


def test_the_same_is_told_as_json() -> None:
    told = count_by_place(PODS, None, places_of(NODES, "region")).told()
    header, *found = rows("region")
    assert [list(each) for each in told] == [["name", *(each.lower() for each in header[1:])]] * 3
    assert [[str(count) for count in each.values()][1:] for each in told] == [row[1:] for row in found]
    assert [each["name"] for each in told] == ["eu", "us", ""]
