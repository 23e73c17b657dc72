"""Worlds on an API that can do no more than Kubernetes: what holds there, and that it is judged."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from fairlead.port.capabilities import KUBERNETES
from fairlead.sim.checkers.roster import all_checkers
from fairlead.sim.run import Runner, run_seeds
from fairlead.sim.scenario import Scenario
from fairlead.sim.worlds import sched_kubernetes, two_seats
from tests.sim.artifacts import failed
from tests.sim.sampled import sampled

SOAK = bool(os.environ.get("FAIRLEAD_SOAK"))
SEEDS = range(50) if SOAK else range(2)


def test_no_node_gets_too_much_no_pod_two_nodes_and_one_leads() -> None:
    """All checkers run: capacity, bound-once, quota-kept, one-leader and the rest."""
    tally = sampled("sched-kubernetes", SEEDS)
    assert tally.probes["takeover mid-turn"] + tally.faults["request_late"] > 0


def two_seats_there() -> Scenario:
    """A small world in which leaders change often, without fences."""
    leadership = sched_kubernetes.scenario().leadership
    return replace(two_seats.scenario(), capabilities=KUBERNETES, leadership=leadership)


def test_a_leader_that_does_not_stop_before_its_lease_ends_is_found() -> None:
    """From where it was found when this was written; the same seed finds nothing without the plant."""
    sound = Runner(two_seats_there(), two_seats.FAULTS)
    runner = Runner(two_seats_there(), two_seats.FAULTS, plant="tests.sim.plants:never_stops")
    for seed in range(20, 120):
        failure = runner.run(seed).failure
        assert failed(sound, run_seeds(sound, [seed]), "two-seats-kubernetes") == []
        if failure is not None:
            assert failure.invariant in ("one-leader", "capacity", "bound-once"), failure
            return
    pytest.fail("no seed showed it")


def test_what_owners_leave_goes_or_is_set_free_and_nothing_else_does() -> None:
    """`no-orphan` and `collected-justly`; their plants are in `test_zoo.py`."""
    tally = sampled("garbage-kubernetes", SEEDS)
    assert tally.faults["request_late"] > 0


def test_custom_kinds_come_and_go_and_so_do_their_dependents() -> None:
    """Also of a kind that nobody may list for a while; its plant is in `test_zoo.py`."""
    tally = sampled("custom-kubernetes", SEEDS)
    assert tally.faults["list_lost"] > 0


def test_the_same_checkers_judge_both_apis() -> None:
    assert [each.name for each in all_checkers(True)] == [each.name for each in all_checkers(False)]
