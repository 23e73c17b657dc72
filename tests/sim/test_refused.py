"""Pods that are refused, for longer than any fault lasts: a few seeds; the plants of this world are in `test_zoo.py`."""

from __future__ import annotations

from fairlead.sim.run import Runner, run_seeds
from fairlead.sim.worlds import refused
from tests.sim.artifacts import failed


def test_what_was_refused_is_made_when_it_may_be_and_what_there_is_is_told() -> None:
    runner = Runner(refused.scenario(), refused.FAULTS)
    assert failed(runner, run_seeds(runner, range(3)), "refused") == []
