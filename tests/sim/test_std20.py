"""The quota of seeds that every `make test` runs in the standard world: none fails, and they meet what they must."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from fairlead.decision.effects import Finalize
from fairlead.sim.faults import DEFAULT
from fairlead.sim.generate.runner import runner_of
from fairlead.sim.probes import timeout_after_commit
from fairlead.sim.sample import shortfalls
from fairlead.sim.worlds.roster import STANDARD
from tests.sim.artifacts import failed
from tests.sim.quota import SAMPLE
from tests.sim.sampled import parted, tally_of

# A dozen seconds of one core; `make soak` runs these and 20,000. So few seeds need not lose the answer to a Finalize that
# was committed: one in a hundred does. Small worlds must (`test_small.py`).
SEEDS = range(120) if os.environ.get("FAIRLEAD_SOAK") else range(98, 112)


@pytest.mark.timeout(1800)
def test_no_seed_of_the_sample_fails_and_it_meets_every_fault_and_probe(
    record_property: Callable[[str, object], None],
) -> None:
    results = list(map(runner_of(STANDARD).run, SEEDS))
    tally = tally_of(results)
    told = {
        "world": STANDARD,
        "seeds": tally.seeds,
        "failures": len(tally.failures),
        "digest": tally.digest,
    }
    record_property(SAMPLE, told)
    assert failed(runner_of(STANDARD), tally, STANDARD) == []
    assert parted(STANDARD, results) == []
    missed = [each for each in shortfalls(tally, DEFAULT) if timeout_after_commit(Finalize) not in each]
    assert not missed, "\n".join(missed)
