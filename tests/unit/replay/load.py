"""Work for a plane that gives every controller something to decide: a list of acts, one after the other.

Each act is (verb, address, body); whoever applies them lets time go on in between. Used by `test_rerun.py` in virtual
time and by `tests/clients/test_replay.py` and `bench/records.py` against running planes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
Act = tuple[str, str, Json]
APPS = "/apis/apps/v1/namespaces/{space}/"
BATCH = "/apis/batch/v1/namespaces/{space}/"
CORE = "/api/v1/namespaces/{space}/"


def template(name: str, cpu: str = "10m", **more: Any) -> Json:
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": cpu, "memory": "1Mi"}}}
    return {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container], **more}}


def workload(name: str, replicas: int | None = None, cpu: str = "10m", **more: Any) -> Json:
    spec: Json = {"selector": {"matchLabels": {"app": name}}, "template": template(name, cpu), **more}
    if replicas is not None:
        spec["replicas"] = replicas
    return {"metadata": {"name": name}, "spec": spec}


def begin(space: str) -> Iterator[Act]:
    """Objects of every sort of workload, and those that limit, guard and scale them."""
    apps, batch, core = (each.format(space=space) for each in (APPS, BATCH, CORE))
    yield "post", "/api/v1/namespaces", {"metadata": {"name": space}}
    yield "post", apps + "deployments", workload("web", 4)
    yield "post", apps + "statefulsets", workload("db", 2, serviceName="db")
    yield "post", apps + "daemonsets", workload("log")
    yield (
        "post",
        core + "services",
        {"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}},
    )
    job = template("once", restartPolicy="Never")
    job["metadata"]["annotations"] = {"hollow.fairlead.dev/runs-for": "2s"}
    yield (
        "post",
        batch + "jobs",
        {"metadata": {"name": "once"}, "spec": {"completions": 3, "parallelism": 2, "template": job}},
    )
    cron = {
        "schedule": "* * * * *",
        "jobTemplate": {"spec": {"template": template("tick", restartPolicy="Never")}},
    }
    yield "post", batch + "cronjobs", {"metadata": {"name": "tick"}, "spec": cron}
    yield (
        "post",
        f"/apis/policy/v1/namespaces/{space}/poddisruptionbudgets",
        {
            "metadata": {"name": "web"},
            "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}},
        },
    )
    yield "post", core + "resourcequotas", {"metadata": {"name": "all"}, "spec": {"hard": {"pods": "14"}}}
    yield (
        "post",
        f"/apis/autoscaling/v2/namespaces/{space}/horizontalpodautoscalers",
        {
            "metadata": {"name": "web"},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "minReplicas": 2,
                "maxReplicas": 6,
                "metrics": [
                    {
                        "type": "Resource",
                        "resource": {
                            "name": "cpu",
                            "target": {"type": "Utilization", "averageUtilization": 50},
                        },
                    }
                ],
            },
        },
    )


def disturb(space: str) -> Iterator[Act]:
    """Changes of mind: more than the quota allows, what fits nowhere, a rollout, deletions in every way."""
    apps, batch, core = (each.format(space=space) for each in (APPS, BATCH, CORE))
    yield "post", apps + "deployments", workload("greedy", 12)
    yield "post", apps + "deployments", workload("giant", 2, "4000")
    yield (
        "patch",
        apps + "deployments/web",
        {"spec": {"template": {"metadata": {"labels": {"version": "2"}}}}},
    )
    yield "patch", apps + "statefulsets/db", {"spec": {"replicas": 3}}
    yield "patch", core + "resourcequotas/all", {"spec": {"hard": {"pods": "20"}}}
    yield "delete", batch + "jobs/once", {"propagationPolicy": "Foreground"}
    yield "delete", apps + "deployments/greedy", {"propagationPolicy": "Orphan"}
    yield "patch", apps + "deployments/giant", {"spec": {"replicas": 0}}
    yield "delete", apps + "daemonsets/log", {"propagationPolicy": "Background"}


def prepare() -> Iterator[Act]:
    """What there is once for all namespaces: a policy with a class of nodes kept free, quick autoscalers, a custom kind."""
    fairlead = "/apis/fairlead.dev/v1/"
    kept = {"name": "recovery", "nodeSelector": {"matchLabels": {"tier": "recovery"}}}
    yield (
        "post",
        fairlead + "schedulingpolicies",
        {"metadata": {"name": "kept"}, "spec": {"capacityClasses": [kept]}},
    )
    settings = {"schedulingPolicy": "kept", "autoscaling": {"syncSeconds": 5}}
    yield "post", fairlead + "planesettings", {"metadata": {"name": "default"}, "spec": settings}
    yield (
        "post",
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        {"metadata": {"name": "urgent"}, "value": 1000},
    )
    names = {"plural": "lamps", "singular": "lamp", "kind": "Lamp"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    yield (
        "post",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        {
            "metadata": {"name": "lamps.example.com"},
            "spec": {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]},
        },
    )


def intervene(space: str, node: str) -> Iterator[Act]:
    """People step in: controls that end by themselves, quotas of a place, a promise to users, a node that flaps."""
    own = f"/apis/fairlead.dev/v1/namespaces/{space}/"
    apps = APPS.format(space=space)

    def laid_down(name: str, target: str, minutes: int, **changes: Any) -> Act:
        spec = {"target": target, "reason": "seen often", "expiresAfter": f"{minutes}m", "changes": changes}
        return "post", own + "scheduleroverrides", {"metadata": {"name": name}, "spec": spec}

    yield laid_down("still", "deployment/web", 1, pauseRollout=True, pauseAutoscaler=True)
    yield laid_down(
        "elsewhere", "statefulset/db", 1, avoidNodes={"matchLabels": {"kubernetes.io/hostname": node}}
    )
    yield (
        "patch",
        apps + "deployments/web",
        {"spec": {"template": {"metadata": {"labels": {"version": "3"}}}}},
    )
    yield (
        "post",
        own + "placementquotas",
        {"metadata": {"name": "few"}, "spec": {"nodeSelector": {}, "hard": {"pods": "16"}}},
    )
    promise = {"target": {"kind": "Deployment", "name": "web"}, "objective": 99.0}
    yield "post", own + "servicelevelobjectives", {"metadata": {"name": "web"}, "spec": promise}
    urgent = template("urgent", "20", priorityClassName="urgent")
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "urgent"}}, "template": urgent}
    yield "post", apps + "deployments", {"metadata": {"name": "urgent"}, "spec": spec}
    yield (
        "patch",
        f"/api/v1/nodes/{node}",
        {"metadata": {"annotations": {"hollow.fairlead.dev/flaps": "20s"}}},
    )
    yield (
        "patch",
        apps + "statefulsets/db",
        {"spec": {"template": {"metadata": {"labels": {"version": "2"}}}}},
    )
    yield "post", f"/apis/example.com/v1/namespaces/{space}/lamps", {"metadata": {"name": "red"}}
    yield "delete", own + "scheduleroverrides/still", {}


def end(space: str) -> Iterator[Act]:
    yield "delete", f"/api/v1/namespaces/{space}", {}
