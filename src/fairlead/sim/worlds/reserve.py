"""`reserve`: `recovery` in small: replicas one by one, and a controller that dies at and after most of what it writes.

before   node-0 and node-1, kept for the class `recovery`; the override `room` lets four replicas of risk-api use it
3 s      risk-api is to have one replica; 13, 23 and 33 s: one more
50 s     it is to have one again
60 s     the last fault
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.sim.scenario import Scenario, ScenarioStep, create, patch
from fairlead.sim.worlds import recovery, small

FAULTS = replace(
    small.FAULTS,
    crash_at_write=0.02,
    crash_after_write=0.06,
    watch_lag=0.5,
    reply_lost=0.08,
    racing_write=0.0,
)
_KINDS = (
    "planesettings.fairlead.dev",
    "reservations.fairlead.dev",
    "scheduleroverrides.fairlead.dev",
    "schedulingpolicies.fairlead.dev",
)


def scenario() -> Scenario:
    whole = recovery.scenario()
    return replace(
        small.FRAME,
        name="reserve",
        standing=(
            *recovery.standing(2),
            create(0.4, *recovery.SETS, recovery.risk_api(0)),
            recovery.lend(0.5, recovery.REPLICAS),
        ),
        steps=(
            *(_replicas(3.0 + 10.0 * number, number + 1) for number in range(recovery.REPLICAS)),
            _replicas(50.0, 1),
        ),
        deciders=small.controllers(
            "replicaset", "reservation", "garbage-collector", "overrides", "override-capacity", "scheduling-policy",
            "plane-settings", kinds=_KINDS,
        ),
        # Shorter than a watch may lag: who takes over may not have been told yet.
        leadership=whole.leadership,
        allowed=whole.allowed,
        compared=whole.compared,
    )  # fmt: skip


def _replicas(at: float, count: int) -> ScenarioStep:
    return patch(at, *recovery.SETS, "risk-api", {"spec": {"replicas": count}})
