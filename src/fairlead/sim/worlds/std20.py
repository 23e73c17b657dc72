"""`std20`, the standard world: 20 hollow nodes, 100 pods, 2 planes, a rollout, a scale-down, a job, ten minutes.

Fixed: changing anything here changes what every recorded seed means. Faults fire in the first five minutes; then the
world must come to rest, and stay at rest over a resync.

    0 s     20 nodes; Deployments web (24) and api (30), ReplicaSet cache (20): 74 pods
    60 s    Job batch: 26 pods, 9 at a time
    90 s    web gets a new image: a rollout
    120 s   ReplicaSet cache is deleted, and made again under the same name at 150 s
    180 s   api is scaled down to 18
    240 s   web is rolled out once more, and scaled to 26
"""

from __future__ import annotations

from fairlead.sim.scenario import Json, Scenario, Step, create, delete, patch

NODES = 20


def scenario() -> Scenario:
    return Scenario(
        name="std20",
        steps=tuple(sorted(_steps(), key=lambda step: step.at_seconds)),
        hollow_prefix="node-",
        planes=2,
        faults_until_seconds=300.0,
        seconds_min=740.0,
        seconds_max=1500.0,
        quiet_seconds=90.0,
    )


def _steps() -> tuple[Step, ...]:
    nodes = tuple(
        create(0.1, "v1", "nodes", {"kind": "Node", "metadata": {"name": f"node-{number:02}"}}, "")
        for number in range(NODES)
    )
    return (
        *nodes,
        create(1.0, "apps/v1", "deployments", _workload("Deployment", "web", 24)),
        create(1.0, "apps/v1", "deployments", _workload("Deployment", "api", 30)),
        create(2.0, "apps/v1", "replicasets", _workload("ReplicaSet", "cache", 20)),
        create(60.0, "batch/v1", "jobs", _job("batch", 26, 9)),
        patch(90.0, "apps/v1", "deployments", "web", _image("web:2")),
        delete(120.0, "apps/v1", "replicasets", "cache"),
        create(150.0, "apps/v1", "replicasets", _workload("ReplicaSet", "cache", 20)),
        patch(180.0, "apps/v1", "deployments", "api", {"spec": {"replicas": 18}}),
        patch(240.0, "apps/v1", "deployments", "web", {"spec": {"replicas": 26, **_image("web:3")["spec"]}}),
    )


def _template(app: str, image: str) -> Json:
    container = {
        "name": "main",
        "image": image,
        "resources": {"requests": {"cpu": "500m", "memory": "256Mi"}},
    }
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [container]}}


def _image(image: str) -> Json:
    return {"spec": {"template": _template("web", image)}}


def _workload(kind: str, name: str, replicas: int) -> Json:
    spec: Json = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": _template(name, f"{name}:1"),
    }
    if kind == "Deployment":
        spec["strategy"] = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 4, "maxUnavailable": 2}}
    return {"kind": kind, "metadata": {"name": name}, "spec": spec}


def _job(name: str, completions: int, parallelism: int) -> Json:
    template = _template(name, f"{name}:1")
    template["spec"]["restartPolicy"] = "Never"
    template["metadata"]["annotations"] = {"hollow.fairlead.dev/runs-for": "5s"}
    spec = {"completions": completions, "parallelism": parallelism, "template": template}
    return {"kind": "Job", "metadata": {"name": name}, "spec": spec}
