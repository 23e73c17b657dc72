"""What must change nothing changes nothing, in worlds of every kind; and what follows from a restart is found."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import count, islice

import pytest
from msgspec import structs

from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.ensure import ensure_gone
from fairlead.model.key import Key
from fairlead.model.views import PODS, REPLICASETS
from fairlead.sim.generate.world import generate
from fairlead.sim.parts import Parts
from fairlead.sim.worlds import bit_rot, lost_log
from fairlead.sim.worlds.roster import WORLDS
from fairlead.sim.zoo.wrapping import deciding
from tests.sim import metamorphic


@pytest.mark.parametrize(
    "world",
    [
        pytest.param("rollouts", marks=pytest.mark.soak),
        "fraud-batch",
        "garbage-kubernetes",
        pytest.param("quota-repair", marks=pytest.mark.soak),
        "together",
    ],
)
def test_order_of_lists_double_delivery_and_restarts_change_nothing(world: str) -> None:
    assert set(metamorphic.differences(WORLDS[world][0]()).values()) == {""}


# So many of the first seeds of `small`: those whose end is not chance's, and whose planes all know the same.
SMALL = 1000 if os.environ.get("FAIRLEAD_SOAK") else 25


@pytest.mark.timeout(1800)
def test_nor_do_they_in_small_worlds() -> None:
    made = ((seed, generate(seed).scenario) for seed in count())
    sound = ((seed, each) for seed, each in made if not each.contends and each.older is None)
    told = {seed: metamorphic.differences(each) for seed, each in islice(sound, SMALL)}
    assert {seed: found for seed, found in told.items() if any(found.values())} == {}


def _eager(parts: Parts) -> Parts:
    """A plane whose first look at a set, since it started, takes a pod away."""
    deciders = parts["deciders"]

    def spoilt(inner: Decider) -> Decider:
        known: set[Key] = set()

        @deciding
        def decide(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
            decision = inner.decide(view, key, now)
            found = view.get(REPLICASETS, key.namespace, key.name)
            if found is None or key in known or decision.effects:
                return decision
            known.add(key)
            pods = view.owned(PODS, found.metadata.uid)
            gone = ensure_gone(inner.name, found.metadata, PODS, pods[0]) if pods else None
            return structs.replace(decision, effects=(gone,) if gone is not None else ())

        return decide(inner)

    made = lambda: tuple(spoilt(each) if each.name == "replicaset" else each for each in deciders())  # noqa: E731
    return {**parts, "deciders": made}


def test_what_follows_from_a_restart_is_found() -> None:
    scenario = replace(lost_log.scenario(), disk_mishaps=(), allowed=(), leadership=bit_rot.LEADERSHIP)
    assert set(metamorphic.differences(scenario).values()) == {""}
    found = metamorphic.differences(scenario, _eager)
    assert "web" in found["restarts"]
