"""`garbage-kubernetes`: owners go in every way, on an API that can do no more than Kubernetes and collects nothing.

There a create can arrive after its owner has gone, and what a deletion rests on is read just before it.

    0 s     node-0
    2 s     Deployments web, kept and free; a Job
    12 s    web is deleted in the background while its pods may still be made
    20 s    kept is deleted in the foreground, free without its dependents
    30 s    the Job is deleted
    34 s    held is made, of which somebody has to see to something before it goes; 12 s later it is deleted
    70 s    the last fault
    180 s   that was seen to: held goes, and all that it had; web and free are made again, and free takes its pods back
"""

from __future__ import annotations

from fairlead.port.capabilities import KUBERNETES
from fairlead.sim.faults import Faults
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, delete, patch
from fairlead.sim.worlds import sched_kubernetes

HELD = "example.com/not-yet"
FAULTS = Faults(
    request_lost=0.03,
    request_late=0.12,
    reply_lost=0.05,
    crash_at_write=0.02,
    list_lost=0.05,
    watch_lag=0.2,
    watch_broken=0.02,
    incident=0.1,
)


def scenario() -> Scenario:
    return Scenario(
        name="garbage-kubernetes",
        steps=_steps(),
        hollow_prefix="node-",
        planes=2,
        faults_until_seconds=70.0,
        seconds_min=210.0,
        seconds_max=900.0,
        quiet_seconds=50.0,
        capabilities=KUBERNETES,
        leadership=sched_kubernetes.scenario().leadership,
    )


def _steps() -> tuple[ScenarioStep, ...]:
    apps = ("apps/v1", "deployments")
    held = _deployment("held")
    held["metadata"]["finalizers"] = [HELD]
    return (
        create(0.1, "v1", "nodes", {"kind": "Node", "metadata": {"name": "node-0"}}, ""),
        *(create(2.0, *apps, _deployment(name)) for name in ("web", "kept", "free")),
        create(2.0, "batch/v1", "jobs", _job()),
        delete(12.0, *apps, "web"),
        delete(20.0, *apps, "kept", policy="Foreground"),
        delete(20.0, *apps, "free", policy="Orphan"),
        delete(30.0, "batch/v1", "jobs", "once"),
        create(34.0, *apps, held),
        delete(46.0, *apps, "held"),
        patch(180.0, *apps, "held", {"metadata": {"finalizers": None}}),
        create(180.0, *apps, _deployment("web")),
        create(180.0, *apps, _deployment("free")),
    )


def _template(app: str) -> Json:
    return {
        "metadata": {"labels": {"app": app}},
        "spec": {"containers": [{"name": "main", "image": "web:1"}]},
    }


def _deployment(name: str) -> Json:
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": name}}, "template": _template(name)}
    return {"kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def _job() -> Json:
    template = _template("once")
    template["spec"]["restartPolicy"] = "Never"
    return {"kind": "Job", "metadata": {"name": "once"}, "spec": {"completions": 3, "template": template}}
