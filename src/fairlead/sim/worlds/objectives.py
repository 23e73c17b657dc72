"""`objectives`: a Deployment that some replicas of cannot run for a while, and what it is promised.

before   node-0, with room for three; ServiceLevelObjective web: 90 % within ten minutes
1 s      Deployment web wants 2
20 s     5 are wanted: two have no room, and are missed
60 s     3 are wanted: all are there
90 s     another node: 5 are wanted again, and are there
130 s    the last fault
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.sim.endstate import HISTORY, MADE
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, patch
from fairlead.sim.worlds import small

FAULTS = replace(small.FAULTS, request_late=0.02, incidents=(*small.FAULTS.incidents, ("server_crash", 1)))
_DEPLOYMENTS = ("apps/v1", "deployments")


def scenario() -> Scenario:
    return Scenario(
        name="objectives",
        standing=(
            small.node(name="node-0"),
            create(0.2, "fairlead.dev/v1", "servicelevelobjectives", _objective()),
            create(1.0, *_DEPLOYMENTS, _deployment()),
        ),
        steps=(
            _wanted(20.0, 5),
            _wanted(60.0, 3),
            small.node(90.0, "node-1"),
            _wanted(90.0, 5),
        ),
        hollow_prefix="node-",
        planes=2,
        faults_from_seconds=5.0,
        faults_until_seconds=130.0,
        seconds_min=160.0,
        seconds_max=900.0,
        quiet_seconds=40.0,
        deciders=small.controllers(
            "service-level",
            "deployment",
            "replicaset",
            "garbage-collector",
            "progress",
            kinds=("servicelevelobjectives.fairlead.dev",),
        ),
        leadership=small.LEADERSHIP,
        allowed=(HISTORY, MADE),
    )


def _wanted(at: float, replicas: int) -> ScenarioStep:
    return patch(at, *_DEPLOYMENTS, "web", {"spec": {"replicas": replicas}})


def _objective() -> Json:
    spec = {"target": {"kind": "Deployment", "name": "web"}, "objective": 90.0, "windowSeconds": 600}
    return {"kind": "ServiceLevelObjective", "metadata": {"name": "web"}, "spec": spec}


def _deployment() -> Json:
    made = small.workload("Deployment", "web", 2)
    made["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "10"}}
    return made
