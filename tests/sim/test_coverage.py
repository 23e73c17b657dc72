"""What small worlds need not meet is met where it is said to be."""

from __future__ import annotations

from functools import cache

import pytest

from fairlead.sim.generate.runner import runner_of
from fairlead.sim.run import RunTally, run_seeds
from tests.sim import coverage


@cache
def tally(world: str, seeds: int) -> RunTally:
    return run_seeds(runner_of(world), range(seeds))


@pytest.mark.parametrize("probe", coverage.ELSEWHERE)
def test_a_probe_is_met_in_the_world_that_is_named_for_it(probe: str) -> None:
    world, seeds, at_least = coverage.ELSEWHERE[probe]
    found = tally(world, seeds)
    assert found.probes.get(probe, 0) + found.faults.get(probe, 0) >= at_least
