"""Attempts run again on history: they agree, and where they cannot be run it is said why."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from fairlead.control.record import STREAM
from fairlead.core import codec
from fairlead.core.errors import NotFound, Unavailable
from fairlead.explain import again, explaining, records
from fairlead.explain.asking import answered
from fairlead.replay.placement import Discrepancy, differences
from fairlead.store.contract import Batch, Note, Retention
from fairlead.store.events import FloorsMoved
from tests.unit.explain.asking import PODS, Asked, explain, history, why_not_there

HIGH = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "high"},
    "value": 9,
}


def test_every_attempt_of_a_busy_plane_agrees_with_itself() -> None:
    asked = Asked()
    asked.api.post("/apis/scheduling.k8s.io/v1/priorityclasses", HIGH)
    for number in range(12):
        asked.create(f"web-{number}", "6")
    asked.run(20)
    asked.create("vip", "20", priorityClassName="high")
    asked.run(60)
    asked.create("picky", nodeSelector={"disk": "ssd"})
    asked.run(60)
    names = [*(f"web-{number}" for number in range(12)), "vip", "picky"]
    seen = 0
    for name in names:
        for attempt in history(asked.sources, "default", name)["attempts"]:
            told = explain(asked.sources, "default", name, attempt["number"])
            assert told["again"] == {"agrees": True, "differences": []}, (name, told)
            seen += 1
    assert seen >= len(names) + 1, "the one that evicts is tried twice"
    first, *_ = history(asked.sources, "default", "vip")["attempts"]
    assert first["outcome"].startswith("goes to node-0 once ")
    assert explain(asked.sources, "default", "vip")["outcome"] == "placed on node-0"


def test_a_record_that_was_otherwise_is_told_with_both_sides() -> None:
    asked = Asked()
    asked.create("web")
    asked.run(5)
    (line,) = answered(records.attempts_of(asked.api.journal, asked.sources.index, "default", "web"))
    batch = records.batch_of(asked.api.journal, line)
    assert batch is not None
    inputs = answered(again.inputs_of(asked.api.store, batch, 0))
    assert not isinstance(inputs, str)
    found = again.run_again(inputs, asked.driver.plane.placer.policy)  # type: ignore[union-attr]
    assert differences(line.record, found.attempt) == ()
    forged = {**line.record, "node": "node-1"}
    assert differences(forged, found.attempt) == (Discrepancy("node", "node-1", "node-0"),)


def test_past_the_history_floor_the_record_is_shown_alone() -> None:
    asked = Asked()
    asked.create("web")
    asked.run(5)
    asked.create("later")
    asked.run(5)
    floors = asked.api.journal.compact(asked.driver.now + 9999, {"": Retention(1.0, 0)}, 10_000)
    asked.api.store.handle(FloorsMoved(floors))
    told = explain(asked.sources, "default", "web")
    assert told["again"]["agrees"] is None
    assert told["again"]["why"].startswith("its inputs are compacted: revision ")
    assert told["outcome"] == "placed on node-0"
    assert why_not_there(asked.sources, "default", "web", "node-1")["when"].startswith(
        "now, had it no node (its inputs"
    )


def test_a_policy_that_is_no_longer_known_is_named() -> None:
    asked = Asked()
    asked.create("web")
    asked.run(5)
    (line,) = answered(records.attempts_of(asked.api.journal, asked.sources.index, "default", "web"))
    changed = codec.encode({**line.record, "policy": ["other", 3]})
    asked.api.journal.append(Batch((), (Note(STREAM, changed, 0),), asked.driver.now))
    told = explain(asked.sources, "default", "web")
    assert told["again"] == {"agrees": None, "why": "its policy other@3 is no longer known"}


def test_an_attempt_under_an_earlier_revision_of_a_policy_is_run_under_that_one() -> None:
    asked = Asked()
    policies, settings = "/apis/fairlead.dev/v1/schedulingpolicies", "/apis/fairlead.dev/v1/planesettings"
    packing = {"apiVersion": "fairlead.dev/v1", "kind": "SchedulingPolicy", "metadata": {"name": "packing"}}
    most = {"spec": {"scoring": {"strategy": "MostAllocated"}}}
    named = {"apiVersion": "fairlead.dev/v1", "kind": "PlaneSettings", "metadata": {"name": "default"}}
    assert asked.api.post(policies, packing | most)[0] == 201
    assert asked.api.post(settings, named | {"spec": {"schedulingPolicy": "packing"}})[0] == 201
    asked.run(5)
    for name in ("one", "two"):
        asked.create(name, "4")
        asked.run(5)
    least = packing | {"spec": {"scoring": {"strategy": "LeastAllocated"}}}
    assert asked.api.put(f"{policies}/packing", least)[0] == 200
    asked.run(5)
    asked.create("three", "4")
    asked.run(5)
    told = {name: explain(asked.sources, "default", name) for name in ("two", "three")}
    assert [told[name]["attempt"]["policy"] for name in told] == [["packing", 1], ["packing", 2]]
    assert [told[name]["outcome"] for name in told] == ["placed on node-0", "placed on node-1"]
    assert [told[name]["again"]["agrees"] for name in told] == [True, True]


def test_an_attempt_under_a_policy_that_was_deleted_is_run_again_under_it() -> None:
    """Deleted since, or before the attempt was made: PlaneSettings kept it in use."""
    asked = Asked()
    policies, settings = "/apis/fairlead.dev/v1/schedulingpolicies", "/apis/fairlead.dev/v1/planesettings"
    packing = {"apiVersion": "fairlead.dev/v1", "kind": "SchedulingPolicy", "metadata": {"name": "packing"}}
    named = {"apiVersion": "fairlead.dev/v1", "kind": "PlaneSettings", "metadata": {"name": "default"}}
    most = {"spec": {"scoring": {"strategy": "MostAllocated"}}}
    least = {"spec": {"scoring": {"strategy": "LeastAllocated"}}}
    assert asked.api.post(policies, packing | most)[0] == 201
    assert asked.api.post(settings, named | {"spec": {"schedulingPolicy": "packing"}})[0] == 201
    asked.run(5)
    asked.create("one", "4")
    asked.run(5)
    assert asked.api.delete(f"{policies}/packing")[0] == 200
    asked.run(5)
    asked.create("two", "4")
    asked.run(5)
    assert asked.api.post(policies, packing | least)[0] == 201, "a namesake, and its generation is 1, too"
    asked.run(5)
    asked.create("three", "4")
    asked.run(5)
    told = {name: explain(asked.sources, "default", name) for name in ("one", "two", "three")}
    assert [each["attempt"]["policy"] for each in told.values()] == [["packing", 1]] * 3
    assert [each["outcome"] for each in told.values()] == [
        "placed on node-0",
        "placed on node-0",
        "placed on node-1",
    ]
    assert [each["again"]["agrees"] for each in told.values()] == [True] * 3


def test_a_pod_that_waits_is_told_with_its_place_and_ways_out() -> None:
    asked = Asked()
    asked.create("big", "64")
    asked.run(2)
    told = explain(asked.sources, "default", "big")
    assert told["outcome"].startswith("fits on no node: 0/2 nodes are available: 2 Insufficient cpu.")
    assert told["waterfall"] == [{"filter": "NodeResourcesFit", "left": 0, "refused": 2}]
    assert told["remedies"] == [
        "no node is large enough for 64 cpu: the largest has 32; ask for less, or add a larger node"
    ]
    assert told["queue"]["state"] == "unschedulable"
    assert {"nodes", "pods.deleted"} <= set(told["queue"]["wakesOn"])
    assert {each["stale"] for each in told["reads"]} == {0}
    there = why_not_there(asked.sources, "default", "big", "node-1")
    assert (there["when"], there["filters"][0]["detail"]) == ("now", "needs 64 cpu, free 32 of 32")
    assert there["outcome"] == "node-1 does not take it: NodeResourcesFit refuses (Insufficient cpu)"


def test_why_not_of_a_placed_pod_is_of_the_moment_in_which_it_was_placed() -> None:
    asked = Asked()
    asked.create("web", "20")
    asked.run(2)
    asked.create("other", "20")
    asked.run(2)
    told = why_not_there(asked.sources, "default", "web", "node-1")
    assert told["when"].startswith("when it was placed, ")
    assert told["outcome"] == "node-1 would take it and is as good as node-0, which comes first by name"
    assert told["filters"][0]["detail"] == "needs 20 cpu, free 32 of 32", "the other was not there yet"
    assert why_not_there(asked.sources, "default", "web", "node-0")["outcome"].startswith(
        "node-0 is where it is"
    )
    with pytest.raises(NotFound, match='there is no node "x"; there are 2: node-0, node-1'):
        why_not_there(asked.sources, "default", "web", "x")


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"schedulerName": "mine"}, "it asks for the scheduler mine; this one is default-scheduler"),
        ({"schedulingGates": [{"name": "a/b"}]}, "it is held back by scheduling gates: a/b"),
        ({"nodeName": "node-0"}, "it is on node-0, and no attempt of ours is on record"),
    ],
)
def test_a_pod_that_was_not_tried_is_told_why(spec: dict[str, Any], why: str) -> None:
    asked = Asked()
    asked.create("web", **spec)
    asked.run(2)
    told = explain(asked.sources, "default", "web")
    assert told["attempt"] is None
    assert told["outcome"].startswith(f"not tried: {why}")
    assert history(asked.sources, "default", "web")["outcome"] == told["outcome"]


def test_pods_that_are_not_there_are_told_apart_from_those_that_were() -> None:
    asked = Asked()
    with pytest.raises(NotFound, match='there is no pod "web" in namespace "default"'):
        explain(asked.sources, "default", "web")
    asked.create("web")
    asked.run(5)
    asked.api.delete(f"{PODS}/web")
    asked.run(60)
    told = explain(asked.sources, "default", "web")
    assert (told["exists"], told["outcome"]) == (False, "placed on node-0")
    with pytest.raises(NotFound, match="--all lists those kept"):
        explain(asked.sources, "default", "web", 999_999)
    with pytest.raises(NotFound):
        why_not_there(asked.sources, "default", "web", "node-0")


def test_without_a_scheduler_the_answer_says_so() -> None:
    asked = Asked()
    asked.create("web", schedulerName="mine")
    asked.run(2)
    asked.driver.plane.placer = None
    assert (
        explain(asked.sources, "default", "web")["outcome"]
        == "not tried: this server runs without a scheduler"
    )
    with pytest.raises(Unavailable, match="without a scheduler"):
        why_not_there(asked.sources, "default", "web", "node-0")


@pytest.mark.parametrize("ask", [explaining.explain, partial(explaining.why_not_there, node="node-1")])
def test_what_happens_while_an_answer_is_given_does_not_change_it(ask: Any) -> None:
    asked = Asked()
    asked.create("web", "20")
    asked.run(5)
    before = answered(ask(asked.sources, namespace="default", name="web"))
    asking = ask(asked.sources, namespace="default", name="web")
    piece = None
    while piece is None or isinstance(piece, partial):  # the index is asked before
        piece = asking.send(piece() if piece is not None else None)
    asked.create("other", "20")
    asked.run(5)
    asked.api.delete(f"{PODS}/web")
    asked.run(60)
    with pytest.raises(StopIteration) as end:
        asking.send(piece())
    assert end.value.value == before
