"""`rollouts`: a StatefulSet, a DaemonSet, a Deployment and a Job whose people change their minds.

0 s     node-0, node-1, node-2
2 s     StatefulSet db and Deployment web of three, DaemonSet log
20 s    all get another image; 23 s: db and web get the first again, as their rollouts are under way; 25 s: log too
40 s    db is scaled down to 1, 43 s: back to 3
50 s    Job batch of six, two at a time, each six seconds; 53 s: it is suspended; 56 s: it goes on
60 s    all get a third image, and a label
70 s    db is scaled down to 2; 71.5 s: back to 3
"""

from __future__ import annotations

from fairlead.control.leadership import LeadershipSettings
from fairlead.sim.endstate import FINISHED_PODS, HISTORY
from fairlead.sim.faults import Faults
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, patch

FAULTS = Faults(
    request_lost=0.03,
    request_late=0.05,
    reply_lost=0.05,
    crash_at_write=0.01,
    sync_slow=0.02,
    sync_failed=0.005,
    list_lost=0.05,
    watch_lag=0.1,
    watch_broken=0.02,
    incident=0.2,
    clock_skew=0.5,
)


def scenario() -> Scenario:
    return Scenario(
        name="rollouts",
        steps=_steps(),
        hollow_prefix="node-",
        planes=2,
        faults_until_seconds=100.0,
        seconds_min=150.0,
        seconds_max=600.0,
        quiet_seconds=50.0,
        allowed=(FINISHED_PODS, HISTORY),
        leadership=LeadershipSettings(duration_seconds=8.0, renew_seconds=3.0, retry_seconds=2.0),
    )


def _steps() -> tuple[ScenarioStep, ...]:
    return (
        *(_node(f"node-{number}") for number in range(3)),
        create(2.0, "apps/v1", "statefulsets", _workload("StatefulSet", "db", 3)),
        create(2.0, "apps/v1", "deployments", _workload("Deployment", "web", 3)),
        create(2.0, "apps/v1", "daemonsets", _workload("DaemonSet", "log")),
        *_rolled(20.0, 2),
        _image(23.0, "statefulsets", "db", 1),
        _image(23.0, "deployments", "web", 1),
        _image(25.0, "daemonsets", "log", 1),
        _scaled(40.0, 1),
        _scaled(43.0, 3),
        create(50.0, "batch/v1", "jobs", _job()),
        patch(53.0, "batch/v1", "jobs", "batch", {"spec": {"suspend": True}}),
        patch(56.0, "batch/v1", "jobs", "batch", {"spec": {"suspend": False}}),
        *_rolled(60.0, 3, {"tier": "third"}),
        _scaled(70.0, 2),
        _scaled(71.5, 3),
    )


def _node(name: str) -> ScenarioStep:
    return create(0.1, "v1", "nodes", {"kind": "Node", "metadata": {"name": name}}, "")


def _rolled(at: float, version: int, labels: Json | None = None) -> tuple[ScenarioStep, ...]:
    plurals = (("statefulsets", "db"), ("deployments", "web"), ("daemonsets", "log"))
    return tuple(_image(at, plural, name, version, labels) for plural, name in plurals)


def _image(at: float, plural: str, name: str, version: int, labels: Json | None = None) -> ScenarioStep:
    return patch(at, "apps/v1", plural, name, {"spec": {"template": _template(name, version, labels)}})


def _scaled(at: float, replicas: int) -> ScenarioStep:
    return patch(at, "apps/v1", "statefulsets", "db", {"spec": {"replicas": replicas}})


def _template(app: str, version: int = 1, labels: Json | None = None) -> Json:
    container = {"name": "main", "image": f"{app}:{version}"}
    return {"metadata": {"labels": {"app": app, **(labels or {})}}, "spec": {"containers": [container]}}


def _workload(kind: str, name: str, replicas: int = 0) -> Json:
    spec: Json = {"selector": {"matchLabels": {"app": name}}, "template": _template(name)}
    if replicas:
        spec["replicas"] = replicas
    return {"kind": kind, "metadata": {"name": name}, "spec": spec}


def _job() -> Json:
    template = _template("batch")
    template["spec"]["restartPolicy"] = "Never"
    template["metadata"]["annotations"] = {"hollow.fairlead.dev/runs-for": "6s"}
    spec = {"completions": 6, "parallelism": 2, "template": template}
    return {"kind": "Job", "metadata": {"name": "batch"}, "spec": spec}
