"""What must change nothing changes nothing, in worlds of every kind; and what follows from a restart is found."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.ensure import ensure_gone
from fairlead.model.key import Key
from fairlead.model.views import PODS, REPLICASETS
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
