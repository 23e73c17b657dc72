"""`sched`: four nodes that are nearly full, two priorities, and mirrors that lag: what the scheduler has to get right.

Room is short, so that a placement which is forgotten, doubled or woken too late shows: more on a node than it has, more
evicted than needed, or a pod that waits although it fits. At the end there is room for everything.

    before  4 nodes of 32 cpu; ReplicaSets low (12 of 8 cpu) and mid (7 of 4 cpu), StatefulSet store (4 of half a cpu,
            as important as urgent, a budget keeps 2 of them): 126 of 128 cpu are taken; namespace team may have 8 cpu
    20 s    ReplicaSet urgent, 2 of 16 cpu with a higher priority: it fits nowhere, so others are evicted, and wait
    40 s    Job batch in team: 6 pods of 4 cpu, 3 at a time, of which two may be placed
    60 s    node-1 is cordoned, until 100 s
    75 s    urgent is scaled to 3
    120 s   mid is deleted: its room is what the others wait for
    140 s   low is scaled down to 6
    150 s   urgent is scaled down to 2

Meanwhile people drain store, each pod asked for until it goes: one at 19, 47 and 72 s, seven seconds after the three
others fell ill (their nodes see to that as soon as somebody leads); all four at 90 s, and at 125 s, as the budget comes
to keep 3.
"""

from __future__ import annotations

from fairlead.control.leadership import LeadershipSettings
from fairlead.sim.endstate import MADE
from fairlead.sim.faults import Faults
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, delete, evict, patch

URGENT, TEAM = "urgent", "team"
FAULTS = Faults(
    request_lost=0.02,
    request_late=0.04,
    reply_lost=0.05,
    crash_at_write=0.01,
    sync_slow=0.02,
    sync_failed=0.005,
    list_lost=0.05,
    watch_lag=0.15,
    watch_broken=0.01,
    incident=0.2,
    clock_skew=0.5,
)


def scenario() -> Scenario:
    return Scenario(
        name="sched",
        standing=_standing(),
        steps=_steps(),
        hollow_prefix="node-",
        planes=2,
        faults_until_seconds=180.0,
        seconds_min=240.0,
        seconds_max=900.0,
        quiet_seconds=190.0,  # a mark of an eviction that did not come is taken back after 120 s; clocks are 60 s apart
        allowed=(MADE,),  # who is evicted for whom follows from what is bound first
        leadership=LeadershipSettings(duration_seconds=10.0, renew_seconds=4.0, retry_seconds=4.0),
    )


def _standing() -> tuple[ScenarioStep, ...]:
    return (
        *(
            create(0.1, "v1", "nodes", {"kind": "Node", "metadata": {"name": f"node-{number}"}}, "")
            for number in range(4)
        ),
        create(0.1, "scheduling.k8s.io/v1", "priorityclasses", _class(URGENT, 1000), ""),
        create(0.1, "v1", "namespaces", {"kind": "Namespace", "metadata": {"name": TEAM}}, ""),
        create(1.0, "fairlead.dev/v1", "placementquotas", _quota("cpu", "8"), TEAM),
        create(1.0, "policy/v1", "poddisruptionbudgets", _budget("store", 2)),
        create(2.0, "apps/v1", "replicasets", _set("low", 12, "8")),
        create(4.0, "apps/v1", "replicasets", _set("mid", 7, "4")),
        create(8.0, "apps/v1", "statefulsets", _stateful("store", 4, "500m", URGENT)),
    )


def _steps() -> tuple[ScenarioStep, ...]:
    return tuple(sorted((*_placing(), *_draining()), key=lambda step: step.at_seconds))


def _draining() -> tuple[ScenarioStep, ...]:
    return (
        *_ill_and_drained(12.0, ill=(1, 2, 3), drained=0),
        *_ill_and_drained(40.0, ill=(0, 2, 3), drained=1),
        *_ill_and_drained(65.0, ill=(0, 1, 3), drained=2),
        *(evict(90.0 + number / 10, f"store-{number}") for number in range(4)),
        patch(125.0, "policy/v1", "poddisruptionbudgets", "store", {"spec": {"minAvailable": 3}}),
        *(evict(125.0 + number / 10, f"store-{number}") for number in range(4)),
    )


def _ill_and_drained(at: float, ill: tuple[int, ...], drained: int) -> tuple[ScenarioStep, ...]:
    status = {"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Unwell"}]}}
    return (
        *(patch(at, "v1", "pods", f"store-{number}", status, subresource="status") for number in ill),
        evict(at + 7.0, f"store-{drained}"),
    )


def _placing() -> tuple[ScenarioStep, ...]:
    return (
        create(20.0, "apps/v1", "replicasets", _set("urgent", 2, "16", URGENT)),
        create(40.0, "batch/v1", "jobs", _job("batch", 6, 3), TEAM),
        _cordon(60.0, "node-1", True),
        _scale(75.0, "urgent", 3),
        _cordon(100.0, "node-1", False),
        delete(120.0, "apps/v1", "replicasets", "mid"),
        _scale(140.0, "low", 6),
        _scale(150.0, "urgent", 2),
    )


def _cordon(at: float, node: str, closed: bool) -> ScenarioStep:
    return patch(at, "v1", "nodes", node, {"spec": {"unschedulable": closed or None}}, "")


def _scale(at: float, name: str, replicas: int) -> ScenarioStep:
    return patch(at, "apps/v1", "replicasets", name, {"spec": {"replicas": replicas}})


def _class(name: str, value: int) -> Json:
    return {"kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def _quota(resource: str, limit: str) -> Json:
    return {"kind": "PlacementQuota", "metadata": {"name": "limit"}, "spec": {"hard": {resource: limit}}}


def _template(app: str, cpu: str, priority: str = "") -> Json:
    container = {"name": "main", "image": f"{app}:1", "resources": {"requests": {"cpu": cpu}}}
    spec: Json = {"containers": [container]}
    if priority:
        spec["priorityClassName"] = priority
    return {"metadata": {"labels": {"app": app}}, "spec": spec}


def _set(name: str, replicas: int, cpu: str, priority: str = "") -> Json:
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": _template(name, cpu, priority),
    }
    return {"kind": "ReplicaSet", "metadata": {"name": name}, "spec": spec}


def _stateful(name: str, replicas: int, cpu: str, priority: str) -> Json:
    body = _set(name, replicas, cpu, priority)
    spec = {**body["spec"], "serviceName": name, "podManagementPolicy": "Parallel"}
    return {**body, "kind": "StatefulSet", "spec": spec}


def _budget(app: str, least: int) -> Json:
    spec = {"minAvailable": least, "selector": {"matchLabels": {"app": app}}}
    return {"kind": "PodDisruptionBudget", "metadata": {"name": app}, "spec": spec}


def _job(name: str, completions: int, parallelism: int) -> Json:
    template = _template(name, "4")
    template["spec"]["restartPolicy"] = "Never"
    template["metadata"]["annotations"] = {"hollow.fairlead.dev/runs-for": "5s"}
    spec = {
        "completions": completions,
        "parallelism": parallelism,
        # A pod that is evicted for others has not failed.
        "podFailurePolicy": {
            "rules": [
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
            ]
        },
        "template": template,
    }
    return {"kind": "Job", "metadata": {"name": name}, "spec": spec}
