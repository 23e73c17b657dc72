"""The quota of seeds that every `make test` runs in the standard world: none fails, and they meet what they must."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairlead.sim.run import Runner, run_seeds
from fairlead.sim.sample import again, shortfalls
from tests.sim.quota import SAMPLE

SEEDS = 120  # less than a minute of one core; `make soak` runs 20,000


@pytest.mark.timeout(900)
def test_no_seed_of_the_sample_fails_and_it_meets_every_fault_and_probe(
    record_property: Callable[[str, object], None],
) -> None:
    runner = Runner()
    tally = run_seeds(runner, range(SEEDS))
    told = {
        "world": runner.scenario.name,
        "seeds": tally.seeds,
        "failures": len(tally.failures),
        "digest": tally.digest,
    }
    record_property(SAMPLE, told)
    failed = [f"{each.invariant}: {each.message}\n  {again(each.seed)}" for each in tally.failures]
    assert not failed, "\n".join(failed)
    missed = shortfalls(tally, runner.faults)
    assert not missed, "\n".join(missed)
