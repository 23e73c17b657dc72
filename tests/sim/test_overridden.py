"""Small worlds with an override: once it has ended, they come to what a world comes to that never had it."""

from __future__ import annotations

from itertools import islice

import pytest

from fairlead.sim.generate.ingredients.control import OVERRIDES, without_overrides
from fairlead.sim.generate.runner import runner_of
from fairlead.sim.generate.world import generate
from fairlead.sim.scenario import Scenario

FIRST = 6


def overridden(scenario: Scenario) -> bool:
    return any(step.request.plural == OVERRIDES for step in scenario.steps)


def test_after_its_end_all_is_as_if_it_had_never_been() -> None:
    drawn = (seed for seed in range(1000) if overridden(generate(seed).scenario))
    runner = runner_of("small")
    failed = [(seed, found.failure) for seed in islice(drawn, FIRST) if (found := runner.run(seed)).failure]
    assert failed == []


def test_it_is_compared_with_a_world_that_never_had_it() -> None:
    scenario = generate(94).scenario
    assert overridden(scenario)
    assert not overridden(without_overrides(scenario))


@pytest.mark.parametrize("seed", [94, 396, 392])
def test_a_workload_that_stays_held_is_found(seed: int) -> None:
    found = runner_of("small", "tests.sim.plants:held_for_ever").run(seed).failure
    assert found is not None
    assert found.invariant in ("overrides-are-kept", "templates-reach-pods", "ends-as-without-faults")
