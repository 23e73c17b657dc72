"""Small worlds with an override: once it has ended, they come to what a world comes to that never had it."""

from __future__ import annotations

from itertools import islice

import pytest

from fairlead.core import codec
from fairlead.sim.generate.ingredients.control import OVERRIDES, without_overrides
from fairlead.sim.generate.runner import runner_of
from fairlead.sim.generate.world import generate
from fairlead.sim.scenario import Scenario
from tests.sim.sampled import sampled

FIRST = 6


def overridden(scenario: Scenario) -> bool:
    return any(step.request.plural == OVERRIDES for step in scenario.steps)


def test_after_its_end_all_is_as_if_it_had_never_been() -> None:
    drawn = (seed for seed in range(1000) if overridden(generate(seed).scenario))
    sampled("small", islice(drawn, FIRST))


def test_it_is_compared_with_a_world_that_never_had_it() -> None:
    scenario = generate(94).scenario
    assert overridden(scenario)
    assert not overridden(without_overrides(scenario))


@pytest.mark.parametrize("seed", [94, 396, 392])
def test_a_workload_that_stays_held_is_found(seed: int) -> None:
    found = runner_of("small", "tests.sim.plants:held_for_ever").run(seed).failure
    assert found is not None
    assert found.invariant == "ended-overrides-are-forgotten"


def changes(scenario: Scenario) -> set[str]:
    """What the overrides of a world change."""
    made = (step.request for step in scenario.steps if step.request.plural == OVERRIDES)
    return {
        change
        for request in made
        if request.verb == "create"
        for change in codec.decode(request.body)["spec"]["changes"]
    }


def test_places_are_closed_and_emptied_and_room_is_lent() -> None:
    """With what they are to bear on, in the seeds that have to meet it (`test_small.py`)."""
    drawn = [(seed, found) for seed in range(400) if (found := changes(generate(seed).scenario))]
    for change in ("cordon", "drain", "allowReservedCapacityClass"):
        assert sum(change in found for _, found in drawn) >= 5, change
    lent = next(seed for seed, found in drawn if "allowReservedCapacityClass" in found)
    plurals = {step.request.plural for step in generate(lent).scenario.steps}
    assert {"nodes", "schedulingpolicies", "planesettings", "deployments"} <= plurals


def test_a_drain_that_outlives_its_override_is_found() -> None:
    """`ends_with_the_object`, in worlds that are drawn."""
    drains = (seed for seed in range(3000) if "drain" in changes(generate(seed).scenario))
    runner = runner_of("small", "fairlead.sim.zoo.ends_with_the_object:plant")
    found = next(failure for seed in drains if (failure := runner.run(seed).failure) is not None)
    assert found.invariant in ("overrides-are-kept", "ended-overrides-are-forgotten")


def test_an_override_that_is_deleted_with_orphans_keeps_a_world_from_no_comparison() -> None:
    """It owns nothing: what is left of a workload that goes so depends on how much there was."""
    orphaned = [
        generate(seed).scenario
        for seed in range(1500)
        if any(
            step.action == "delete Orphan" and step.request.plural == OVERRIDES
            for step in generate(seed).scenario.steps
        )
    ]
    assert any(not scenario.contends for scenario in orphaned)
