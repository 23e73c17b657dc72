"""Who is not asked would have had nothing to say: `heeds` and `adopts` against `keys` and `adopters`, change by change."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import msgspec
import pytest

from fairlead.cache.events import Listed, Started
from fairlead.cache.view import MirrorView
from fairlead.control.plane import Plane
from fairlead.control.roster import default_deciders
from fairlead.decision.contract import Decider
from fairlead.decision.heeds import (
    ALWAYS,
    ANY,
    ENDED,
    GONE,
    LEAVING,
    NEW,
    OWNED,
    PLACED,
    RELABELLED,
    facts_of,
)
from fairlead.model.views import PODS, Pod, Stored
from fairlead.store.contract import Entry, Key

AT = "2026-01-01T00:00:00Z"
DECIDERS = {decider.name: decider for decider in default_deciders()}
HEEDING = sorted(name for name, decider in DECIDERS.items() if hasattr(decider, "heeds"))
OWNERS: dict[str, dict[str, Any]] = {
    kind: {"apiVersion": version, "kind": kind, "name": name, "uid": f"uid-{kind}", "controller": controller}
    for kind, version, name, controller in (
        ("ReplicaSet", "apps/v1", "web-5d9f", True),
        ("StatefulSet", "apps/v1", "web", True),
        ("DaemonSet", "apps/v1", "web", True),
        ("Job", "batch/v1", "web", True),
        ("ConfigMap", "v1", "web", False),
    )
}
# What these look for in the view is not in this world: the table shows only that they are asked often enough by `keys`.
ELSEWHERE = frozenset({"endpoint-slices", "release", "returned"})
SELECTING = {
    "selector": {"matchLabels": {"app": "web"}},
    "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}},
}


def pod(
    owner: str = "", app: str = "web", leaving: bool = False, phase: str = "Running", node: str = ""
) -> Pod:
    metadata: dict[str, Any] = {
        "name": "one",
        "namespace": "default",
        "uid": "uid-one",
        "resourceVersion": "7",
        "labels": {"app": app, "pod-template-hash": "5d9f"},
        "ownerReferences": [OWNERS[owner]] if owner else [],
    }
    if leaving:
        metadata |= {"deletionTimestamp": AT, "finalizers": ["batch.kubernetes.io/job-tracking"]}
    spec = {"containers": [], **({"nodeName": node} if node else {})}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": {"phase": phase}}, Pod)


def pods() -> Iterator[Pod | None]:
    yield None
    for owner, app, leaving, phase, node in product(
        ("", *OWNERS), ("web", "other"), (False, True), ("Running", "Succeeded"), ("", "n1")
    ):
        yield pod(owner, app, leaving, phase, node)


CHANGES = [(before, after) for before, after in product(list(pods()), repeat=2) if before or after]


def world() -> MirrorView:
    """A namespace and a definition on their way out, of every kind that owns pods one that would take any of these, a pod whose owner is gone,
    and a node that repels all and is out of reach."""
    plane = Plane("test", tuple(DECIDERS.values()))
    for name, mirror in plane.mirrors.items():
        metadata: dict[str, Any] = {"name": "web", "uid": f"uid-{name}", "namespace": "default"}
        if name == "namespaces":
            metadata = {"name": "default", "uid": "uid-default", "deletionTimestamp": AT}
        selects = name.partition(".")[0] in ("replicasets", "statefulsets", "daemonsets")
        listed = []
        if selects or name == "namespaces":
            body = {"metadata": {**metadata, "resourceVersion": "5"}, "spec": SELECTING if selects else {}}
            key = Key(name, metadata.get("namespace", ""), metadata["name"])
            listed.append(Entry(key, metadata["uid"], 5, json.dumps(body).encode()))
        if name == "customresourcedefinitions.apiextensions.k8s.io":
            leaving = {"metadata": {"name": "jobs.batch", "uid": "uid-jobs", "deletionTimestamp": AT}}
            listed.append(Entry(Key(name, "", "jobs.batch"), "uid-jobs", 5, json.dumps(leaving).encode()))
        if name == PODS.name:
            orphan = {"metadata": msgspec.to_builtins(pod("Job").metadata)}
            listed.append(Entry(Key(name, "default", "one"), "uid-one", 7, json.dumps(orphan).encode()))
        if name == "nodes":
            node = {
                "metadata": {"name": "n1", "uid": "uid-n1", "resourceVersion": "5"},
                "spec": {
                    "taints": [
                        {"key": "away", "effect": "NoExecute"},
                        {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"},
                    ]
                },
            }
            listed.append(Entry(Key(name, "", "n1"), "uid-n1", 5, json.dumps(node).encode()))
        mirror.handle(Started(0.0))
        mirror.handle(Listed(9, tuple(listed), 0.0))
        assert not mirror.unreadable
    return MirrorView(plane.mirrors)


def heeded(decider: Decider, *declared: str) -> int:
    facts = ALWAYS
    for name in declared:
        facts = dict(getattr(decider, name, ())).get(PODS.name, facts)
    return facts


def is_heeded(facts: int, heeding: int) -> bool:
    return heeding == ALWAYS or bool(facts & heeding)


@pytest.mark.parametrize("name", HEEDING)
def test_a_change_that_is_not_heeded_wakes_nobody(name: str) -> None:
    decider = DECIDERS[name]
    view, named = world(), 0
    adopters: Any = getattr(decider, "adopters", None)
    for before, after in CHANGES:
        facts = facts_of(before, after)
        found: Iterable[Key] = tuple(decider.keys(PODS.name, before, after))
        assert not found or is_heeded(facts, heeded(decider, "heeds")), (before, after, found)
        adopting = tuple(adopters(view, PODS.name, before, after)) if adopters is not None else ()
        assert not adopting or is_heeded(facts, heeded(decider, "heeds", "adopts")), (before, after, adopting)
        named += bool(found) + bool(adopting)
    wanted = heeded(decider, "heeds") | (heeded(decider, "heeds", "adopts") if adopters is not None else 0)
    assert named or not wanted or name in ELSEWHERE, "nothing in this table wakes it: it shows nothing"


@pytest.mark.parametrize(
    ("before", "after", "facts"),
    [
        (None, pod(), NEW),
        (None, pod(node="n1"), NEW | PLACED),
        (pod(), None, GONE),
        (pod(), pod(), 0),
        (pod(), pod(node="n1"), PLACED),
        (pod(), pod(app="other"), RELABELLED),
        (pod(), pod(owner="Job"), OWNED),
        (pod(owner="ConfigMap"), pod(), OWNED),
        (pod(), pod(leaving=True), LEAVING),
        (pod(leaving=True), None, LEAVING | GONE),
        (pod(), pod(phase="Succeeded"), ENDED),
        (pod(phase="Succeeded"), pod(phase="Succeeded"), 0),
        (None, pod(phase="Failed"), NEW | ENDED),
        (None, Stored.of(Key("pods", "default", "one"), "uid-one", 7, b"{}"), ANY),
    ],
)
def test_facts_of_a_change(before: Pod | None, after: Pod | Stored | None, facts: int) -> None:
    assert facts_of(before, after) == facts
