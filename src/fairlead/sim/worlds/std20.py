"""`std20`, the standard world: 20 hollow nodes, 100 pods, 2 planes, a rollout, a scale-down, a job, ten minutes.

Fixed: changing anything here changes what every recorded seed means. A fleet stands when a run begins, restored from a
backup. Faults fire in the first four minutes; then the world must come to rest, and stay at rest over a resync.

    before  20 nodes; Deployments web (6) and api (10), ReplicaSets cache (4) and stock (52), StatefulSet db (3),
            DaemonSet log (one pod per node): 95 pods; an empty namespace team
    20 s    Job batch: 5 pods, 2 at a time
    50 s    web gets a new image: a rollout
    90 s    ReplicaSet cache is deleted, and made again under the same name at 115 s
    150 s   api is scaled down to 6
    170 s   namespace team is deleted
    190 s   db is scaled to 4
"""

from __future__ import annotations

from fairlead.control.leadership import LeadershipSettings
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, delete, patch

NODES = 20


def scenario() -> Scenario:
    return Scenario(
        name="std20",
        standing=_standing(),
        steps=_steps(),
        hollow_prefix="node-",
        planes=2,
        faults_until_seconds=240.0,
        seconds_min=600.0,
        seconds_max=1500.0,
        quiet_seconds=50.0,  # longer than any back-off
        rest_seconds=308.0,  # longer than from one resync to the next
        # Short enough that a request which arrives late can meet the next leader; renewed and looked at no more often
        # than needed, because that is most of what is done at rest.
        leadership=LeadershipSettings(duration_seconds=10.0, renew_seconds=4.0, retry_seconds=4.0),
    )


def _standing() -> tuple[ScenarioStep, ...]:
    nodes = tuple(
        create(0.1, "v1", "nodes", {"kind": "Node", "metadata": {"name": f"node-{number:02}"}}, "")
        for number in range(NODES)
    )
    return (
        *nodes,
        create(1.0, "v1", "namespaces", {"kind": "Namespace", "metadata": {"name": "team"}}, ""),
        create(1.0, "apps/v1", "daemonsets", _workload("DaemonSet", "log")),
        create(2.0, "apps/v1", "deployments", _workload("Deployment", "web", 6)),
        create(2.0, "apps/v1", "deployments", _workload("Deployment", "api", 10)),
        create(2.0, "apps/v1", "replicasets", _workload("ReplicaSet", "cache", 4)),
        create(2.0, "apps/v1", "replicasets", _workload("ReplicaSet", "stock", 52)),
        create(2.0, "apps/v1", "statefulsets", _workload("StatefulSet", "db", 3)),
    )


def _steps() -> tuple[ScenarioStep, ...]:
    return (
        create(20.0, "batch/v1", "jobs", _job("batch", 5, 2)),
        patch(50.0, "apps/v1", "deployments", "web", {"spec": {"template": _template("web", "web:2")}}),
        delete(90.0, "apps/v1", "replicasets", "cache"),
        create(115.0, "apps/v1", "replicasets", _workload("ReplicaSet", "cache", 4)),
        patch(150.0, "apps/v1", "deployments", "api", {"spec": {"replicas": 6}}),
        delete(170.0, "v1", "namespaces", "team", ""),
        patch(190.0, "apps/v1", "statefulsets", "db", {"spec": {"replicas": 4}}),
    )


def _template(app: str, image: str) -> Json:
    container = {
        "name": "main",
        "image": image,
        "resources": {"requests": {"cpu": "4", "memory": "1Gi"}},
    }
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [container]}}


def _workload(kind: str, name: str, replicas: int = 0) -> Json:
    spec: Json = {"selector": {"matchLabels": {"app": name}}, "template": _template(name, f"{name}:1")}
    if replicas:
        spec["replicas"] = replicas
    if kind == "Deployment":
        spec["strategy"] = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2, "maxUnavailable": 1}}
    elif kind == "StatefulSet":
        spec["serviceName"] = name
    return {"kind": kind, "metadata": {"name": name}, "spec": spec}


def _job(name: str, completions: int, parallelism: int) -> Json:
    template = _template(name, f"{name}:1")
    template["spec"]["restartPolicy"] = "Never"
    template["metadata"]["annotations"] = {"hollow.fairlead.dev/runs-for": "5s"}
    spec = {"completions": completions, "parallelism": parallelism, "template": template}
    return {"kind": "Job", "metadata": {"name": name}, "spec": spec}
