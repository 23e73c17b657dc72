"""A snapshot that lived through any sequence of changes is the one that is built from scratch from what is left."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import pytest

from fairlead.model.key import Key
from fairlead.model.views import Namespace, Node, Pod
from fairlead.schedule.cycle import Cycle
from fairlead.schedule.registry import default_policy
from fairlead.schedule.snapshot import Snapshot
from tests.conftest import SOAK
from tests.oracle.generating import Case, case
from tests.oracle.kernel import ask, viewed

Json = dict[str, Any]

LIVES = 2_000 if SOAK else 120
EVENTS = 60
VIEWS = {"namespaces": Namespace, "nodes": Node, "pods": Pod}


class Life:
    """A snapshot, and beside it the objects that there are and the pods that are assumed to be somewhere."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.case: Case = case(seed)
        self.snapshot = Snapshot()
        self.objects: dict[str, dict[str, Json]] = {resource: {} for resource in VIEWS}
        self.assumed: dict[str, tuple[Json, str]] = {}
        cluster = self.case.cluster
        self.drawn = {
            "namespaces": cluster.namespaces,
            # More than there is room for at first: columns must grow.
            "nodes": [
                *cluster.nodes,
                *(_again(each, f"m{n}") for n in range(0, 80, 12) for each in cluster.nodes),
            ],
            "pods": [*cluster.pods, *self.case.pods],
        }

    def put(self, resource: str, obj: Json) -> None:
        name = obj["metadata"]["name"]
        before = self.objects[resource].get(name)
        self.objects[resource][name] = obj
        self._observe(resource, before, obj)
        bound = resource == "pods" and obj["spec"].get("nodeName")
        if resource == "pods" and name in self.assumed:
            other = obj["metadata"]["uid"] != self.assumed[name][0]["metadata"]["uid"]
            if bound or other or obj.get("status", {}).get("phase") in ("Succeeded", "Failed"):
                del self.assumed[name]

    def remove(self, resource: str, name: str) -> None:
        self._observe(resource, self.objects[resource].pop(name), None)
        if resource == "pods":
            self.assumed.pop(name, None)

    def _observe(self, resource: str, before: Json | None, after: Json | None) -> None:
        view: Any = VIEWS[resource]
        seen = [None if each is None else viewed(each, view) for each in (before, after)]
        self.snapshot.observe(resource, *seen)

    # What may happen

    def happen(self, *resources: str) -> None:
        random = self.random
        resource = random.choice(resources or ("pods", "pods", "pods", "nodes", "nodes", "namespaces"))
        known = self.objects[resource]
        what = random.random()
        if what < 0.4 or not known:
            self.put(resource, copy.deepcopy(random.choice(self.drawn[resource])))
        elif what < 0.5:
            self.remove(resource, random.choice(sorted(known)))
        elif what < 0.65:
            self.put(resource, self._changed(resource, known[random.choice(sorted(known))]))
        elif what < 0.85:
            self._assume()
        elif self.assumed:
            self._forget()
        if random.random() < 0.1:
            self.look()

    def _changed(self, resource: str, obj: Json) -> Json:
        obj, other = copy.deepcopy(obj), self.random.choice(self.drawn[resource])
        if resource == "pods" and self.random.random() < 0.6:
            change = self.random.choice(("end", "leave", "bind", "again"))
            if change == "end":
                obj["status"] = {"phase": "Failed"}
            elif change == "leave":
                obj["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
            elif change == "bind":
                obj["spec"]["nodeName"] = self.random.choice(self.drawn["nodes"])["metadata"]["name"]
            else:
                obj["metadata"]["uid"] += "'"
                obj["spec"].pop("nodeName", None)
            return obj
        obj["metadata"]["labels"] = copy.deepcopy(other["metadata"]["labels"])
        if resource == "nodes":
            obj["spec"], obj["status"] = copy.deepcopy(other["spec"]), copy.deepcopy(other["status"])
        return obj

    def _assume(self) -> None:
        free = [each for each in self.objects["pods"].values() if not each["spec"].get("nodeName")]
        free = [each for each in free if each["metadata"]["name"] not in self.assumed]
        if not free or not self.objects["nodes"]:
            return
        pod, node = self.random.choice(free), self.random.choice(sorted(self.objects["nodes"]))
        if pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            return
        self.snapshot.assume(viewed(pod, Pod), node)
        self.assumed[pod["metadata"]["name"]] = (pod, node)

    def _forget(self) -> None:
        pod, _ = self.assumed[self.random.choice(sorted(self.assumed))]
        meta = pod["metadata"]
        right = self.random.random() < 0.7
        self.snapshot.forget(
            Key("pods", meta["namespace"], meta["name"]), meta["uid"] if right else "another"
        )
        if right:
            del self.assumed[meta["name"]]

    def look(self) -> None:
        """What plugins ask for is kept from then on; it must be kept right."""
        pod = viewed(self.random.choice(self.case.pods), Pod)
        Cycle(self.snapshot, default_policy()).place(pod, assume=False)

    # From scratch

    def rebuilt(self) -> Snapshot:
        snapshot = Snapshot()
        everything = [(resource, each) for resource, found in self.objects.items() for each in found.values()]
        self.random.shuffle(everything)
        for resource, each in everything:
            view: Any = VIEWS[resource]
            snapshot.observe(resource, None, viewed(each, view))
        for pod, node in self.assumed.values():
            snapshot.assume(viewed(pod, Pod), node)
        return snapshot


def _again(node: Json, name: str) -> Json:
    name = f"{name}-{node['metadata']['name']}"
    return {**node, "metadata": {**node["metadata"], "name": name, "uid": name}}


def columns(snapshot: Snapshot) -> dict[str, Any]:
    """What the columns say of each node; amounts that are nought are as good as absent."""
    nodes = snapshot.nodes
    told = {}
    for name, slot in nodes.slot.items():
        amounts = {
            (kind, resource): int(column[slot])
            for kind, found in (("has", nodes.allocatable), ("used", nodes.used))
            for resource, column in found.items()
            if column[slot]
        }
        scored = int(nodes.scored_cpu[slot]), int(nodes.scored_memory[slot])
        told[name] = (nodes.facts[slot], bool(nodes.unschedulable[slot]), amounts, scored)
    return told


def whereabouts(snapshot: Snapshot) -> Any:
    placed = {
        key: (each.uid, each.node, each.started, each.leaving, each.assumed)
        for key, each in snapshot.placed.items()
    }
    on = {name: set(found) for name, found in snapshot.on.items()}
    ports = {name: taken for name, taken in snapshot.ports.items() if taken and name in snapshot.nodes.slot}
    return placed, on, ports, set(snapshot.assumed)


def lived(seed: int) -> Life:
    life = Life(seed)
    for resource, drawn in life.drawn.items():
        for obj in drawn[:: 1 if resource == "namespaces" else 2]:
            life.put(resource, copy.deepcopy(obj))
    life.look()
    for obj in life.drawn["nodes"][1::2]:
        life.put("nodes", copy.deepcopy(obj))
    for _ in range(EVENTS):
        life.happen()
    return life


@pytest.mark.parametrize("seed", range(LIVES))
def test_a_snapshot_is_what_it_would_be_if_built_from_what_is_left(seed: int) -> None:
    life = lived(seed)
    fresh = life.rebuilt()
    assert columns(life.snapshot) == columns(fresh)
    assert whereabouts(life.snapshot) == whereabouts(fresh)
    policy = default_policy()
    for pod in life.case.pods:
        view = viewed(pod, Pod)
        grown, built = (
            ask(Cycle(each, policy, preempting=False), each, view, False) for each in (life.snapshot, fresh)
        )
        assert grown == built, f"seed {seed}, pod {view.metadata.name}"


@pytest.mark.parametrize("seed", range(LIVES))
def test_a_cycle_that_lives_with_its_snapshot_answers_like_a_new_one(seed: int) -> None:
    """Pods come, change and go while it keeps what it knows of each class; now and then nodes do too."""
    life, policy = lived(seed), default_policy()
    cycle = Cycle(life.snapshot, policy, preempting=False)
    for number in range(EVENTS):
        life.happen(*(("pods",) if number % 20 else ()))
        if life.random.random() < 0.4:
            view = viewed(life.random.choice(life.case.pods), Pod)
            kept = ask(cycle, life.snapshot, view, False)
            fresh = ask(Cycle(life.snapshot, policy, preempting=False), life.snapshot, view, False)
            assert kept == fresh, f"seed {seed}, event {number}, pod {view.metadata.name}"
