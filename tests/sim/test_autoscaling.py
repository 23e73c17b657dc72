"""The worked example of amplification: six have room, and an autoscaler that counts missing replicas as demand."""

from __future__ import annotations

import pytest

from fairlead.model.views import DEPLOYMENTS
from fairlead.reconcile.autoscaling import blocked
from fairlead.sim.chance import Chance
from fairlead.sim.checkers import autoscaling as checkers
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.faults import CALM
from fairlead.sim.run import stand_up
from fairlead.sim.scenario import Scenario
from fairlead.sim.world import World
from fairlead.sim.worlds import autoscaling


class _Highest:
    """A checker that finds the highest number that was asked for."""

    name = "highest"

    def __init__(self) -> None:
        self.replicas = 0

    def saw(self, sight: SeenChange) -> None:
        if sight.key.resource == DEPLOYMENTS.name:
            self.replicas = max(self.replicas, sight.last.spec.replicas)

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Nothing more."""


def highest(scenario: Scenario) -> int:
    world = World(scenario, Chance(1), CALM, backup=stand_up(scenario), stop_seconds=99.0)
    onlooker = _Highest()
    world.observed.add(onlooker)
    run = world.run()
    assert run.violation is None
    return onlooker.replicas


@pytest.mark.parametrize(
    ("reacts", "amplification", "per_window", "wanted"),
    [
        (False, 2.0, 1000.0, 10),  # five, and as many again; six of them have room, and that is that
        (True, 2.0, 1000.0, 12),  # twice the six that have a node
        (True, 1000.0, 8.0, 24),  # eight times the three that there were when the window began
        (True, 1000.0, 1000.0, 40),  # what upstream does: each that waits brings more, up to maxReplicas
    ],
)
def test_replicas_that_wait_bring_more_only_where_somebody_asks_for_it(
    reacts: bool, amplification: float, per_window: float, wanted: int
) -> None:
    assert highest(autoscaling.scenario(reacts, amplification, per_window)) == wanted


def test_the_checker_and_the_controller_mean_the_same_annotation() -> None:
    assert checkers.REACT_TO_BLOCKED == blocked.REACT_TO_BLOCKED
