"""What would have to change: one sentence per way out, and plain words where nothing can match."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.explain.remedies import remarks, remedies
from fairlead.model.views import Node, Pod
from fairlead.schedule.registry import default_policy
from tests.unit.schedule.clusters import HOSTNAME, ZONE, cluster, node, pod

A, B = node("a", "z1"), node("b", "z2")
REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)


def spread(key: str = ZONE, when: str = "DoNotSchedule") -> list[dict[str, Any]]:
    selector = {"matchLabels": {"app": "web"}}
    return [{"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": selector}]


def near(kind: str = "podAffinity", key: str = HOSTNAME, app: str = "db") -> dict[str, Any]:
    return {kind: {REQUIRED: [{"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}]}}


def on_zone(*zones: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": list(zones)}]}
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}


# the nodes, the pods there, the one that comes, what is said
TABLE: dict[str, tuple[tuple[Node, ...], tuple[Pod, ...], Pod, tuple[str, ...]]] = {
    "it fits": ((A,), (), pod("new", cpu="1"), ()),
    "no nodes": ((), (), pod("new"), ("there are no nodes: add one",)),
    "larger than any node": (
        (A, B),
        (),
        pod("new", cpu="64"),
        ("no node is large enough for 64 cpu: the largest has 4; ask for less, or add a larger node",),
    ),
    "a resource that no node has": (
        (A,),
        (),
        pod("new", requests={"example.com/gpu": "1"}),
        ("no node is large enough for 1 example.com/gpu: none has any; ask for less, or add a larger node",),
    ),
    "the node that lacks least": (
        (A, B),
        (pod("one", "a", "4"), pod("two", "b", "3800m")),
        pod("new", cpu="500m"),
        ("free 300m cpu on b (needs 500m cpu, free 200m of 4), or add a node with 500m cpu free",),
    ),
    "too many pods": (
        (node("a", room={"pods": "1"}),),
        (pod("one", "a"),),
        pod("new"),
        ("free room for a pod on a (needs 1 pods, free 0 of 1), or add a node",),
    ),
    "a selector that matches nothing": (
        (A, B),
        (),
        pod("new", nodeSelector={"disk": "ssd"}),
        (
            "no node matches nodeSelector disk=ssd: none has the label disk at all; label a node, or change the selector",
        ),
    ),
    "a value that no node has": (
        (A, B),
        (),
        pod("new", nodeSelector={ZONE: "z9"}),
        (
            f"no node matches nodeSelector {ZONE}=z9: nodes have {ZONE}=z1, z2; label a node, or change the selector",
        ),
    ),
    "an affinity that matches nothing": (
        (A, B),
        (),
        pod("new", affinity=on_zone("z8", "z9")),
        (
            f"no node matches the required node affinity {ZONE} in (z8,z9): nodes have {ZONE}=z1, z2; "
            "label a node, or change the affinity",
        ),
    ),
    "matched, but full": (
        (A, B),
        (pod("one", "a", "4"),),
        pod("new", cpu="1", nodeSelector={ZONE: "z1"}),
        (
            f"add a node that matches {ZONE}=z1, or label one of b",
            "free 1 cpu on a (needs 1 cpu, free 0 of 4), or add a node with 1 cpu free",
        ),
    ),
    "tainted and cordoned": (
        (
            node("a", taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]),
            node("b", unschedulable=True),
        ),
        (),
        pod("new"),
        ("uncordon b", "tolerate the taint gpu=yes:NoSchedule, or remove it from a"),
    ),
    "a port that is taken": (
        (A,),
        (pod("one", "a", ports=({"hostPort": 80},)),),
        pod("new", ports=({"hostPort": 80},)),
        ("free host port 80/TCP on a, or add a node",),
    ),
    "a topology key that no node has": (
        (A, B),
        (),
        pod("new", labels={"app": "web"}, topologySpreadConstraints=spread("rack")),
        (
            "no node has the label rack, which a topology spread constraint asks for: "
            "label the nodes, or change the topologyKey",
        ),
    ),
    "skewed, and the other zone is full": (
        (A, B),
        (pod("one", "a", labels={"app": "web"}), pod("full", "b", "4")),
        pod("new", cpu="1", labels={"app": "web"}, topologySpreadConstraints=spread()),
        (
            "free 1 cpu on b (needs 1 cpu, free 0 of 4), or add a node with 1 cpu free",
            f"make room in {ZONE}=z2, which has the fewest such pods, or raise maxSkew (now 1; pods per {ZONE}: z2 0, z1 1)",
        ),
    ),
    "near nobody": (
        (A,),
        (),
        pod("new", affinity=near()),
        (
            "its pod affinity matches nothing: no placed pod matches app=db (namespaces: default); "
            "start such a pod first, or change the selector",
        ),
    ),
    "near by a label that no node has": (
        (A,),
        (pod("db", "a", labels={"app": "db"}),),
        pod("new", affinity=near(key="rack")),
        (
            "no node has the label rack, which its pod affinity asks for: label the nodes, or change the topologyKey",
        ),
    ),
    "away from one on every node": (
        (A,),
        (pod("db", "a", labels={"app": "db"}),),
        pod("new", affinity=near("podAntiAffinity")),
        (
            f"pods that match app=db are in {HOSTNAME}=a: add a node with another {HOSTNAME}, or remove one of them",
        ),
    ),
    "kept away by one that is there": (
        (A,),
        (pod("db", "a", affinity=near("podAntiAffinity", app="web")),),
        pod("new", labels={"app": "web"}),
        ("pods on a keep it away by their own anti-affinity: remove them, change its labels, or add a node",),
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_what_would_have_to_change_is_said(name: str) -> None:
    nodes, pods, new, expected = TABLE[name]
    snapshot = cluster(nodes, pods)
    assert remedies(snapshot, default_policy(), snapshot.facts_of(new)) == expected


def test_a_way_out_that_is_taken_is_one() -> None:
    """Freeing exactly what the sentence names lets the pod in."""
    snapshot = cluster((A,), (pod("one", "a", "3"), pod("two", "a", "300m")))
    new = pod("new", cpu="1")
    (told,) = remedies(snapshot, default_policy(), snapshot.facts_of(new))
    assert told.startswith("free 300m cpu on a ")
    snapshot.observe("pods", pod("two", "a", "300m"), None)
    assert remedies(snapshot, default_policy(), snapshot.facts_of(new)) == ()


def test_preferences_that_nothing_can_meet_are_remarked_on() -> None:
    term = {"weight": 5, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}}
    new = pod(
        "new",
        topologySpreadConstraints=spread("rack", "ScheduleAnyway"),
        affinity={"nodeAffinity": {PREFERRED: [term]}},
    )
    snapshot = cluster((A, B))
    facts = snapshot.facts_of(new)
    assert remedies(snapshot, default_policy(), facts) == ()
    assert remarks(snapshot, facts) == (
        "no node has the label rack: what prefers to spread or gather by it has no effect",
        "no node matches disk, preferred with weight 5",
    )
