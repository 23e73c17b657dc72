"""`cohort`: two quotas of one cohort, of which one lends all it leaves unused, until its own pods come.

A lender that is judged by its own limit alone gets what another has borrowed, and the cohort has more than its sum.

    before   node-0; quota default/limit of two pods, and quota team-b/limit of one, which may borrow three
    2 s      ReplicaSet batch of team-b wants four pods: one of its own, two borrowed, and one waits
    20 s     two pods for default, created on the node: refused, and asked for again until they are taken
    30 s     batch wants one, so that what was lent returns; at 40 s it wants four again, and three wait
    48 s     ReplicaSet web of default wants one pod: its quota is used up, and it may borrow nothing
    60 s     batch wants one, web none
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, patch
from fairlead.sim.worlds import small

FAULTS = replace(small.FAULTS, watch_lag=0.4)
LENDER, BORROWER = "default", "team-b"
_QUOTAS = ("fairlead.dev/v1", "placementquotas")
_SETS = ("apps/v1", "replicasets")
_TRIES = 60  # asked for so often it was taken: what was lent has returned long before
_KINDS = ("placementquotas.fairlead.dev",)


def scenario() -> Scenario:
    return replace(
        small.FRAME,
        name="cohort",
        standing=(
            small.node(),
            create(0.1, "v1", "namespaces", {"kind": "Namespace", "metadata": {"name": BORROWER}}, ""),
            create(0.5, *_QUOTAS, _quota("2"), LENDER),
            create(0.5, *_QUOTAS, _quota("1", borrowingLimit={"pods": "3"}), BORROWER),
        ),
        steps=(
            create(2.0, *_SETS, small.workload("ReplicaSet", "batch", 4), BORROWER),
            *(_asked(20.0, _pod(name)) for name in ("left", "right")),
            _scale(30.0, "batch", 1, BORROWER),
            _scale(40.0, "batch", 4, BORROWER),
            create(48.0, *_SETS, small.workload("ReplicaSet", "web", 1), LENDER),
            _scale(60.0, "batch", 1, BORROWER),
            _scale(60.0, "web", 0, LENDER),
        ),
        faults_until_seconds=70.0,
        seconds_min=80.0,
        seconds_max=600.0,
        deciders=small.controllers("replicaset", "garbage-collector", "placement-quota", kinds=_KINDS),
    )


def _asked(at: float, pod: Json) -> ScenarioStep:
    return replace(create(at, "v1", "pods", pod, LENDER), tries=_TRIES)


def _quota(pods: str, **limits: Json) -> Json:
    spec = {"hard": {"pods": pods}, "cohort": "research", **limits}
    return {"kind": "PlacementQuota", "metadata": {"name": "limit"}, "spec": spec}


def _pod(name: str) -> Json:
    made = small.template(name, f"{name}:1")
    made["metadata"]["name"] = name
    made["spec"]["nodeName"] = "node-0"
    return {"kind": "Pod", **made}


def _scale(at: float, name: str, replicas: int, namespace: str) -> ScenarioStep:
    return patch(at, *_SETS, name, {"spec": {"replicas": replicas}}, namespace)
