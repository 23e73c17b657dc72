"""`refused`: pods that a quota or a missing class refuses, for longer than any fault lasts; then neither does.

0 s     node-0 and node-1; namespace default may have 3 pods, team 9
5 s     Deployment web of 5, Deployment late of 2 in team, of class `soon`, which does not exist
60 s    the last fault
200 s   default may have 5 pods
210 s   PriorityClass soon is made
280 s   web gets another image, under a quota of just as many pods
330 s   at the latest: all pods run
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.control.leadership import LeadershipSettings
from fairlead.decision.contract import NOTHING
from fairlead.decision.decider import Decider
from fairlead.model.views import Resource, Stored
from fairlead.sim.faults import Faults
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, patch
from fairlead.sim.worlds import small

TEAM, SOON = "team", "soon"
FAULTS = Faults(
    request_lost=0.03,
    request_late=0.03,
    reply_lost=0.05,
    crash_at_write=0.02,
    sync_slow=0.02,
    list_lost=0.05,
    watch_lag=0.15,
    watch_broken=0.02,
    incident=0.1,
    clock_skew=0.5,
)


def class_reader() -> Decider:
    """Decides nothing: for its sake the planes mirror PriorityClasses, as they do outside of simulations."""
    classes = Resource("priorityclasses.scheduling.k8s.io", "scheduling.k8s.io/v1", "PriorityClass", Stored)
    return Decider(name="class-reader", reads=(classes,), wakes=(), decide=lambda view, key, now: NOTHING)


def scenario() -> Scenario:
    return replace(
        small.FRAME,
        name="refused",
        steps=_steps(),
        seconds_min=330.0,
        seconds_max=900.0,
        controllers=(class_reader,),
        leadership=LeadershipSettings(duration_seconds=8.0, renew_seconds=3.0, retry_seconds=2.0),
    )


def _steps() -> tuple[ScenarioStep, ...]:
    return (
        *(
            create(0.1, "v1", "nodes", {"kind": "Node", "metadata": {"name": f"node-{number}"}}, "")
            for number in range(2)
        ),
        create(0.1, "v1", "namespaces", {"kind": "Namespace", "metadata": {"name": TEAM}}, ""),
        create(0.2, "v1", "resourcequotas", _quota("3")),
        create(1.0, "v1", "resourcequotas", _quota("9"), TEAM),
        create(5.0, "apps/v1", "deployments", _deployment("web", 5)),
        create(5.0, "apps/v1", "deployments", _deployment("late", 2, SOON), TEAM),
        patch(200.0, "v1", "resourcequotas", "limit", {"spec": {"hard": {"pods": "5"}}}),
        create(
            210.0,
            "scheduling.k8s.io/v1",
            "priorityclasses",
            {"kind": "PriorityClass", "metadata": {"name": SOON}, "value": 7},
            "",
        ),
        patch(280.0, "apps/v1", "deployments", "web", {"spec": {"template": _template("web", "web:2")}}),
    )


def _quota(pods: str) -> Json:
    return {"kind": "ResourceQuota", "metadata": {"name": "limit"}, "spec": {"hard": {"pods": pods}}}


def _template(app: str, image: str, priority: str = "") -> Json:
    spec: Json = {"containers": [{"name": "main", "image": image}]}
    if priority:
        spec["priorityClassName"] = priority
    return {"metadata": {"labels": {"app": app}}, "spec": spec}


def _deployment(name: str, replicas: int, priority: str = "") -> Json:
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": _template(name, f"{name}:1", priority),
    }
    return {"kind": "Deployment", "metadata": {"name": name}, "spec": spec}
