"""`raised`: replicas that wait behind more important ones, and an override that places them before those for a while.

before        node-0 of 32 cpu; ReplicaSet batch, 3 pods of 10 cpu, priority 100; web, 2 such with none, waits
6, 46, 86 s   for 20 s an override gives one pod of web at a time priority 1000: one of batch has to go
then          it has ended, and people lose the pods of web again and again: none may push anybody out any more
130 s         `last` does so for 200 s, and is ended at 145 s: the one of batch has its place again
150 s         the last fault
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.sim.endstate import HISTORY, MADE
from fairlead.sim.scenario import Json, Pick, Scenario, ScenarioStep, create, delete
from fairlead.sim.worlds import small

FAULTS = replace(
    small.FAULTS, request_late=0.05, watch_lag=0.03, incident=0.03, list_lost=0.01, clock_skew=0.8
)
_LASTS_SECONDS = 20.0
_OVERRIDES = ("fairlead.dev/v1", "scheduleroverrides")
KINDS = (
    "scheduleroverrides.fairlead.dev",
    "reservations.fairlead.dev",
    "planesettings.fairlead.dev",
    "schedulingpolicies.fairlead.dev",
    "poddisruptionbudgets.policy",
    "placementquotas.fairlead.dev",
)


def scenario() -> Scenario:
    return Scenario(
        name="raised",
        standing=(
            small.node(),
            create(0.1, "scheduling.k8s.io/v1", "priorityclasses", _class("batch", 100), ""),
            create(0.1, "scheduling.k8s.io/v1", "priorityclasses", _class("urgent", 1000), ""),
            create(1.0, "apps/v1", "replicasets", _set("batch", 3, "batch")),
            create(3.0, "apps/v1", "replicasets", _set("web", 2, "")),
        ),
        steps=(
            *_while(6.0, "first"),
            *_while(46.0, "second"),
            *_while(86.0, "third"),
            _override(130.0, "last", "200s"),
            delete(145.0, *_OVERRIDES, "last"),
        ),
        hollow_prefix="node-",
        planes=2,
        faults_until_seconds=150.0,
        seconds_min=190.0,
        seconds_max=900.0,
        quiet_seconds=190.0,  # as in `sched`: marks of evictions that did not come
        deciders=small.controllers(
            "replicaset", "garbage-collector", "overrides", "stale-disruption", kinds=KINDS
        ),
        leadership=small.LEADERSHIP,
        allowed=(HISTORY, MADE),  # who is pushed out for whom, and how often, follows from when each is seen
    )


def _class(name: str, value: int) -> Json:
    return {"kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def _set(name: str, replicas: int, priority_class: str) -> Json:
    made = small.workload("ReplicaSet", name, replicas)
    pod = made["spec"]["template"]["spec"]
    pod["containers"][0]["resources"] = {"requests": {"cpu": "10"}}
    if priority_class:
        pod["priorityClassName"] = priority_class
    return made


def _while(at: float, name: str) -> tuple[ScenarioStep, ...]:
    """While it holds once, and after its end as long as a clock may be behind."""
    losses = (_lose(at + _LASTS_SECONDS + after) for after in (-10.0, 1.0, 4.0, 7.0, 10.0, 14.0))
    return (_override(at, name, f"{_LASTS_SECONDS:.0f}s"), *losses)


def _override(at: float, name: str, lasts: str) -> ScenarioStep:
    changes: Json = {"priorityClassName": "urgent", "priorityReplicas": 1}
    spec: Json = {"target": "replicaset/web", "reason": "a drill", "expiresAfter": lasts, "changes": changes}
    return create(at, *_OVERRIDES, {"kind": "SchedulerOverride", "metadata": {"name": name}, "spec": spec})


def _lose(at: float) -> ScenarioStep:
    """Pods of web are deleted by people, and made again."""
    return replace(delete(at, "v1", "pods", ""), pick=Pick("pods", "default", (("app", "web"),), most=2))
