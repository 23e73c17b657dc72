"""Wall clocks that are set while everything runs: a sample of seeds, and what was seen on a running plane."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

from fairlead.model.marks import UNREACHABLE
from fairlead.model.views import JOBS, NODES
from fairlead.reconcile.job.cronjob import SCHEDULED_AT
from fairlead.sim.chance import Chance
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.faults import CALM
from fairlead.sim.parts import default_parts
from fairlead.sim.scenario import Mishap
from fairlead.sim.world import World
from fairlead.sim.worlds import clocks
from fairlead.sim.zoo import judged_by_wall_clock
from tests.sim.sampled import sampled

SOAK = bool(os.environ.get("FAIRLEAD_SOAK"))
SEEDS = 500 if SOAK else 2


class Noticed:
    """Whether a node was ever marked, and the instants that were run, in their order."""

    name = "noticed"

    def __init__(self) -> None:
        self.unreachable: set[str] = set()
        self.ran: list[str] = []

    def saw(self, sight: SeenChange) -> None:
        if sight.after is None:
            return
        if sight.key.resource == NODES.name:
            keys = {str(each.get("key")) for each in sight.after.spec.taints}
            self.unreachable |= {sight.key.name} if UNREACHABLE in keys else set()
        elif sight.key.resource == JOBS.name and sight.before is None:
            self.ran.append(sight.after.metadata.annotations[SCHEDULED_AT][11:16])

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Only looks on."""


@pytest.mark.timeout(3600)
def test_no_seed_of_the_sample_fails() -> None:
    sampled("clocks", range(SEEDS))


def everywhere(ahead_seconds: float, plant: bool = False) -> tuple[World, Noticed]:
    """All wall clocks are set after 100 s, and 20 s later a machine loses its power for a minute."""
    parts = default_parts(*clocks.scenario().controllers)
    mishap = Mishap(120.0, "power_loss", "node-a1", seconds=60.0)
    world = World(
        replace(clocks.scenario(), mishaps=(mishap,)),
        Chance(0),
        CALM,
        judged_by_wall_clock.plant(parts) if plant else parts,
    )
    noticed = Noticed()
    world.observed.add(noticed)
    for plane in world.planes:
        world.timeline.at(100_000, plane.set_wall_clock, ahead_seconds)
    for agent in world.agents:
        world.timeline.at(100_000, agent.set_wall_clock, ahead_seconds)
    return world, noticed


@pytest.mark.parametrize("ahead", [3600.0, -3600.0])
def test_a_machine_that_dies_after_the_step_is_noticed_and_no_other(ahead: float) -> None:
    world, noticed = everywhere(ahead)
    assert world.run().violation is None
    assert noticed.unreachable == {"node-a1"}


def test_instants_follow_the_wall_clock_and_are_not_run_twice() -> None:
    world, noticed = everywhere(3600.0)
    world.run()
    assert noticed.ran == ["08:01", "09:01", "09:02", "09:03", "09:04"]
    world, noticed = everywhere(-3600.0)
    world.run()
    assert noticed.ran == ["08:01"]


@pytest.mark.parametrize(
    ("ahead", "reason", "words"),
    [
        (3600.0, "MissSchedule", "Missed 59 scheduled times to start a job"),
        (-3600.0, "ClockSetBack", "has had its turn, and is not run twice"),
    ],
)
def test_what_does_not_run_because_of_a_step_is_told(ahead: float, reason: str, words: str) -> None:
    world, _ = everywhere(ahead)
    world.run()
    told = [json.loads(each.data) for each in world.server.store.list("events", "default")]
    messages = [each.get("message") or each.get("note") for each in told if each["reason"] == reason]
    assert [each for each in messages if words in each], told


def test_by_the_wall_clock_the_plane_would_have_been_without_a_leader() -> None:
    world, noticed = everywhere(-3600.0, plant=True)
    assert world.run().violation is not None
    assert noticed.unreachable == set()
