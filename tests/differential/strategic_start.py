"""What the tables of strategic merge patch start from, and how they say their patches."""

from __future__ import annotations

from typing import Any

from tests.differential.asking import Ask, post, strategic
from tests.differential.objects import CM, WEB, Json, cm, deployment, env

RATHER = {"key": "dedicated", "operator": "Equal", "value": "web", "effect": "NoSchedule"}
SPOT = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}
MAKE = post(
    deployment(
        {
            "containers": [
                {
                    "name": "web",
                    "image": "web:1",
                    "command": ["run"],
                    "args": ["--a"],
                    "env": env("A", "B", "C"),
                    "ports": [{"containerPort": 80, "name": "http"}],
                    "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}},
                    "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
                },
                {"name": "side", "image": "side:1"},
            ],
            "volumes": [{"name": "tmp", "emptyDir": {"medium": "Memory"}}],
            "tolerations": [RATHER],
            "nodeSelector": {"disk": "ssd"},
            "imagePullSecrets": [{"name": "a"}],
            "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a", "b"]}],
        }
    )
)
FINALIZED = post(cm({"k": "v"}, finalizers=["example.com/a", "example.com/b", "example.com/c"]))


def pods(pod: Json) -> Ask:
    return strategic(WEB, {"spec": {"template": {"spec": pod}}})


def in_web(**fields: Any) -> Ask:
    return pods({"containers": [{"name": "web", **fields}]})


def meta(**fields: Any) -> Ask:
    return strategic(CM, {"metadata": fields})
