"""What the stub answers about placing pods: a pod `web` that was made anew under its name, one that waits, a queue."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
READS = {"pods": [40, 40], "nodes": [38, 41]}


def _attempt(number: int, uid: str, attempt: int, **more: Any) -> Json:
    return {
        "number": number,
        "time": f"2027-01-15T07:{number % 60:02}:00.000000Z",
        "uid": uid,
        "attempt": attempt,
        "cause": "PodAdded" if attempt == 1 else "nodes",
        "waited": 0.25,
        "policy": ["packing", 2],
        "nodes": 2,
        "reads": READS,
        **more,
    }


_LATEST = _attempt(
    412,
    "u-2",
    2,
    node="node-1",
    waterfall=[{"plugin": "NodeResourcesFit", "left": 1}],
    refusals=[
        {"plugin": "NodeResourcesFit", "reason": "Insufficient cpu", "nodes": 1, "concerns": ["autoscaler"]}
    ],
    best=[{"node": "node-1", "total": 170, "parts": {"NodeResourcesFit": 70, "TaintToleration": 100}}],
)
_EXPLAINED = {
    "namespace": "default",
    "name": "web",
    "exists": True,
    "node": "node-1",
    "queue": None,
    "standing": {
        "stage": "starting",
        "reason": "CrashLoopBackOff",
        "message": "back-off 10s",
        "owner": "user",
    },
    "number": 412,
    "outcome": "placed on node-1",
    "attempt": _LATEST,
    "waterfall": [{"filter": "NodeResourcesFit", "left": 1, "refused": 1}],
    "weights": {"NodeResourcesFit": 1, "TaintToleration": 3},
    "reads": [
        {"resource": "nodes", "used": 38, "newest": 41, "stale": 1},
        {"resource": "pods", "used": 40, "newest": 40, "stale": 0},
    ],
    "again": {"agrees": True, "differences": []},
    "remedies": [],
    "remarks": [],
}
_REFUSED = "fits on no node: 0/2 nodes are available: 2 Insufficient cpu."
_ALL = {
    "namespace": "default",
    "name": "web",
    "uid": "u-2",
    "attempts": [
        _attempt(18, "u-1", 1, outcome=_REFUSED),
        _attempt(19, "u-1", 2, outcome="placed on node-2"),
        _attempt(411, "u-2", 1, outcome=_REFUSED),
        {**_LATEST, "outcome": "placed on node-1"},
    ],
}
_WHY_NOT = {
    "namespace": "default",
    "name": "web",
    "node": "node-2",
    "chosen": "",
    "when": "now",
    "outcome": "node-2 does not take it: NodeResourcesFit refuses (Insufficient cpu)",
    "filters": [
        {
            "filter": "NodeResourcesFit",
            "passes": False,
            "reason": "Insufficient cpu",
            "detail": "needs 500m cpu, free 200m of 4; needs 900Mi memory, free 512Mi of 4Gi",
        }
    ],
    "score": {"node": "node-2", "total": 100, "parts": {"TaintToleration": 100}},
    "best": None,
    "weights": {"TaintToleration": 3},
    "evictingHelps": False,
}
_QUEUE = {
    "ready": 1,
    "delayed": 0,
    "in_progress": 2,
    "oldest_waiting_seconds": 0.3,
    "failing": 0,
    "held": 0,
    "counts": {"retried": 4},
}
_QUEUES = {
    "leads": True,
    "phase": "leading",
    "items": [{"controller": "job", "queue": _QUEUE, "decided": 9, "stuck": 0, "settings": "default"}],
    "scheduler": {
        "active": 3,
        "backoff": 1,
        "unschedulable": 7,
        "underWay": 2,
        "oldestSeconds": 754.2,
        "attempts": 60,
        "placed": 48,
        "flushes": 5,
        "flushesNeeded": 1,
        "policy": ["packing", 2],
    },
    "writeLoops": [],
    "retryBudget": {"left": 100, "settings": {"burst": 100}, "waiting": 0, "heldBack": 0},
    "breaker": {"open": False},
    "events": {"dropped": 0},
}
_DECISIONS: list[dict[str, Any]] = [
    {
        "sequence": 1,
        "record": {
            "time": "2027-01-15T07:00:00Z",
            "controller": "scheduler",
            "batch": 1,
            "pods": ["default/web@9"],
        },
    },
    {
        "sequence": 2,
        "record": {
            "time": "2027-01-15T07:00:00Z",
            "controller": "scheduler",
            "object": "pods/default/web",
            "verdict": "Placed",
            "node": "node-1",
        },
    },
]


_LOOPS: list[Json] = [
    {
        "controller": "deployment and jane",
        "object": "replicasets.apps/default/web-1",
        "part": "",
        "fields": ["spec.replicas"],
        "since": 1800000000.0,
        "last": 1800000004.0,
        "writes": 3,
        "kind": "oscillation",
        "writers": ["deployment", "jane"],
        "proof": [
            {
                "seconds": 1800000000.0 + number,
                "writer": writer,
                "field": "spec.replicas",
                "value": value,
                "decision": decision,
                "revision": number,
            }
            for number, (writer, value, decision) in enumerate(
                [("", "3", ""), ("jane", "1", "9f1c"), ("deployment", "3", "d6fd6171-68")]
            )
        ],
    }
]
_COUPLING: Json = {
    "controllers": ["scheduler"],
    "couplings": [
        {
            "form": "shared field",
            "writer": "people",
            "sort": "person",
            "resource": "nodes",
            "fields": ["*"],
            "reader": "scheduler",
            "declared": True,
        },
        {
            "form": "label mutation",
            "writer": "jane",
            "sort": "person",
            "resource": "nodes",
            "fields": ["metadata.labels"],
            "reader": "scheduler",
            "writes": 2,
            "perMinute": 6.0,
            "last": "2027-01-15T07:59:00.000Z",
            "lastUser": "jane",
            "lastObject": "nodes/node-1",
            "lag": 1,
        },
        {
            "form": "shared capacity",
            "writer": "node-health",
            "sort": "controller",
            "resource": "nodes",
            "fields": ["a", "b", "c", "spec.taints"],
            "reader": "scheduler",
            "declared": True,
            "lag": 1,
        },
    ],
    "mirrors": [{"resource": "nodes", "revision": 7, "newest": 9, "behind": 1}],
    "timers": [
        [
            {"controller": "job", "what": "resync", "seconds": 300.0, "spread": 30.0},
            {"controller": "scheduler", "what": "tries again", "seconds": 300.0, "spread": 0.0},
        ]
    ],
    "observed": {"lines": 12, "hidden": 3, "since": "2027-01-15T07:00:00.000Z"},
}


def answer(path: str, query: dict[str, str]) -> Json | None:
    """To a GET; None: it is about something else."""
    if path == "/fairlead/v1/explain/default/web":
        return _ALL if "all" in query else _EXPLAINED
    if path == "/fairlead/v1/why-not/default/web/node-2":
        return _WHY_NOT
    if path == "/fairlead/v1/queues":
        return _QUEUES
    if path in ("/fairlead/v1/coupling", "/fairlead/v1/coupling/scheduler"):
        return {"loops": _LOOPS} if "loops" in query else _COUPLING
    if path == "/fairlead/v1/decisions":
        before = int(query.get("before") or 0)
        told = [item for item in _DECISIONS if not before or item["sequence"] < before]
        return {"items": [item for item in told if item["sequence"] > int(query.get("after") or 0)]}
    return None


def posted(path: str, body: Json) -> Json:
    """To a POST: a dry run gives back what it was given, a plan has room for whoever is not held back."""
    if path != "/fairlead/v1/plan":
        return body
    items = []
    for each in body["items"]:
        gates = [gate["name"] for gate in each["pod"]["spec"].get("schedulingGates") or ()]
        held = f"it is held back by scheduling gates: {', '.join(gates)}" if gates else ""
        items += [
            {
                "namespace": "default",
                "name": name,
                "node": "" if held else "node-1",
                "evicts": [],
                "message": held,
                "remedies": [],
                "remarks": [],
                "held": bool(held),
            }
            for name in each["names"]
        ]
    return {"fits": True, "waiting": 0, "items": items}
