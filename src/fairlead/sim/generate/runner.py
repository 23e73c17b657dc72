"""Runs seeds of `small`: each in a world of its own, judged against that world's own run without faults.

    runner_of("small") -> Runner             what `fairlead sim run --world small` uses
    runner_of("std20", plant) -> Runner      of a world that is fixed

The run without faults is made after one with them has passed, by one plane and calm from the first second, and nobody
lays down an override in it: what one with overrides comes to once they have ended must be the same.
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.control.leadership import LeadershipSettings
from fairlead.sim.endstate import EndState
from fairlead.sim.generate.building import scenario_of
from fairlead.sim.generate.ingredients.control import without_overrides
from fairlead.sim.generate.swarm import all_faults
from fairlead.sim.generate.world import NAME, generate
from fairlead.sim.memory import Memory
from fairlead.sim.run import Runner
from fairlead.sim.scenario import Scenario
from fairlead.sim.worlds.roster import WORLDS

_SELDOM = LeadershipSettings(duration_seconds=100.0, renew_seconds=40.0, retry_seconds=30.0)


def world_names() -> tuple[str, ...]:
    """Of every world, the one that is drawn at the end."""
    return (*sorted(WORLDS), NAME)


class GeneratedRunner(Runner):
    """`faults` are all that a seed may draw; which it has is its world's."""

    def __init__(self, plant: str = "") -> None:
        super().__init__(scenario_of((), NAME), all_faults(), plant, memory=Memory(), calm_memory=Memory())

    def at(self, seed: int) -> Runner:
        made = generate(seed)
        memories = (self._memory, self._calm_memory)
        plant = self._plant or ""
        never = calm(without_overrides(made.scenario))
        return Runner(made.scenario, made.faults, plant, never, *memories, made.told)

    def wanted(self) -> EndState:
        """There is none for all seeds."""
        return {}


def runner_of(world: str, plant: str = "") -> Runner:
    if world == NAME:
        return GeneratedRunner(plant)
    scenario, faults = WORLDS[world]
    return Runner(scenario(), faults, plant)


def calm(scenario: Scenario) -> Scenario:
    """What comes to the same as soon as people have done what they do. A plane that leads alone need not say so every
    few seconds."""
    leadership = scenario.leadership if not scenario.capabilities.fencing else _SELDOM
    return replace(
        scenario, planes=1, older=None, faults_until_seconds=0.0, rest_seconds=0.0, leadership=leadership
    )
