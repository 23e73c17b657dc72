"""`overrides`: one Deployment that people hold back, drain and let use more, while it is scaled and rolled out.

before   node-0 in zone a, node-1 in zone b, node-2 in zone b, kept for class `recovery`; web with 3 pods of 6 cpu
4 s      `first` pauses its expansion and keeps what is new out of zone a; 5 s: web is to have 4 pods
9 s      `second` pauses its expansion until 130 s; 30 s: two pods are deleted; 40 s: `first` is ended
45 s     `drain` empties zone a until 130 s; 72 s: a pod is deleted
50 s     `shift` keeps the traffic of web's Service out of zone a until 140 s
135 s    `rollout` pauses its rollouts until 225 s; 160 s: web:2, which begins when that is over
240 s    `room` lets one pod use class `recovery` for 60 s; web is to have 13 pods, for which there is no room
270 s    web is to have none, and 6 s later 4 pods again: nothing is left in the class
280 s    the last fault
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.model.marks import ZONE
from fairlead.sim.endstate import HISTORY, MADE
from fairlead.sim.scenario import Json, Pick, Scenario, ScenarioStep, create, delete, patch
from fairlead.sim.worlds import raised, small

FAULTS = replace(small.FAULTS, request_late=0.01, incidents=(*small.FAULTS.incidents, ("server_crash", 1)))
_DEPLOYMENTS = ("apps/v1", "deployments")
_OVERRIDES = ("fairlead.dev/v1", "scheduleroverrides")
_KINDS = (*raised.KINDS, "services", "endpointslices.discovery.k8s.io")


def scenario() -> Scenario:
    return replace(
        small.FRAME,
        name="overrides",
        standing=(
            _node("node-0", "a"),
            _node("node-1", "b"),
            _node("node-2", "b", tier="recovery"),
            create(0.2, "fairlead.dev/v1", "schedulingpolicies", _classes(), ""),
            create(0.3, "fairlead.dev/v1", "planesettings", _settings(), ""),
            create(1.0, *_DEPLOYMENTS, _web(3)),
            create(1.1, "v1", "services", _service()),
        ),
        steps=(
            _override(4.0, "first", "deployment/web", "5m", pauseExpansion=True, avoidZones=["a"]),
            _replicas(5.0, 4),
            _override(9.0, "second", "workload/web", "121s", pauseExpansion=True),
            _lose(30.0, 2),
            delete(40.0, *_OVERRIDES, "first"),
            _override(45.0, "drain", "zone/a", "85s", "kube-system", drain=True),
            _override(50.0, "shift", "deployment/web", "90s", trafficWeights=[{"zone": "a", "weight": 0}]),
            _lose(72.0, 1),
            _override(135.0, "rollout", "namespace/default", "90s", pauseRollout=True),
            patch(160.0, *_DEPLOYMENTS, "web", {"spec": {"template": _template("web:2")}}),
            _override(
                240.0, "room", "deployment/web", "60s", allowReservedCapacityClass="recovery", reservedReplicas=1
            ),
            _replicas(240.5, 13),
            _replicas(270.0, 0),
            _replicas(276.0, 4),
        ),
        faults_until_seconds=280.0,
        seconds_min=310.0,
        seconds_max=900.0,
        deciders=small.controllers(
            "deployment", "replicaset", "garbage-collector", "progress", "overrides", "override-drain",
            "override-capacity", "endpoint-slices", "reservation", "scheduling-policy", "plane-settings", kinds=_KINDS,
        ),
        # How long what is made lasts before it is held, drained or has room follows from when each is seen.
        allowed=(HISTORY, MADE),
        compared=_but_for_reservations,
    )  # fmt: skip


def _but_for_reservations(ending: dict[str, str]) -> dict[str, str]:
    """One that was used goes with its pod, one that was not stays for a while to be looked at."""
    return {name: line for name, line in ending.items() if not name.startswith("reservations.")}


def _node(name: str, zone: str, **labels: str) -> ScenarioStep:
    made = {"kind": "Node", "metadata": {"name": name, "labels": {ZONE: zone, **labels}}}
    return create(0.1, "v1", "nodes", made, "")


def _classes() -> Json:
    recovery = {"name": "recovery", "nodeSelector": {"matchLabels": {"tier": "recovery"}}}
    return {
        "kind": "SchedulingPolicy",
        "metadata": {"name": "classes"},
        "spec": {"capacityClasses": [recovery]},
    }


def _settings() -> Json:
    guards = {"nodesShareMax": 1.0, "capacityShareMax": 1.0, "trafficLoadMax": 100.0}
    spec: Json = {"schedulingPolicy": "classes", "overrides": guards}
    return {"kind": "PlaneSettings", "metadata": {"name": "default"}, "spec": spec}


def _web(replicas: int) -> Json:
    made = small.workload("Deployment", "web", replicas)
    made["spec"]["template"] = _template("web:1")
    return made


def _service() -> Json:
    spec: Json = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    return {"kind": "Service", "metadata": {"name": "web"}, "spec": spec}


def _template(image: str) -> Json:
    made = small.template("web", image)
    made["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "6"}}
    return made


def _replicas(at: float, count: int) -> ScenarioStep:
    return patch(at, *_DEPLOYMENTS, "web", {"spec": {"replicas": count}})


def _lose(at: float, most: int) -> ScenarioStep:
    """Some of its pods are deleted by people, and made again."""
    asked = delete(at, "v1", "pods", "")
    return replace(asked, pick=Pick("pods", "default", (("app", "web"),), most=most))


def _override(
    at: float, name: str, target: str, lasts: str, namespace: str = "default", **changes: object
) -> ScenarioStep:
    spec: Json = {"target": target, "reason": "a drill", "expiresAfter": lasts, "changes": dict(changes)}
    made: Json = {"kind": "SchedulerOverride", "metadata": {"name": name}, "spec": spec}
    return create(at, *_OVERRIDES, made, namespace)
