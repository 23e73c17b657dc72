"""`seesaw`: one ReplicaSet that goes up and down, and is deleted and made again at once, while most calls meet a fault.

What was decided for the smaller number, or for the one of the same name before, is often still on its way when the next
is asked for.

    before   node-0, and ReplicaSet web with its 3 pods
    6 s      it wants 1, and 3 again a second and a half later; and so every six seconds
    35 s     it wants 4; half a second later it is deleted, and made again at the next moment, for 3
    45 s     it wants 1, and 2 at 46.5 s
    60 s     the last fault
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.sim.scenario import Scenario, ScenarioStep, create, delete, patch
from fairlead.sim.worlds import small

FAULTS = replace(small.FAULTS, request_late=0.06, request_slow=0.06, watch_expired=0.06)
_TIMES = (5.0, 11.0, 17.0, 23.0, 29.0)
_SETS = ("apps/v1", "replicasets")


def scenario() -> Scenario:
    return replace(
        small.FRAME,
        name="seesaw",
        standing=(small.node(), create(1.0, *_SETS, small.workload("ReplicaSet", "web", 3))),
        steps=_steps(),
        deciders=small.controllers("replicaset", "garbage-collector"),
    )


def _steps() -> tuple[ScenarioStep, ...]:
    return (
        *(_scale(at + later, replicas) for at in _TIMES for later, replicas in ((0.0, 1), (1.5, 3))),
        _scale(35.0, 4),
        delete(35.5, *_SETS, "web"),
        create(35.6, *_SETS, small.workload("ReplicaSet", "web", 3)),
        _scale(45.0, 1),
        _scale(46.5, 2),
    )


def _scale(at: float, replicas: int) -> ScenarioStep:
    return patch(at, *_SETS, "web", {"spec": {"replicas": replicas}})
