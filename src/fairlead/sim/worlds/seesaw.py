"""`seesaw`: one ReplicaSet that goes up and down, and is deleted and made again at once, while most calls meet a fault.

What was decided for the smaller number, or for the one of the same name before, is often still on its way when the next
is asked for.

0 s     node-0
3 s     ReplicaSet web wants 3
12 s    it wants 1, and 3 again two seconds later
24 s    it wants 4; half a second later it is deleted, and made again at the next moment, for 3
36 s    it wants 1, and 2 at 38 s
60 s    the last fault
"""

from __future__ import annotations

from fairlead.sim.scenario import Scenario, ScenarioStep, create, delete, patch
from fairlead.sim.worlds import small

FAULTS = small.FAULTS
_SETS = ("apps/v1", "replicasets")


def scenario() -> Scenario:
    return Scenario(
        name="seesaw",
        steps=_steps(),
        hollow_prefix="node-",
        planes=2,
        faults_until_seconds=60.0,
        seconds_min=70.0,
        seconds_max=400.0,
        quiet_seconds=50.0,
        deciders=small.controllers("replicaset", "garbage-collector"),
        leadership=small.LEADERSHIP,
    )


def _steps() -> tuple[ScenarioStep, ...]:
    return (
        small.node(),
        create(3.0, *_SETS, small.workload("ReplicaSet", "web", 3)),
        _scale(12.0, 1),
        _scale(14.0, 3),
        _scale(24.0, 4),
        delete(24.5, *_SETS, "web"),
        create(24.6, *_SETS, small.workload("ReplicaSet", "web", 3)),
        _scale(36.0, 1),
        _scale(38.0, 2),
    )


def _scale(at: float, replicas: int) -> ScenarioStep:
    return patch(at, *_SETS, "web", {"spec": {"replicas": replicas}})
