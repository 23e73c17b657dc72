"""The quota of seeds that every `make test` runs in the standard world: none fails, and they meet what they must."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from fairlead.decision.effects import Finalize
from fairlead.sim.probes import timeout_after_commit
from fairlead.sim.run import Runner, run_seeds
from fairlead.sim.sample import shortfalls
from tests.sim.artifacts import failed
from tests.sim.quota import SAMPLE

# A dozen seconds of one core; `make soak` runs these and 20,000. So few seeds need not lose the answer to a Finalize that
# was committed: one in a hundred does. Small worlds must (`test_small.py`).
SEEDS = range(120) if os.environ.get("FAIRLEAD_SOAK") else range(98, 112)


@pytest.mark.timeout(1800)
def test_no_seed_of_the_sample_fails_and_it_meets_every_fault_and_probe(
    record_property: Callable[[str, object], None],
) -> None:
    runner = Runner()
    tally = run_seeds(runner, SEEDS)
    told = {
        "world": runner.scenario.name,
        "seeds": tally.seeds,
        "failures": len(tally.failures),
        "digest": tally.digest,
    }
    record_property(SAMPLE, told)
    assert failed(runner, tally, runner.scenario.name) == []
    missed = [each for each in shortfalls(tally, runner.faults) if timeout_after_commit(Finalize) not in each]
    assert not missed, "\n".join(missed)
