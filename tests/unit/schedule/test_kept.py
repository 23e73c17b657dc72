"""What is kept up to date one place at a time is what is computed for all places at once."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any, cast

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from fairlead.model.key import Key
from fairlead.model.selectors import Requirement, label_selector
from fairlead.model.views.common import Owner
from fairlead.schedule import changes as changes_module
from fairlead.schedule import cycle as cycle_module
from fairlead.schedule import nodes as nodes_module
from fairlead.schedule.changes import CHANGES_MAX, Changes, OccupancyChange
from fairlead.schedule.contract import Yielding
from fairlead.schedule.cycle import Cycle
from fairlead.schedule.facts import Facts
from fairlead.schedule.matching import ANSWERS_KEPT, Clause, Meant
from fairlead.schedule.plugins.balanced_allocation import BalancedAllocation
from fairlead.schedule.plugins.node_resources_fit import LEAST, MOST, NodeResourcesFit, whole_parts
from fairlead.schedule.registry import default_policy
from tests.unit.schedule.clusters import HOSTNAME, ZONE, cluster, node, pod

WEB = {"app": "web"}
amounts = st.one_of(st.integers(0, 3), st.integers(0, 2**36), st.integers(0, 2**50))
rows = st.lists(st.tuples(amounts, amounts, amounts, amounts), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(rows, st.integers(0, 10**6), st.integers(0, 2**50), st.sampled_from((LEAST, MOST)))
def test_one_place_scores_what_it_scores_among_all(found: Any, cpu: int, memory: int, strategy: str) -> None:
    nodes = tuple(
        node(f"n{place}", room={"cpu": f"{cpus}m", "memory": str(memories)})
        for place, (cpus, memories, _, _) in enumerate(found)
    )
    pods = tuple(
        pod(f"p{place}", f"n{place}", f"{used}m", requests={"memory": str(more)})
        for place, (_, _, used, more) in enumerate(found)
    )
    snapshot = cluster(nodes, pods)
    facts = snapshot.facts_of(pod("p", cpu=f"{cpu}m", requests={"memory": str(memory)}))
    for plugin in (NodeResourcesFit(strategy), BalancedAllocation()):
        whole, by_one = plugin.prepare(snapshot, facts), plugin.prepare(snapshot, facts)
        if whole is None or by_one is None:
            continue
        expected, scores = whole.scores(snapshot.nodes.present), by_one.scores(snapshot.nodes.present)
        assert expected is not None
        assert scores is not None
        scores[:] = -1
        mask, expected_mask = by_one.mask(), whole.mask()
        if mask is not None:
            mask[:] = False
        for slot in snapshot.nodes.slot.values():
            assert by_one.touched(OccupancyChange(slot, facts, 1)) is False
            assert scores[slot] == expected[slot]
            assert mask is None or expected_mask is None or mask[slot] == expected_mask[slot]


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 2**45), st.integers(0, 1000), st.integers(-2, 2))
def test_shares_are_whole_to_the_last_unit(of: int, share: int, beside: int) -> None:
    amount = max(0, share * of + beside)
    assert whole_parts(np.array([amount]), np.array([of]))[0] == amount // of


def affinity(random: Random) -> dict[str, Any]:
    term = {"topologyKey": random.choice((HOSTNAME, ZONE)), "labelSelector": {"matchLabels": WEB}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spreading(random: Random) -> list[dict[str, Any]]:
    constraint = {"maxSkew": random.randint(1, 2), "topologyKey": random.choice((HOSTNAME, ZONE))}
    return [{**constraint, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": WEB}}]


def drawn(random: Random, name: str, on: str = "") -> Any:
    more: dict[str, Any] = {}
    if random.random() < 0.2:
        more["affinity"] = affinity(random)
    if random.random() < 0.2:
        more["topologySpreadConstraints"] = spreading(random)
    if random.random() < 0.2:
        more["ports"] = ({"containerPort": 1, "hostPort": random.choice((80, 81))},)
    labels = random.choice(({}, WEB))
    cpu = random.choice(("", "1", "2", "3"))
    return pod(name, on, cpu, labels, priority=random.choice((0, 0, 1, 5)), **more)


@pytest.mark.parametrize("seed", range(60))
def test_a_cycle_that_lives_long_places_evicts_and_explains_like_a_new_one(seed: int) -> None:
    random = Random(seed)
    nodes = tuple(node(f"n{number}", f"z{number % 3}") for number in range(random.randint(2, 9)))
    snapshot, policy = cluster(nodes), default_policy()
    kept = Cycle(snapshot, policy)
    there: dict[str, Any] = {}
    for number in range(70):
        name = f"p{number}"
        what = random.random()
        if what < 0.3 and there:
            gone = there.pop(random.choice(sorted(there)))
            snapshot.observe("pods", gone, None)
        elif what < 0.4 and there:
            old = there[random.choice(sorted(there))]
            there[old.metadata.name] = drawn(random, old.metadata.name, random.choice(nodes).metadata.name)
            snapshot.observe("pods", old, there[old.metadata.name])
        else:
            incoming = drawn(random, name)
            fresh = Cycle(snapshot, policy).place(incoming, assume=False)
            assert kept.place(incoming, assume=False) == fresh
            assert kept.place(incoming) == fresh
            there[name] = incoming


@pytest.mark.parametrize("strategy", [LEAST, MOST])
@pytest.mark.parametrize("seed", range(10))
def test_the_best_few_are_those_of_all_whatever_came_and_went_since(seed: int, strategy: str) -> None:
    random = Random(seed)
    nodes = tuple(node(f"n{number:02}", room={"cpu": str(random.choice((6, 8)))}) for number in range(12))
    plain = default_policy()
    others = (each for each in plain.plugins if each.name != NodeResourcesFit.name)
    snapshot, policy = cluster(nodes), replace(plain, plugins=(*others, NodeResourcesFit(strategy)))
    kept = Cycle(snapshot, policy)
    there: list[Any] = []
    for number in range(60):
        for each in range(random.randint(0, 4)):
            if there and random.random() < 0.5:
                snapshot.observe("pods", there.pop(random.randrange(len(there))), None)
            else:
                more = pod(f"q{number}-{each}", random.choice(nodes).metadata.name, random.choice(("1", "2")))
                snapshot.observe("pods", None, more)
                there.append(more)
        incoming = pod(f"p{number}", cpu=random.choice(("500m", "1")))
        state, fresh = (each.state(snapshot.facts_of(incoming)) for each in (kept, Cycle(snapshot, policy)))
        assert state.best() == fresh.best()
        for slot in np.flatnonzero(fresh.open):
            assert state.ranking(int(slot)) == fresh.ranking(int(slot))
        assert (state.keys == fresh.keys).all()
        kept.place(incoming)


@pytest.mark.parametrize("seed", range(30))
def test_what_passes_without_nobody_is_what_passes(seed: int) -> None:
    random = Random(seed)
    nodes = tuple(node(f"n{number}", f"z{number % 3}") for number in range(6))
    pods = tuple(drawn(random, f"p{number}", f"n{random.randint(0, 5)}") for number in range(14))
    snapshot = cluster(nodes, pods)
    for number in range(8):
        facts = snapshot.facts_of(drawn(random, f"new-{number}"))
        for plugin in default_policy().plugins:
            prepared = plugin.prepare(snapshot, facts) if plugin.evicting_helps else None
            mask = None if prepared is None else prepared.mask()
            if prepared is not None and mask is not None:
                for slot in snapshot.nodes.slot.values():
                    assert cast(Yielding, prepared).without(slot, ()) == mask[slot], plugin.name


def test_whoever_is_too_far_behind_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes_module, "CHANGES_MAX", 4)
    facts = cluster(()).facts_of(pod("p"))
    changes = Changes()
    for slot in range(7):
        changes.append(OccupancyChange(slot, facts, 1))
    assert [each.slot for each in changes.since(5) or ()] == [5, 6]
    assert changes.since(5, at_most=1) is None
    changes.append(OccupancyChange(7, facts, 1))
    assert (changes.end, changes.since(3)) == (8, None)
    assert [each.slot for each in changes.since(4) or ()] == [4, 5, 6, 7]
    assert changes.since(8) == []


def test_classes_are_kept_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cycle_module, "CLASS_SLOTS_MAX", 0)
    cycle = Cycle(cluster((node("a", room={"cpu": "100"}),)), default_policy())
    for number in range(40):
        assert cycle.place(pod(f"p{number}", cpu=f"{number + 1}m")).node == "a"
    assert len(cycle._states) == 16


def of_set(number: int) -> Any:
    """A pod of a ReplicaSet of its own: a class of its own, spread by default."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"web-{number}", "uid": f"rs-{number}"}
    made = pod(f"p{number}", cpu="1m", labels={"app": "web", "pod-template-hash": str(number)})
    return structs.replace(
        made,
        metadata=structs.replace(
            made.metadata, owner_references=(msgspec.convert({**owner, "controller": True}, Owner),)
        ),
    )


def test_classes_of_pods_that_came_and_went_leave_nothing_behind() -> None:
    snapshot = cluster((node("a", room={"cpu": "100"}), node("b", room={"cpu": "100"})))
    cycle = Cycle(snapshot, default_policy())
    stays = of_set(0)
    assert cycle.place(stays).node
    facts = snapshot.facts_of(stays)
    for number in range(1, 1500):
        one = of_set(number)
        assert cycle.place(one).node
        snapshot.forget(Key("pods", "default", one.metadata.name), one.metadata.uid)
    assert len(cycle._states) < 40
    assert len(snapshot.matching._counts) <= 256
    known = {*snapshot.matching._by_none, *(m for each in snapshot.matching._by_pair.values() for m in each)}
    assert known == set(snapshot.matching._counts)
    assert len(snapshot.facts_of._known) < CHANGES_MAX * 2 + 40, "those that comings and goings name"
    assert snapshot.facts_of(stays) is facts
    snapshot.changes._kept.clear()
    cycle._states.clear()
    cycle._preemption._remembered.clear()
    del one
    snapshot.facts_of._last = None
    assert len(snapshot.facts_of._known) == 1


@pytest.mark.parametrize(
    "requirements",
    [
        (Requirement("app", "in", ("web",)),),
        (Requirement("app", "in", ("web",)), Requirement("tier", "in", ("front",))),
        (Requirement("app", "in", ("db", "web")),),
        (Requirement("app", "exists"),),
        (Requirement("app", "notin", ("db",)),),
        (),
    ],
)
def test_groups_that_come_later_are_counted_by_whoever_means_them(
    requirements: tuple[Requirement, ...],
) -> None:
    snapshot = cluster((node("a"), node("b")))
    meant = [
        Meant((Clause(label_selector(requirements), namespaces),))
        for namespaces in (None, frozenset({"default"}))
    ]
    for each in meant:
        snapshot.matching.counts(each)
    snapshot.matching.counts(Meant((Clause(label_selector((Requirement("app", "in", ("web",)),)), None),)))
    labels: list[dict[str, str]] = [{"app": "web", "tier": "front"}, {"app": "web"}, {"app": "db"}, {}]
    for number, one in enumerate(labels):
        snapshot.observe("pods", None, pod(f"p{number}", "a", labels=one))
    for each in meant:
        expected = sum(each.matches("default", one, {}) for one in labels)
        assert snapshot.matching.counts(each)[snapshot.nodes.slot["a"]] == expected


def test_columns_made_for_classes_are_fewer_where_nodes_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes_module, "_DERIVED_SLOTS", 64 * 100)
    nodes = cluster((node("a"),)).nodes
    for number in range(500):
        assert nodes.derived(number, lambda: "made") == "made"
        nodes.topology(f"key-{number}")
    assert len(nodes._derived) <= 100
    assert len(nodes._topologies) <= 256


def test_what_a_class_knows_of_others_is_bounded() -> None:
    snapshot = cluster((node("a", room={"cpu": "100"}), node("b", room={"cpu": "100"})))
    spread = [{"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule",
               "labelSelector": {"matchLabels": WEB}}]  # fmt: skip
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "db"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    state = Cycle(snapshot, default_policy()).state(
        snapshot.facts_of(pod("web", labels=WEB, topologySpreadConstraints=spread, affinity=apart))
    )
    for number in range(3 * ANSWERS_KEPT):
        other = snapshot.facts_of(pod(f"p{number}", labels={"job": str(number)}))
        state.catch_up((OccupancyChange(0, other, 1), OccupancyChange(0, other, -1)), state.seen + 2)
    kept = [len(value) for value in dictionaries(state)]
    assert max(kept) <= ANSWERS_KEPT


def dictionaries(state: Any) -> list[dict[Any, Any]]:
    """All that its plugins keep by class, however deep."""
    found: list[dict[Any, Any]] = []
    seen: set[int] = set()
    todo = [prepared for _, prepared in state.prepared]
    while todo:
        one = todo.pop()
        if id(one) in seen or type(one).__module__.startswith(
            ("fairlead.schedule.snapshot", "fairlead.model")
        ):
            continue
        seen.add(id(one))
        if isinstance(one, dict):
            if any(isinstance(key, Facts) for key in one):
                found.append(one)
        elif isinstance(one, list | tuple):
            todo += one
        elif type(one).__module__.startswith("fairlead.schedule.plugins"):
            todo += list(vars(one).values())
    return found


def test_a_column_slot_by_slot_is_the_column_however_many_nodes_come() -> None:
    snapshot = cluster(tuple(node(f"n{number:03}") for number in range(70)))
    nodes, first = snapshot.nodes, snapshot.nodes.slots
    snapshot.observe("pods", None, pod("early", "n000", "1", requests={"example.com/gpu": "1"}))
    for number in range(70, 2 * first):
        snapshot.observe("nodes", None, node(f"n{number:03}"))
    snapshot.observe("pods", None, pod("late", f"n{first:03}", "1", requests={"example.com/gpu": "1"}))
    assert nodes.slots > first
    for resource in ("cpu", "memory", "pods", "example.com/gpu"):
        assert [each.tolist() for each in nodes.cells(resource)] == [
            each.tolist() for each in nodes.column(resource)
        ]
    assert nodes.scored_cells == (nodes.scored_cpu.data, nodes.scored_memory.data)
    assert sum(nodes.column("example.com/gpu")[1]) == 2
