"""Nodes with agents and machines of their own: a sample of seeds, and each kind of mishap by itself."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from functools import cache

import pytest

from fairlead.model.marks import SUSPECT, UNREACHABLE
from fairlead.model.views import NODES, PODS
from fairlead.sim.chance import Chance
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.faults import CALM, DEFAULT
from fairlead.sim.incidents import nodes as node_incidents
from fairlead.sim.scenario import Mishap, Scenario
from fairlead.sim.world import World
from fairlead.sim.worlds import clocks, nodes
from tests.sim.sampled import sampled

SOAK = bool(os.environ.get("FAIRLEAD_SOAK"))
SEEDS = 1000 if SOAK else 2  # about two seconds each


@pytest.mark.timeout(3600)
def test_no_seed_of_the_sample_fails(capsys: pytest.CaptureFixture[str]) -> None:
    tally = sampled("nodes", range(SEEDS))
    with capsys.disabled():
        print(f"\nnodes: {tally.seeds} seeds, {len(tally.failures)} failures, digest {tally.digest}")


def test_every_kind_of_incident_is_drawn_in_this_world_or_in_that_of_clocks() -> None:
    known = set(re.findall(r"^(\w+)  +", node_incidents.__doc__ or "", re.MULTILINE))
    assert {"agent_crash", "node_lies"} <= known
    drawn = dict((*nodes.FAULTS.incidents, *clocks.FAULTS.incidents)).keys()
    assert known == drawn - {"plane_clock_set", *dict(DEFAULT.incidents)}


# One mishap, nothing else


class Marks:
    """What was made of nodes and pods, at any time."""

    name = "marks"

    def __init__(self) -> None:
        self.nodes: dict[str, set[str]] = {}
        self.released: set[str] = set()
        self.pods: set[str] = set()

    def saw(self, sight: SeenChange) -> None:
        if sight.after is None:
            return
        if sight.key.resource == NODES.name:
            taints = {str(each.get("key")) for each in sight.after.spec.taints} & {SUSPECT, UNREACHABLE}
            if taints:
                self.nodes.setdefault(sight.key.name, set()).update(taints)
        elif sight.key.resource == PODS.name and sight.after.released:
            self.released.add(sight.after.spec.node_name)
            self.pods.add(sight.key.name)

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """All is said."""


ONE = ("pay", "db")  # of these at most one may run


@cache
def calm() -> tuple[World, Marks]:
    """A run in which nothing befalls anybody."""
    return watched(nodes.scenario())


def where_one_runs() -> str:
    """A node with such a pod, whose supervisors accept deadlines."""
    world, _ = calm()
    without = world.scenario.without_deadlines
    found = [run for run in world.runs.runs if run.name.startswith("db") and run.node not in without]
    return found[0].node


def befallen(
    name: str, node: str, seconds: float, at: float = 30.0, scenario: Scenario | None = None
) -> tuple[World, Marks]:
    return watched(replace(scenario or nodes.scenario(), mishaps=(Mishap(at, name, node, seconds),)))


def watched(scenario: Scenario) -> tuple[World, Marks]:
    world = World(scenario, Chance(0), CALM)
    marks = Marks()
    world.observed.add(marks)
    run = world.run()
    assert run.violation is None, run.violation
    return world, marks


def ended(world: World, node: str, since: float, until: float, of: tuple[str, ...] = ("",)) -> int:
    """Runs on this node that ended between these seconds, but for the Job's, which do so by themselves."""
    return sum(
        since * 1000 <= (run.until_ms or 0) <= until * 1000
        for run in world.runs.runs
        if run.node == node and run.name.startswith(of) and not run.name.startswith("batch")
    )


def test_nothing_happens_to_anybody_in_a_calm_run() -> None:
    world, marks = calm()
    assert (marks.nodes, marks.released) == ({}, set())
    assert all(run.attempt == 0 for run in world.runs.runs)


def test_a_late_heartbeat_closes_a_node_and_nothing_more() -> None:
    world, marks = befallen("agent_cut", "node-a1", 8.0)
    assert marks.nodes == {"node-a1": {SUSPECT}}
    assert marks.released == set()
    assert ended(world, "node-a1", 30, 48) == 0


def test_a_node_that_stays_silent_is_given_up_and_ends_only_that_of_which_at_most_one_may_run() -> None:
    node = where_one_runs()
    world, marks = befallen("agent_cut", node, 60.0)
    assert marks.nodes == {node: {SUSPECT, UNREACHABLE}}
    assert marks.released == {node}
    assert ended(world, node, 30, 50, ONE) > 0
    assert ended(world, node, 30, 50) == ended(world, node, 30, 50, ONE)


def test_an_agent_that_dies_takes_no_process_along() -> None:
    world, marks = befallen("agent_crash", "node-a1", 0.0)
    assert marks.released == set()
    assert ended(world, "node-a1", 25, 45) == 0


def test_where_an_agent_is_stopped_for_longer_than_its_lease_supervisors_keep_their_deadlines() -> None:
    node = where_one_runs()
    world, marks = befallen("agent_pause", node, 40.0)
    assert ended(world, node, 30, 50, ONE) > 0
    assert ended(world, node, 30, 50) == ended(world, node, 30, 50, ONE)
    assert node in marks.nodes


def test_a_node_that_hears_nothing_keeps_its_marks_off_but_not_its_processes() -> None:
    """What it says arrives: nobody takes it for silent. But it cannot know that, and stops in time."""
    node = where_one_runs()
    world, _ = befallen("agent_deaf", node, 40.0)
    assert ended(world, node, 30, 52, ONE) > 0


def test_a_control_plane_that_is_away_ends_nothing_but_that_of_which_at_most_one_may_run() -> None:
    world, marks = befallen("plane_away", "node-a1", 60.0)
    assert marks.released == set()
    assert sum(ended(world, node, 30, 95, ONE) for node in nodes.NODES) > 0
    for node in nodes.NODES:
        assert ended(world, node, 30, 49) == ended(world, node, 30, 49, ONE)


def test_supervisors_that_accept_no_deadline_keep_the_pod_from_being_released() -> None:
    node = where_one_runs()
    scenario = replace(nodes.scenario(), without_deadlines=(node,))
    world, marks = befallen("agent_cut", node, 60.0, scenario=scenario)
    assert marks.nodes == {node: {SUSPECT, UNREACHABLE}}
    assert ended(world, node, 30, 85, ONE) == 0
    assert not {name for name in marks.pods if name.startswith(ONE)}


def test_a_whole_zone_that_falls_silent_is_given_up_by_nobody() -> None:
    _, marks = befallen("zone_cut", "node-a1", 60.0)
    assert marks.nodes.keys() == {"node-a1", "node-a2"}
    assert marks.released == set()


@pytest.mark.parametrize("name", ["monitor_cut", "heartbeats_unheard"])
def test_a_monitor_that_is_cut_off_itself_marks_and_releases_nobody(name: str) -> None:
    world, marks = befallen(name, "node-a1", 60.0)
    assert (marks.nodes, marks.released) == ({}, set())
    assert sum(ended(world, node, 30, 49) for node in nodes.NODES) == 0


def test_a_machine_that_loses_power_begins_again_with_new_attempts() -> None:
    world, _ = befallen("power_loss", "node-a1", 5.0)
    before = {run.uid for run in world.runs.runs if run.node == "node-a1" and run.since_ms < 30_000}
    after = [run for run in world.runs.runs if run.node == "node-a1" and 30_000 < run.since_ms < 50_000]
    assert {run.uid for run in after} & before
    assert all(run.attempt == 1 for run in after if run.uid in before)


def test_an_unknown_mishap_is_wrong() -> None:
    world = World(replace(nodes.scenario(), mishaps=(Mishap(1.0, "earthquake", "node-a1"),)), Chance(0), CALM)
    broken = world.run().violation
    assert broken is not None
    assert "earthquake" in broken.message
