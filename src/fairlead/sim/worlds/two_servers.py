"""`two-servers`: one store and two API servers, one of which is behind; connections break, and are made to either.

What a mirror has seen by the one, the other may not know yet: neither a list nor a watch may bring it back there. A
plane that starts and knows nothing may begin with the older one, and acts on what was.

    before   node-0, and ReplicaSet web with its 2 pods
    6 s      it wants 4, and 1 four seconds later; and so every ten seconds, four times
    48 s     it is deleted, and made again half a second later, for 2
    60 s     the last fault
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.sim.faults import Faults
from fairlead.sim.scenario import Scenario, ScenarioStep, create, delete, patch
from fairlead.sim.worlds import small

FAULTS = Faults(
    older_server=0.4,
    watch_broken=0.05,
    watch_expired=0.01,
    reply_lost=0.02,
    crash_at_write=0.02,
    incident=0.15,
    incidents=(("plane_crash", 2), ("watches_cut", 3), ("plane_pause", 1)),
)
_TIMES = (6.0, 16.0, 26.0, 36.0)
_SETS = ("apps/v1", "replicasets")


def scenario() -> Scenario:
    return replace(
        small.FRAME,
        name="two-servers",
        standing=(small.node(), create(1.0, *_SETS, small.workload("ReplicaSet", "web", 2))),
        steps=(
            *(_scale(at + later, replicas) for at in _TIMES for later, replicas in ((0.0, 4), (4.0, 1))),
            delete(48.0, *_SETS, "web"),
            create(48.5, *_SETS, small.workload("ReplicaSet", "web", 2)),
        ),
        deciders=small.controllers("replicaset", "garbage-collector"),
    )


def _scale(at: float, replicas: int) -> ScenarioStep:
    return patch(at, *_SETS, "web", {"spec": {"replicas": replicas}})
