"""`bit-rot`: one of five objects decays in the store, and what depends on it waits until people give it up.

The object is a pod, the ReplicaSet that owns it, or the quota of the namespace. In the end the namespace is gone in
every run, and not before.

    0 s     node-0; namespace shop with a quota of three pods
    3 s     ReplicaSet web of two
    30 s    a row rots; server and planes start again
    45 s    people delete pods of web, all at once
    70 s    people delete the namespace, and its quota
    130 s   people give up what is damaged
"""

from __future__ import annotations

from fairlead.control.leadership import LeadershipSettings
from fairlead.core import codec
from fairlead.model.views import PODS, REPLICASETS, RESOURCE_QUOTAS
from fairlead.port.request import Request
from fairlead.sim.faults import Faults
from fairlead.sim.scenario import DiskMishap, Json, Scenario, ScenarioStep, create, delete

SPACE = "shop"
LEADERSHIP = LeadershipSettings(duration_seconds=8.0, renew_seconds=3.0, retry_seconds=2.0)
FAULTS = Faults(
    request_lost=0.02,
    request_late=0.02,
    reply_lost=0.03,
    crash_at_write=0.01,
    sync_slow=0.02,
    list_lost=0.05,
    watch_lag=0.05,
    watch_broken=0.02,
    incident=0.15,
    incidents=(("plane_crash", 3), ("server_crash", 2), ("watches_expire", 3), ("watches_cut", 2)),
)


def scenario() -> Scenario:
    return Scenario(
        name="bit-rot",
        steps=(
            create(0.1, "v1", "nodes", {"kind": "Node", "metadata": {"name": "node-0"}}, ""),
            create(0.1, "v1", "namespaces", {"kind": "Namespace", "metadata": {"name": SPACE}}, ""),
            create(1.0, "v1", "resourcequotas", _quota(), SPACE),
            create(3.0, "apps/v1", "replicasets", workload("ReplicaSet", "web", 2), SPACE),
            _pods_deleted(45.0),
            delete(70.0, "v1", "namespaces", SPACE, ""),
            delete(75.0, "v1", "resourcequotas", "limit", SPACE),  # which no plane of the simulator collects
        ),
        hollow_prefix="node-",
        planes=2,
        faults_from_seconds=30.0,
        faults_until_seconds=120.0,
        seconds_min=180.0,
        seconds_max=600.0,
        quiet_seconds=40.0,
        leadership=LEADERSHIP,
        disk_mishaps=(
            DiskMishap(30.0, "row_rots", 100.0, (PODS.name, REPLICASETS.name, RESOURCE_QUOTAS.name)),
        ),
    )


def workload(kind: str, name: str, replicas: int) -> Json:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "image": f"{name}:1"}]},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"kind": kind, "metadata": {"name": name}, "spec": spec}


def _quota() -> Json:
    return {"kind": "ResourceQuota", "metadata": {"name": "limit"}, "spec": {"hard": {"pods": "3"}}}


def _pods_deleted(at: float) -> ScenarioStep:
    body = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
    request = Request("deletecollection", "", "v1", "pods", SPACE, body=codec.encode(body))
    return ScenarioStep(at, request)
