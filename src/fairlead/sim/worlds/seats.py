"""`seats`: two nodes with room for one pod each, and pods that come one after the other while watches lag.

A placement that is not shown yet, or whose answer is lost, takes room all the same. One leader leads throughout: what
it assumed is lost on nobody.

    before   node-0 and node-1, of 32 cpu; ReplicaSets left and right, of pods of 20 cpu, that want none
    4 s      left wants 1; 4 s later right does; then neither; and so every twelve seconds, five times
    60 s     both want 1; 66 s: the last fault
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.control.leadership import LeadershipSettings
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, patch
from fairlead.sim.worlds import small

FAULTS = replace(
    small.FAULTS,
    reply_lost=0.15,
    request_slow=0.1,
    watch_lag=0.5,
    crash_at_write=0.0,
    crash_after_write=0.0,
    crash_mid_step=0.0,
    incident=0.0,
)
_LEADERSHIP = LeadershipSettings(duration_seconds=40.0, renew_seconds=5.0, retry_seconds=3.0)
_SETS = ("apps/v1", "replicasets")
_TIMES = tuple(4.0 + 12.0 * number for number in range(5))
_COURSE = ((0.0, "left", 1), (4.0, "right", 1), (8.0, "left", 0), (8.0, "right", 0))


def scenario() -> Scenario:
    return Scenario(
        name="seats",
        standing=(
            *(small.node(name=f"node-{number}") for number in range(2)),
            *(create(1.0, *_SETS, _set(name)) for name in ("left", "right")),
        ),
        steps=(
            *(_scale(at + later, name, replicas) for at in _TIMES for later, name, replicas in _COURSE),
            *(_scale(60.0, name, 1) for name in ("left", "right")),
        ),
        hollow_prefix="node-",
        planes=2,
        faults_until_seconds=66.0,
        seconds_min=70.0,
        seconds_max=400.0,
        quiet_seconds=50.0,
        deciders=small.controllers("replicaset", "garbage-collector"),
        leadership=_LEADERSHIP,
    )


def _set(name: str) -> Json:
    made = small.workload("ReplicaSet", name, 0)
    made["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "20"}}
    return made


def _scale(at: float, name: str, replicas: int) -> ScenarioStep:
    return patch(at, *_SETS, name, {"spec": {"replicas": replicas}})
