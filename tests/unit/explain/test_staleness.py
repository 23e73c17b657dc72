"""A pod that waits: for good, or only on what the scheduler had read."""

from __future__ import annotations

from typing import Any

from fairlead.core import codec
from fairlead.explain.staleness import DURABLE, STALE, InputAge, age_of, judge
from fairlead.model.key import Key
from fairlead.schedule.contract import SchedulingAttempt
from fairlead.store.contract import Retention
from fairlead.store.events import FloorsMoved
from tests.unit.explain.asking import Asked, explain


def verdict(asked: Asked, name: str) -> dict[str, Any]:
    found: dict[str, Any] = explain(asked.sources, "default", name)["verdict"]
    return found


def waiting(asked: Asked) -> None:
    asked.create("picky", nodeSelector={"disk": "ssd"})
    asked.run(5)


def test_a_pod_that_no_node_of_now_takes_waits_for_good() -> None:
    asked = Asked()
    waiting(asked)
    told = verdict(asked, "picky")
    assert told["verdict"] == DURABLE
    assert "0/2 nodes are available" in told["why"]
    nodes = next(each for each in told["inputs"] if each["resource"] == "nodes")
    assert (nodes["behind"], nodes["unheard"]) == (0, False)
    assert nodes["newest"] <= nodes["read"]


def test_a_pod_that_a_node_of_now_takes_waits_on_what_was_read() -> None:
    """The label was written; the scheduler has heard nothing yet."""
    asked = Asked()
    waiting(asked)
    asked.api.patch("/api/v1/nodes/node-1", {"metadata": {"labels": {"disk": "ssd"}}})
    told = verdict(asked, "picky")
    assert (told["verdict"], told["node"]) == (STALE, "node-1")
    assert "has not heard of nodes yet" in told["why"]
    nodes = next(each for each in told["inputs"] if each["resource"] == "nodes")
    assert (nodes["behind"], nodes["unheard"]) == (1, True)
    assert nodes["newest"] > nodes["read"]


def test_changes_of_other_kinds_make_no_input_stale() -> None:
    asked = Asked()
    waiting(asked)
    for number in range(3):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c-{number}"}}
        asked.api.post("/api/v1/namespaces/default/configmaps", body)
    told = verdict(asked, "picky")
    assert told["verdict"] == DURABLE
    assert all(not each["behind"] for each in told["inputs"] if each["resource"] == "nodes")


def test_a_change_that_does_not_help_leaves_it_a_shortage() -> None:
    asked = Asked()
    waiting(asked)
    asked.api.patch("/api/v1/nodes/node-1", {"metadata": {"labels": {"disk": "hdd"}}})
    told = verdict(asked, "picky")
    assert told["verdict"] == DURABLE
    assert next(each for each in told["inputs"] if each["resource"] == "nodes")["behind"] == 1


def test_a_pod_that_has_a_node_has_no_verdict() -> None:
    asked = Asked()
    asked.create("web")
    asked.run(5)
    assert "verdict" not in explain(asked.sources, "default", "web")


def test_past_the_history_it_is_not_told_how_many_changes_there_were() -> None:
    asked = Asked()
    waiting(asked)
    asked.api.patch("/api/v1/nodes/node-1", {"metadata": {"labels": {"disk": "hdd"}}})
    floors = asked.api.journal.compact(asked.driver.now + 9999, {"": Retention(1.0, 0)}, 10_000)
    asked.api.store.handle(FloorsMoved(floors))
    age = age_of(asked.api.store, "nodes", 1, 0)
    assert age.behind is None
    assert age.newest > 1


def test_what_was_assumed_may_be_all_that_is_overtaken() -> None:
    fits = SchedulingAttempt(Key("pods", "default", "web"), "u", node="node-0")
    told = judge([InputAge("nodes", 9, 9, 0, 9)], fits)
    assert told.verdict == STALE
    assert "what had been assumed" in told.why
    assert codec.encode(told.as_json())
