"""The objects that `churn.py` makes, in a few words each."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
STAYS = 'trap "exit 0" TERM; while :; do sleep 1000 & wait; done'


def containers(command: str, **more: Any) -> list[Json]:
    small = {"requests": {"cpu": "5m", "memory": "8Mi"}}
    return [
        {"name": "main", "image": "process", "command": ["sh", "-c", command], "resources": small, **more}
    ]


def pod_spec(command: str = STAYS, **more: Any) -> Json:
    return {"containers": containers(command), "terminationGracePeriodSeconds": 1, **more}


def workload(kind: str, name: str, replicas: int | None, spec: Json, **more: Any) -> Json:
    labels = {"app": name}
    wanted: Json = {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": spec},
        **more,
    }
    if replicas is not None:
        wanted["replicas"] = replicas
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": wanted}


def config_map(name: str, **data: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def service(name: str, app: str) -> Json:
    spec = {"selector": {"app": app}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def job(name: str, command: str) -> Json:
    template = {"spec": {**pod_spec(command), "restartPolicy": "Never"}}
    spec = {
        "completions": 2,
        "parallelism": 2,
        "backoffLimit": 1,
        "ttlSecondsAfterFinished": 5,
        "template": template,
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}
