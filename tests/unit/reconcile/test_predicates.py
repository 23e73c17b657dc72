"""A predicate loses no wake-up: for a change that it leaves out, the mapping names nothing. Shown for changes of pods."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import msgspec
import pytest

from fairlead.cache.events import Listed
from fairlead.cache.view import MirrorView
from fairlead.control.plane import Plane
from fairlead.control.roster import default_deciders
from fairlead.decision.decider import Decider, Wake, WatchEvent, key_of
from fairlead.decision.predicates import (
    ADDRESSED,
    ANY,
    CHANGED,
    ENDED,
    GONE,
    LEAVING,
    NEW,
    OWNED,
    PLACED,
    PRESENT,
    RELABELLED,
    RELEASING,
    UNHEARD,
    Predicate,
    facts_of,
)
from fairlead.model.key import Key
from fairlead.model.marks import DISRUPTION_TARGET, RELEASED
from fairlead.model.reasons import LOST
from fairlead.model.service_views import SERVICES
from fairlead.model.views import LEASES, OVERRIDES, PODS, Pod, Resource, Stored, View
from fairlead.port.driving import Started
from fairlead.store.contract import Entry

AT = "2026-01-01T00:00:00Z"
DECIDERS = {decider.name: decider for decider in default_deciders()}
# Predicates that say themselves which changes count: the mapping would name keys for others as well.
NARROWING: dict[tuple[str, str], frozenset[Predicate]] = {
    ("deployment", PODS.name): frozenset({GONE}),  # Recreate waits for the end of pods
    ("statefulset", PODS.name): frozenset({GONE}),  # a name is free
    ("release", PODS.name): frozenset({PLACED | LEAVING}),
    ("taint-eviction", PODS.name): frozenset({PLACED}),
    ("override-drain", PODS.name): frozenset({PLACED}),
    ("overrides", PODS.name): frozenset({ENDED | GONE}),
    ("resource-quota", PODS.name): frozenset({GONE}),
    ("reservation", PODS.name): frozenset({GONE}),  # any object may own one
    ("resource-quota", LEASES.name): frozenset({GONE}),
    ("reservation", LEASES.name): frozenset({GONE}),
    # A renewal as such says nothing.
    ("disruption", LEASES.name): frozenset({NEW | GONE}),
    ("evidence-policy", LEASES.name): frozenset({NEW | GONE}),
    ("node-health", LEASES.name): frozenset({NEW | GONE, PRESENT}),
}
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
SELECTING = {
    "selector": {"matchLabels": {"app": "web"}},
    "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}},
}


def pod(
    owner: str = "",
    app: str = "web",
    leaving: bool = False,
    phase: str = "Running",
    node: str = "",
    released: str = "",
    disrupted: str = "",
    address: str = "",
    unready: str = "",
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
    conditions = [
        {"type": kind, "status": status}
        for kind, status in ((RELEASED, released), (DISRUPTION_TARGET, disrupted))
        if status
    ]
    if unready:
        conditions.append({"type": "Ready", "status": "Unknown", "reason": unready})
    status = {"phase": phase, "conditions": conditions, "podIP": address}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, Pod)


def pods() -> Iterator[Pod | None]:
    yield None
    for owner, app, leaving, phase, node in product(
        ("", *OWNERS), ("web", "other"), (False, True), ("Running", "Succeeded"), ("", "n1")
    ):
        yield pod(owner, app, leaving, phase, node)
    for owner, leaving, released in product(("", "ReplicaSet"), (False, True), ("False", "True")):
        yield pod(owner, leaving=leaving, node="n1", released=released)
    for disrupted in ("False", "True"):
        yield pod(disrupted=disrupted)
    yield pod(node="n1", unready=LOST)
    yield pod(node="n1", unready="ContainersNotReady")
    for app, phase in product(("web", "other"), ("Running", "Succeeded")):
        yield pod(app=app, phase=phase, node="n1", address="10.0.0.1")


CHANGES = [(before, after) for before, after in product(list(pods()), repeat=2) if before or after]


def world(*, ends: bool = True) -> MirrorView:
    """Unless nothing `ends`: a namespace and a definition on their way out, of every kind that owns pods one that would take any of these, a Service that selects some,
    a pod whose owner is gone, and a node that repels all and is out of reach."""
    plane = Plane("test", tuple(DECIDERS.values()))
    for name, mirror in plane.mirrors.items():
        metadata: dict[str, Any] = {"name": "web", "uid": f"uid-{name}", "namespace": "default"}
        if name == "namespaces":
            metadata = {"name": "default", "uid": "uid-default", "deletionTimestamp": AT if ends else ""}
        selects = name.partition(".")[0] in ("replicasets", "statefulsets", "daemonsets")
        listed = []
        if name == SERVICES.name:
            body = {"metadata": {**metadata, "resourceVersion": "5"}, "spec": {"selector": {"app": "web"}}}
            listed.append(Entry(Key(name, "default", "web"), metadata["uid"], 5, json.dumps(body).encode()))
        if selects or name == "namespaces":
            body = {"metadata": {**metadata, "resourceVersion": "5"}, "spec": SELECTING if selects else {}}
            key = Key(name, metadata.get("namespace", ""), metadata["name"])
            listed.append(Entry(key, metadata["uid"], 5, json.dumps(body).encode()))
        if name == "customresourcedefinitions.apiextensions.k8s.io":
            leaving = {
                "metadata": {"name": "jobs.batch", "uid": "uid-jobs", "deletionTimestamp": AT if ends else ""}
            }
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
        if name == OVERRIDES.name:
            calm = {
                "metadata": {**metadata, "resourceVersion": "5"},
                "spec": {"target": "cluster", "changes": {"drain": True}},
                "status": {"residue": ["pod default/one"]},
            }
            listed.append(Entry(Key(name, "default", "web"), metadata["uid"], 5, json.dumps(calm).encode()))
        mirror.handle(Started(0.0))
        mirror.handle(Listed(9, tuple(listed), 0.0))
        assert not mirror.unreadable
    return MirrorView(plane.mirrors)


def guarded(decider: Decider, resource: Resource[Any]) -> list[Wake[Any]]:
    """Its wakes on a resource with a predicate that is a promise about the mapping."""
    narrowing = NARROWING.get((decider.name, resource.name), frozenset())
    return [
        wake
        for wake in decider.wakes
        if wake.resource.name == resource.name and wake.when != ANY and wake.when not in narrowing
    ]


def lost(
    wake: Wake[Any], view: MirrorView, changes: Iterable[tuple[View | None, View | None]]
) -> tuple[list[WatchEvent[View]], int]:
    """The changes that its predicate leaves out and its mapping would name keys for; for how many it names any."""
    missed, named = [], 0
    for before, after in changes:
        newest = after if after is not None else before
        assert newest is not None
        event = WatchEvent(view, key_of(wake.resource.name, newest), before, after)
        if tuple(wake.keys(event)):
            named += 1
            if not wake.when & facts_of(before, after):
                missed.append(event)
    return missed, named


@pytest.mark.parametrize("name", sorted(name for name in DECIDERS if guarded(DECIDERS[name], PODS)))
def test_a_predicate_leaves_out_no_change_that_the_mapping_names_keys_for(name: str) -> None:
    view = world()
    for wake in guarded(DECIDERS[name], PODS):
        missed, named = lost(wake, view, CHANGES)
        assert not missed, missed[0]
        assert named, "nothing in this table wakes it: it shows nothing"


def test_what_is_asked_only_while_something_is_being_deleted_names_nothing_at_other_times() -> None:
    calm, ending = world(ends=False), world()
    for decider in DECIDERS.values():
        asked = [each for each in decider.wakes if each.while_leaving is not None and each.resource == PODS]
        for wake in asked:
            assert lost(wake, calm, CHANGES)[1] == 0
            assert lost(wake, ending, CHANGES)[1] > 0
    assert any(each.while_leaving is not None for each in DECIDERS["namespace"].wakes)


def test_what_is_said_to_narrow_does() -> None:
    found: dict[tuple[str, str], set[Predicate]] = {}
    for name, decider in DECIDERS.items():
        for wake in decider.wakes:
            found.setdefault((name, wake.resource.name), set()).add(wake.when)
    assert all(whens <= found[at] for at, whens in NARROWING.items())


@pytest.mark.parametrize(
    ("before", "after", "facts"),
    [
        (None, pod(), NEW),
        (None, pod(node="n1"), NEW | PLACED),
        (pod(), None, GONE),
        (pod(), pod(), CHANGED),
        (pod(), pod(node="n1"), CHANGED | PLACED),
        (pod(), pod(app="other"), CHANGED | RELABELLED),
        (pod(), pod(owner="Job"), CHANGED | OWNED),
        (pod(owner="ConfigMap"), pod(), CHANGED | OWNED),
        (pod(), pod(leaving=True), CHANGED | LEAVING),
        (pod(leaving=True), None, LEAVING | GONE),
        (pod(), pod(phase="Succeeded"), CHANGED | ENDED),
        (pod(phase="Succeeded"), pod(phase="Succeeded"), CHANGED),
        (None, pod(phase="Failed"), NEW | ENDED),
        (None, Stored.of(Key("pods", "default", "one"), "uid-one", 7, b"{}"), ANY & ~(GONE | CHANGED)),
        (pod(released="True"), pod(), CHANGED | RELEASING),
        (None, pod(address="10.0.0.1"), NEW | ADDRESSED),
        (pod(address="10.0.0.1"), None, GONE | ADDRESSED),
        (pod(address="10.0.0.1"), pod(), CHANGED | ADDRESSED),
        (pod(), pod(address="10.0.0.1"), CHANGED | ADDRESSED),
        (pod(), pod(unready=LOST), CHANGED | UNHEARD),
        (pod(unready=LOST), pod(), CHANGED | UNHEARD),
        (pod(unready="ContainersNotReady"), pod(), CHANGED),
    ],
)
def test_facts_of_a_change(before: Pod | None, after: Pod | Stored | None, facts: Predicate) -> None:
    assert facts_of(before, after) == facts
