"""Heartbeats of many nodes: evenly spread, bounded, never all at once; what answers teach; how late they were."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import msgspec
import pytest

from fairlead.agent.hollow.beats import Beat, Beats
from fairlead.agent.hollow.script import FLAPS, SILENT_AFTER
from fairlead.core.times import timestamp
from fairlead.model.views import Node
from fairlead.port.outcome import Conflict, Done, Outcome, Refused, Unknown
from fairlead.port.request import Request

BEGAN = 1_800_000_000.0
DONE = Done(7, b"{}")
TAKEN = Conflict("AlreadyExists", "it exists")
GONE = Refused(404, "NotFound", "it is gone")


def node(name: str, **annotations: str) -> Node:
    metadata = {
        "name": name,
        "uid": f"uid-{name}",
        "annotations": annotations,
        "creationTimestamp": timestamp(BEGAN),
    }
    return msgspec.convert({"metadata": metadata}, Node)


class Fleet:
    """Nodes n0 and so on, a server that answers at once, and a clock that is moved by hand."""

    def __init__(self, nodes: int, renew_seconds: float = 10.0, lag: float = 0.0) -> None:
        self.nodes = {f"n{number}": node(f"n{number}") for number in range(nodes)}
        self.beats = Beats(tuple(self.nodes), renew_seconds, 40, lambda name: self.nodes.get(name), BEGAN)
        self.now, self.lag = BEGAN, lag
        self.sent: list[tuple[float, str, Request]] = []

    def take(self, room: int = 1000) -> list[tuple[Beat, Request]]:
        taken = self.beats.take(self.now, room)
        self.sent += [(self.now - BEGAN, beat.name, request) for beat, request in taken]
        return taken

    def go_on(self, seconds: float, step: float = 0.1, outcome: Outcome = DONE, room: int = 1000) -> None:
        end = self.now + seconds
        while self.now < end - 1e-9:
            for beat, _ in self.take(room):
                self.beats.answered(beat, outcome, self.now + self.lag)
            self.now += step


def body(request: Request) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(request.body)
    return found


@pytest.mark.parametrize("nodes", [1, 7, 100, 1000])
def test_every_node_once_in_each_period_and_no_two_periods_differ(nodes: int) -> None:
    fleet = Fleet(nodes)
    fleet.go_on(40.0)
    assert {len([1 for at, each, _ in fleet.sent if each == name]) for name in fleet.nodes} == {4}
    in_order = [name for _, name, _ in fleet.sent]
    assert in_order[:nodes] == in_order[nodes : 2 * nodes]
    told = fleet.beats.report()
    assert (told["renewals"], told["failed"], told["missed"]) == (4 * nodes, 0, 0)


def test_renewals_are_spread_over_the_period() -> None:
    fleet = Fleet(1000)
    fleet.go_on(10.0)
    per_second = Counter(int(at + 1e-6) for at, _, _ in fleet.sent)
    assert set(per_second) == set(range(10))
    assert max(per_second.values()) <= 110, per_second


def test_the_next_one_is_due_a_part_of_the_period_later() -> None:
    fleet = Fleet(100)
    assert len(fleet.take()) == 1
    assert fleet.beats.next_at == pytest.approx(BEGAN + 0.1)
    assert not fleet.take(), "before it is due there is nothing"


def test_after_a_pause_no_more_are_under_way_than_there_is_room_and_old_ones_are_left_out() -> None:
    fleet = Fleet(100)
    fleet.go_on(10.0)
    fleet.beats.report()
    fleet.now += 35.0  # three whole periods, and half of a fourth
    taken = fleet.take(room=8)
    assert len(taken) == 8
    fleet.now += 0.01
    rest = fleet.take(room=1000)
    names = [beat.name for beat, _ in (*taken, *rest)]
    assert len(names) == len(set(names)) == 100, "the newest turn of each node, and no other"
    assert min(beat.due for beat, _ in taken) > fleet.now - 10.1
    assert fleet.beats.report()["missed"] in (250, 251, 252), "the turns before it, give or take a rounding"
    fleet.now += 0.1
    assert len(fleet.take()) <= 2, "then on as before, not all at once"


def test_a_node_whose_renewal_is_under_way_gets_no_second_one() -> None:
    fleet = Fleet(2)
    ((beat, _),) = fleet.take()
    fleet.now += 10.0
    assert [each.name for each, _ in fleet.take()] == ["n1"]
    assert fleet.beats.report()["missed"] == 1
    fleet.beats.answered(beat, DONE, fleet.now)
    fleet.now += 10.0
    assert "n0" in [each.name for each, _ in fleet.take()]


def test_late_is_from_due_to_acknowledged() -> None:
    fleet = Fleet(10, lag=0.25)
    fleet.go_on(10.0, step=1.0)
    late = fleet.beats.report()["late_ms"]
    assert late == {"p50": 250.0, "p99": 250.0, "max": 250.0}
    assert fleet.beats.report()["late_ms"]["max"] == 0.0, "a report starts anew"


def test_the_first_one_creates_the_lease_as_the_nodes_own_and_the_next_renew_it() -> None:
    fleet = Fleet(1)
    fleet.go_on(20.0)
    (_, _, first), (_, _, second) = fleet.sent
    assert (first.verb, first.namespace) == ("create", "kube-node-lease")
    assert body(first)["metadata"]["ownerReferences"][0]["uid"] == "uid-n0"
    assert (second.verb, second.name) == ("patch", "n0")
    assert set(body(second)["spec"]) == {"holderIdentity", "leaseDurationSeconds", "renewTime"}


@pytest.mark.parametrize(
    ("answers", "verbs", "failed"),
    [
        ([TAKEN, DONE], ["create", "patch"], 0),  # it is there from a former run
        ([DONE, GONE, DONE], ["create", "patch", "create"], 0),  # somebody deleted it
        (
            [TAKEN, GONE, DONE],
            ["create", "patch", "create"],
            1,
        ),  # no endless asking: one more, then its next turn
        ([GONE, DONE], ["create", "create"], 1),  # no such namespace
        ([Unknown("lost"), TAKEN, DONE], ["create", "create", "patch"], 1),
        ([DONE, Refused(503, "Unavailable", "away"), DONE], ["create", "patch", "patch"], 1),
        ([DONE, Conflict("Conflict", "moved"), DONE], ["create", "patch", "patch"], 1),
    ],
)
def test_what_answers_teach(answers: list[Outcome], verbs: list[str], failed: int) -> None:
    fleet = Fleet(1)
    left = list(answers)
    while left:
        for beat, _ in fleet.take():
            fleet.beats.answered(beat, left.pop(0), fleet.now)
        if fleet.beats.next_at > fleet.now:
            fleet.now += 10.0
    assert [request.verb for _, _, request in fleet.sent] == verbs
    told = fleet.beats.report()
    assert (told["failed"], told["renewals"]) == (failed, sum(each == DONE for each in answers))


def test_a_failed_renewal_waits_for_its_next_turn() -> None:
    fleet = Fleet(100)
    fleet.go_on(10.0, outcome=Unknown("away"))
    assert len(fleet.sent) == 100
    assert fleet.beats.trouble == "away"


def test_silent_nodes_and_nodes_that_are_not_there_send_nothing() -> None:
    fleet = Fleet(4)
    fleet.nodes["n1"] = node("n1", **{SILENT_AFTER: "15s"})
    fleet.nodes["n2"] = node("n2", **{FLAPS: "10s"})
    del fleet.nodes["n3"]
    fleet.go_on(40.0)
    sent = Counter(name for _, name, _ in fleet.sent)
    assert sent == {"n0": 4, "n1": 2, "n2": 2}
    assert fleet.beats.report()["silent"] == 4
    fleet.nodes["n1"] = node("n1")
    fleet.go_on(10.0)
    assert [name for at, name, _ in fleet.sent if at > 40.0 - 0.1].count("n1") == 1, (
        "without its script it is heard"
    )
