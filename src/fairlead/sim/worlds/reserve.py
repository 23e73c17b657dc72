"""`reserve`: `recovery` in small: two replicas, and a controller that dies at and after most of what it writes.

before   node-0
3 s      replica-040 asks for room; 23 s: replica-041
50 s     replica-041 is deleted
60 s     the last fault
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.sim.scenario import Scenario, create, delete
from fairlead.sim.worlds import recovery, small

FAULTS = replace(
    small.FAULTS,
    crash_at_write=0.05,
    crash_after_write=0.15,
    watch_lag=0.5,
    reply_lost=0.08,
    racing_write=0.0,
)
_PODS = ("v1", "pods")


def scenario() -> Scenario:
    first, second = recovery.REPLICAS[:2]
    return Scenario(
        name="reserve",
        standing=(small.node(),),
        steps=(
            create(3.0, *_PODS, recovery.replica(first)),
            create(23.0, *_PODS, recovery.replica(second)),
            delete(50.0, *_PODS, second),
        ),
        hollow_prefix="node-",
        planes=2,
        faults_until_seconds=60.0,
        seconds_min=70.0,
        seconds_max=400.0,
        quiet_seconds=50.0,
        deciders=small.controllers("reservation", "garbage-collector", kinds=("reservations.fairlead.dev",)),
        controllers=(recovery.recovery_decider,),
        # Shorter than a watch may lag: who takes over may not have been told yet.
        leadership=recovery.scenario().leadership,
    )
