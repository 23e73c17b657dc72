"""The simulator's invariants on commits of a running plane."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core import codec
from fairlead.model.key import Key
from fairlead.sim.chance import Chance
from fairlead.sim.faults import CALM
from fairlead.sim.live import LiveMonitors, live_checkers
from fairlead.sim.parts import default_parts
from fairlead.sim.run import stand_up
from fairlead.sim.violation import Violation
from fairlead.sim.worlds.roster import WORLDS
from fairlead.store.contract import ADDED, DELETED, MODIFIED, CommittedChange, Entry
from tests.sim.footprints import WatchedWorld

Json = dict[str, Any]


def entry(resource: str, name: str, revision: int, body: Json) -> Entry:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": str(revision)}
    whole = {**body, "metadata": {**metadata, **body.get("metadata", {})}}
    return Entry(Key(resource, "default", name), f"uid-{name}", revision, codec.encode(whole))


class Plane:
    def __init__(self) -> None:
        self.monitors, self.revision = LiveMonitors(), 0
        self.there: dict[tuple[str, str], Entry] = {}

    def put(self, resource: str, name: str, body: Json, origin: str = "") -> list[str]:
        self.revision += 1
        before = self.there.get((resource, name))
        made = self.there[resource, name] = entry(resource, name, self.revision, body)
        change = CommittedChange(MODIFIED if before else ADDED, made, before)
        return told(self.monitors.saw(change, origin, 1.0))

    def remove(self, resource: str, name: str) -> list[str]:
        self.revision += 1
        before = self.there.pop((resource, name))
        gone = entry(resource, name, self.revision, codec.decode(before.data) | {"metadata": {}})
        return told(self.monitors.saw(CommittedChange(DELETED, gone, before), "", 1.0))


def told(found: list[Violation]) -> list[str]:
    return [each.invariant for each in found]


def pod(node: str = "", cpu: str = "1") -> Json:
    return {
        "spec": {"nodeName": node, "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}
    }


def test_a_pod_that_moves() -> None:
    plane = Plane()
    assert plane.put("pods", "web", pod("node-1")) == []
    assert plane.put("pods", "web", pod("node-2")) == ["bound-once"]


def test_a_generation_to_come() -> None:
    plane = Plane()
    ahead = {"metadata": {"generation": 1}, "status": {"observedGeneration": 9}}
    assert plane.put("deployments.apps", "web", {"metadata": {"generation": 1}}) == []
    assert plane.put("deployments.apps", "web", ahead) == ["observed-generation"]


def test_more_on_a_node_than_it_has_is_the_planes_fault_only_if_the_plane_put_it_there() -> None:
    plane, scheduler = Plane(), "scheduler of plane-one"
    plane.put("nodes", "node-1", {"status": {"allocatable": {"cpu": "2", "pods": "10"}}})
    assert plane.put("pods", "a", pod("node-1", "2"), scheduler) == []
    assert plane.put("pods", "by-hand", pod("node-1")) == []
    assert plane.put("pods", "b", pod("node-1"), scheduler) == ["capacity"]
    assert plane.remove("pods", "a") == []
    assert plane.put("pods", "c", pod("node-1"), scheduler) == ["capacity"]  # 3 of 2
    plane.remove("pods", "by-hand")
    plane.remove("pods", "b")
    assert plane.put("pods", "d", pod("node-1"), scheduler) == []


def test_one_address_for_two_goes_on_being_judged_rightly() -> None:
    plane = Plane()
    one = {"spec": {"clusterIP": "10.0.0.1"}}
    assert plane.put("services", "a", one) == []
    assert plane.put("services", "b", one) == ["one-address"]
    assert plane.remove("services", "b") == []
    assert plane.put("services", "c", {"spec": {"clusterIP": "10.0.0.2"}}) == []
    assert plane.remove("services", "a") == []
    assert plane.put("services", "d", one) == []


def test_what_there_is_blames_nobody_and_what_cannot_be_read_is_left_out() -> None:
    monitors = LiveMonitors()
    ahead = {"metadata": {"generation": 1}, "status": {"observedGeneration": 9}}
    monitors.learn([entry("deployments.apps", "web", 5, ahead)])
    broken = Entry(Key("pods", "default", "x"), "u", 6, b"{")
    assert monitors.saw(CommittedChange(ADDED, broken, None), "", 1.0) == []


def test_checkers_keep_no_more_than_there_is() -> None:
    plane = Plane()
    for number in range(20):
        plane.put("services", f"s-{number}", {"spec": {"clusterIP": f"10.0.0.{number}"}})
        spec = {"owner": {"kind": "Job", "name": "j", "uid": f"u-{number}"}, "intent": "x"}
        plane.put("reservations.fairlead.dev", f"r-{number}", {"spec": spec, "status": {"phase": "Active"}})
        plane.put("nodes", f"n-{number}", {"status": {"allocatable": {"cpu": "9"}}})
        plane.put("pods", f"p-{number}", pod(f"n-{number}"))
    for resource, name in list(plane.there):
        plane.remove(resource, name)
    for checker in plane.monitors._checkers:
        kept = {
            name: held
            for name, held in vars(checker).items()
            if isinstance(held, dict) and name != "_knobs" and held
        }
        assert kept == {}, checker.name


def test_every_checker_has_a_name_of_an_invariant() -> None:
    assert len({each.name for each in live_checkers()}) == len(live_checkers())


@pytest.mark.parametrize("world", ["rollouts", "autoscaling", "quota-repair", "recovery"])
def test_no_violation_is_seen_where_there_is_none(world: str) -> None:
    monitors, found = LiveMonitors(), list[Violation]()

    def look(changes: tuple[CommittedChange, ...], origins: dict[int, str]) -> None:
        for change in changes:
            found.extend(monitors.saw(change, origins.get(change.entry.revision, ""), 1.0))

    scenario = WORLDS[world][0]()
    backup = stand_up(scenario)
    monitors.learn(each.entry for each in backup.changes)
    parts = default_parts(*scenario.controllers, deciders=scenario.deciders)
    assert WatchedWorld(look, scenario, Chance(1), CALM, parts, backup=backup).run().violation is None
    assert found == []
