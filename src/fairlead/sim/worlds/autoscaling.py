"""`autoscaling`: a Deployment that follows a demand up and down, on nodes that have room for six of its pods.

The autoscaler follows three metrics: the CPU of a load that all ready pods carry together, for which three are enough;
a demand, ten for each replica; and, at first, how many replicas are missing, which grows as replicas wait: whoever took
that for demand would ask for more and more of them.

    before   node-0 and node-1, each with room for three; ConfigMap demand: 20; HorizontalPodAutoscaler web: 2 to 40
    1 s      Deployment web wants 2
    10 s     demand 50
    40 s     demand 110: no more than six have room, the others wait
    100 s    maxReplicas 8, and the missing are followed no more; demand 30
    190 s    a quota of five pods
    200 s    demand 110, and at 215 s 30 again: what was added stays for a minute
    240 s    the last fault
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.model.marks import HOLLOW_LOAD
from fairlead.model.policy import plane_knobs
from fairlead.sim.checkers.autoscaling import REACT_TO_BLOCKED
from fairlead.sim.endstate import HISTORY, MADE
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, patch
from fairlead.sim.worlds import small

FAULTS = replace(small.FAULTS, request_late=0.02, incidents=(*small.FAULTS.incidents, ("server_crash", 1)))
_AUTOSCALERS = ("autoscaling/v2", "horizontalpodautoscalers")
_DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def scenario(reacts: bool = False, amplification: float = 2.0, per_window: float = 5.0) -> Scenario:
    """`reacts`: replicas that wait count as a reason to add more, up to so many times those that have a node, and
    `per_window` times those of a window ago."""
    return Scenario(
        name="autoscaling",
        standing=(
            small.node(name="node-0"),
            small.node(name="node-1"),
            create(0.2, "fairlead.dev/v1", "planesettings", _settings(amplification, per_window), ""),
            create(0.2, "v1", "configmaps", _demand(20)),
            create(0.2, *_AUTOSCALERS, _autoscaler(reacts)),
            create(1.0, "apps/v1", "deployments", _deployment()),
        ),
        steps=(
            _changed(10.0, 50),
            _changed(40.0, 110),
            patch(100.0, *_AUTOSCALERS, "web", {"spec": {"maxReplicas": 8, "metrics": _metrics()[:2]}}),
            _changed(100.0, 30),
            create(190.0, "v1", "resourcequotas", _quota()),
            _changed(200.0, 110),
            _changed(215.0, 30),
        ),
        hollow_prefix="node-",
        planes=2,
        faults_from_seconds=5.0,
        faults_until_seconds=240.0,
        seconds_min=330.0,
        seconds_max=1500.0,
        quiet_seconds=100.0,  # longer than the window of stabilization
        deciders=small.controllers(
            "autoscaler",
            "deployment",
            "replicaset",
            "garbage-collector",
            "plane-settings",
            "progress",
            "resource-quota",
            kinds=(
                "horizontalpodautoscalers.autoscaling",
                "configmaps",
                "resourcequotas",
                "planesettings.fairlead.dev",
            ),
        ),
        leadership=small.LEADERSHIP,
        # How far the number rises on the way depends on when the autoscaler looks.
        allowed=(HISTORY, MADE),
    )


def _settings(amplification: float, per_window: float) -> Json:
    numbers = {
        "syncSeconds": 7.0,
        "downscaleStabilizationSeconds": 60.0,
        "amplificationMax": amplification,
        "amplificationPerWindowMax": per_window,
    }
    spec = {"autoscaling": numbers}
    return {"kind": "PlaneSettings", "metadata": {"name": plane_knobs.NAME}, "spec": spec}


def _demand(value: int) -> Json:
    metadata = {"name": "demand", "labels": {"metrics.fairlead.dev/external": "demand"}}
    return {"kind": "ConfigMap", "metadata": metadata, "data": {"value": str(value)}}


def _changed(at: float, value: int) -> ScenarioStep:
    return patch(at, "v1", "configmaps", "demand", {"data": {"value": str(value)}})


def _metrics() -> list[Json]:
    used: Json = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
    demand: Json = {"metric": {"name": "demand"}, "target": {"type": "AverageValue", "averageValue": "10"}}
    missing: Json = {
        "metric": {"name": "unavailableReplicas"},
        "describedObject": _DEPLOYMENT,
        "target": {"type": "Value", "value": "1"},
    }
    return [
        {"type": "Resource", "resource": used},
        {"type": "External", "external": demand},
        {"type": "Object", "object": missing},
    ]


def _autoscaler(reacts: bool) -> Json:
    metadata: Json = {"name": "web"}
    if reacts:
        metadata["annotations"] = {REACT_TO_BLOCKED: "true"}
    spec = {"scaleTargetRef": _DEPLOYMENT, "minReplicas": 2, "maxReplicas": 40, "metrics": _metrics()}
    return {"kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": spec}


def _deployment() -> Json:
    made = small.workload("Deployment", "web", 2)
    made["spec"]["template"]["metadata"]["annotations"] = {HOLLOW_LOAD: "cpu=15"}
    made["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "10"}}
    return made


def _quota() -> Json:
    return {"kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": {"hard": {"pods": "5"}}}
