"""`one-seat`: a node with room for one pod, and two pods that want it, while watches lag and answers are lost.

A placement that is not shown yet, or whose answer is lost, takes room all the same. One leader leads throughout, and
keeps what it assumed.

    before   node-0, of 32 cpu; ReplicaSet hog with its pod of 20 cpu; left and right wait with theirs
    6 s      hog wants none: left or right gets the seat. At 22 s they want none and hog 1, at 27 s they wait again, and
             so every 28 seconds, three times
    90 s     hog, left and right want none; left wants 1 at 94 s, after the last fault
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.control.leadership import LeadershipSettings
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, patch
from fairlead.sim.worlds import small

FAULTS = replace(
    small.FAULTS,
    request_late=0.0,
    reply_lost=0.4,
    request_slow=0.0,
    watch_lag=0.95,
    watch_broken=0.0,
    watch_expired=0.0,
    crash_at_write=0.0,
    crash_after_write=0.0,
    crash_mid_step=0.0,
    incident=0.0,
)
# A lease outlasts lost answers.
_LEADERSHIP = LeadershipSettings(duration_seconds=60.0, renew_seconds=5.0, retry_seconds=3.0)
_SETS = ("apps/v1", "replicasets")
_TIMES = (6.0, 34.0, 62.0)
_RIVALS = ("left", "right")
_COURSE = (
    (0.0, "hog", 0),
    *((16.0, name, 0) for name in _RIVALS),
    (16.0, "hog", 1),
    *((21.0, name, 1) for name in _RIVALS),
)


def scenario() -> Scenario:
    return replace(
        small.FRAME,
        name="one-seat",
        standing=(
            small.node(),
            create(1.0, *_SETS, _set("hog")),
            *(create(20.0, *_SETS, _set(name)) for name in _RIVALS),
        ),
        steps=(
            *(_scale(at + after, name, number) for at in _TIMES for after, name, number in _COURSE),
            *(_scale(90.0, name, 0) for name in ("hog", *_RIVALS)),
            _scale(94.0, "left", 1),
        ),
        faults_until_seconds=92.0,
        seconds_min=100.0,
        deciders=small.controllers("replicaset", "garbage-collector"),
        leadership=_LEADERSHIP,
    )


def _set(name: str) -> Json:
    made = small.workload("ReplicaSet", name, 1)
    made["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "20"}}
    return made


def _scale(at: float, name: str, replicas: int) -> ScenarioStep:
    return patch(at, *_SETS, name, {"spec": {"replicas": replicas}})
