"""Quotas, reservations and capacity classes as the scheduler sees them, and policies made from objects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec import structs

from fairlead.model.views import PlacementQuota, Pod, Reservation, SchedulingPolicy
from fairlead.schedule.changes import OccupancyChange
from fairlead.schedule.contract import Plugin
from fairlead.schedule.cycle import Cycle
from fairlead.schedule.plugins.capacity_class import CapacityClasses, class_from
from fairlead.schedule.plugins.node_resources_fit import NodeResourcesFit
from fairlead.schedule.plugins.placement_quota import PlacementQuotas
from fairlead.schedule.plugins.reservations import Reservations
from fairlead.schedule.registry import PLUGINS, WEIGHTS, default_policy, policy_from
from fairlead.schedule.snapshot import Snapshot
from tests.unit.schedule.clusters import ZONE, cluster, node, pod, viewed

Json = dict[str, Any]
QUOTAS, RESERVATIONS = "placementquotas.fairlead.dev", "reservations.fairlead.dev"


def quota(name: str, hard: Json, zone: str = "", used: Json | None = None) -> PlacementQuota:
    spec: Json = {"hard": hard, "nodeSelector": {"matchLabels": {ZONE: zone}} if zone else {}}
    meta = {"name": name, "uid": name, "namespace": "default", "generation": 1}
    return viewed({"metadata": meta, "spec": spec, "status": {"used": used or {}}}, PlacementQuota)


def reservation(name: str, at: str, cpu: str = "3", owner: str = "rs-1", **spec: Any) -> Reservation:
    whole = {
        "owner": {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": owner},
        "intent": "x",
        "requests": {"cpu": cpu},
        **spec,
    }
    meta = {"name": name, "uid": name, "namespace": "default"}
    return viewed(
        {"metadata": meta, "spec": whole, "status": {"phase": "Active", "nodeName": at}}, Reservation
    )


def owned(
    incoming: Pod, uid: str = "rs-1", names: str = "", kind: str = "ReplicaSet", api_version: str = "apps/v1"
) -> Pod:
    owner = {"apiVersion": api_version, "kind": kind, "name": "web", "uid": uid, "controller": True}
    annotations = {"fairlead.dev/reservation": names} if names else {}
    meta: Json = {
        "name": incoming.metadata.name,
        "uid": "u",
        "namespace": "default",
        "annotations": annotations,
    }
    if uid:
        meta["ownerReferences"] = [owner]
    return structs.replace(incoming, metadata=viewed({"metadata": meta}, Pod).metadata)


def told(plugin: Plugin, snapshot: Snapshot, incoming: Pod) -> tuple[str, dict[str, int]]:
    """(where it may go, why not elsewhere)."""
    prepared = plugin.prepare(snapshot, snapshot.facts_of(incoming))
    slots = snapshot.nodes.slot
    mask = None if prepared is None else prepared.mask()
    if prepared is None or mask is None:
        return "".join(sorted(slots)), {}
    refused = np.array([slot for slot in slots.values() if not mask[slot]], np.int64)
    where = "".join(sorted(name for name, slot in slots.items() if mask[slot]))
    return where, prepared.reasons(refused) if len(refused) else {}


NODES = (node("a", "1"), node("b", "1"), node("c", "2"))


def test_a_full_quota_keeps_a_namespace_off_its_nodes() -> None:
    snapshot = cluster(NODES, (pod("x", on="a", cpu="1"),))
    snapshot.observe(QUOTAS, None, quota("zone-1", {"cpu": "1500m"}, "1"))
    assert told(PlacementQuotas(), snapshot, pod("p", cpu="500m")) == ("abc", {})
    why = "quota/zone-1: exceeded cpu (requested 600m, used 1, limited 1500m)"
    assert told(PlacementQuotas(), snapshot, pod("p", cpu="600m")) == ("c", {why: 2})
    elsewhere = structs.replace(
        pod("p", cpu="600m"), metadata=structs.replace(pod("p").metadata, namespace="o")
    )
    assert told(PlacementQuotas(), snapshot, elsewhere) == ("abc", {})


@pytest.mark.parametrize(("said", "where"), [({}, "abc"), ({"pods": "1"}, "abc"), ({"pods": "2"}, "c")])
def test_what_the_status_says_counts_if_it_is_more(said: Json, where: str) -> None:
    snapshot = cluster(NODES, (pod("x", on="a"),))
    snapshot.observe(QUOTAS, None, quota("q", {"pods": "2"}, "1", said))
    assert told(PlacementQuotas(), snapshot, pod("p"))[0] == where


def test_placements_of_a_batch_fill_a_quota_up() -> None:
    snapshot = cluster(NODES)
    snapshot.observe(QUOTAS, None, quota("all", {"pods": "2"}))
    cycle = Cycle(snapshot, default_policy())
    attempts = [cycle.place(pod(name)) for name in ("p1", "p2", "p3")]
    assert [bool(attempt.node) for attempt in attempts] == [True, True, False]
    assert attempts[2].message.startswith(
        "0/3 nodes are available: 3 quota/all: exceeded pods (requested 1, used 2, limited 2)."
    )
    assert attempts[2].refusals[0].concerns == ("quota-admin",)
    epoch = snapshot.epoch
    snapshot.observe(QUOTAS, quota("all", {"pods": "2"}), quota("all", {"pods": "2"}, used={"pods": "2"}))
    assert snapshot.epoch == epoch, "a status that catches up is no news"
    snapshot.forget(attempts[0].key, attempts[0].uid)
    snapshot.observe(QUOTAS, None, quota("all", {"pods": "2"}, used={"pods": "1"}))
    assert cycle.place(pod("p4")).node


def released(name: str, at: str, given: str = "", uid: str = "rs-1") -> Pod:
    conditions = [{"type": "fairlead.dev/Released", "status": "True"}]
    conditions += [{"type": "fairlead.dev/QuotaGiven", "status": "True", "reason": given}] if given else []
    status = viewed(
        {"metadata": {"name": name, "uid": name}, "status": {"conditions": conditions}}, Pod
    ).status
    return structs.replace(owned(pod(name, on=at, cpu="1"), uid), status=status)


@pytest.mark.parametrize(
    ("given", "uid", "where"),
    [("", "rs-1", "abc"), ("Created", "rs-1", "abc"), ("Bound", "rs-1", "abc"), ("", "rs-2", "")],
    ids=["its owner's", "created", "bound", "another's"],
)
def test_what_a_released_pod_holds_is_for_the_next_of_its_owner(given: str, uid: str, where: str) -> None:
    snapshot = cluster(NODES, (released("x", "a", given),))
    snapshot.observe(QUOTAS, None, quota("all", {"pods": "1"}))
    assert told(PlacementQuotas(), snapshot, owned(pod("p", cpu="1"), uid))[0] == where
    slot = snapshot.nodes.slot["a"]
    assert snapshot.nodes.column("cpu")[1].item(slot) == 1000, "it may still run: its room is taken"


def test_a_release_opens_a_quota_and_its_end_closes_it() -> None:
    before = owned(pod("x", on="a", cpu="1"))
    snapshot = cluster(NODES, (before,))
    snapshot.observe(QUOTAS, None, quota("all", {"pods": "1"}))
    cycle = Cycle(snapshot, default_policy())
    assert not cycle.place(owned(pod("p1"))).node
    snapshot.observe("pods", before, released("x", "a"))
    first = cycle.place(owned(pod("p2")))
    assert first.node
    assert not cycle.place(owned(pod("p3"))).node, "one gets it"
    snapshot.forget(first.key, first.uid)
    snapshot.observe("pods", released("x", "a"), before)
    assert not cycle.place(owned(pod("p4"))).node, "it counts again"


def test_a_quota_follows_nodes_that_change_their_labels_and_goes_when_it_is_deleted() -> None:
    snapshot = cluster(NODES, (pod("x", on="c"),))
    zone_1 = quota("q", {"pods": "1"}, "1")
    snapshot.observe(QUOTAS, None, zone_1)
    assert told(PlacementQuotas(), snapshot, pod("p"))[0] == "abc"
    snapshot.observe("nodes", NODES[2], node("c", "1"))
    assert told(PlacementQuotas(), snapshot, pod("p"))[0] == ""
    snapshot.observe(QUOTAS, zone_1, None)
    assert told(PlacementQuotas(), snapshot, pod("p"))[0] == "abc"


def test_room_that_is_kept_for_others_is_not_free() -> None:
    snapshot = cluster(NODES)
    kept = reservation("r", "a")
    snapshot.observe(RESERVATIONS, None, kept)
    others = "node(s) had room kept by reservations of others"
    assert told(Reservations(), snapshot, pod("p", cpu="2")) == ("bc", {others: 1})
    assert told(Reservations(), snapshot, pod("p", cpu="1"))[0] == "abc"
    assert told(Reservations(), snapshot, owned(pod("p", cpu="2")))[0] == "abc"
    assert snapshot.reservation_for(owned(pod("p")), "a") == "r"
    assert snapshot.reservation_for(owned(pod("p")), "b") == ""
    assert snapshot.reservation_for(pod("p"), "a") == ""
    ended = structs.replace(kept, status=structs.replace(kept.status, phase="Allocated"))
    snapshot.observe(RESERVATIONS, kept, ended)
    assert told(Reservations(), snapshot, pod("p", cpu="2"))[0] == "abc"


def test_a_pod_goes_where_room_is_kept_for_it() -> None:
    snapshot = cluster(NODES)
    snapshot.observe(RESERVATIONS, None, reservation("r", "c", owner="another"))
    elsewhere = "node(s) were not those of the pod's reservation"
    assert told(Reservations(), snapshot, owned(pod("p", cpu="3"), "", "r")) == ("c", {elsewhere: 2})
    snapshot.observe(RESERVATIONS, None, reservation("mine", "b"))
    cycle = Cycle(snapshot, default_policy())
    assert cycle.place(owned(pod("p", cpu="3")), assume=False).node == "b"
    assert cycle.place(pod("p", cpu="3"), assume=False).node == "a"


def test_a_node_with_kept_room_opens_and_closes_with_its_pods() -> None:
    snapshot = cluster((node("a"),))
    snapshot.observe(RESERVATIONS, None, reservation("r", "a", cpu="2"))
    cycle = Cycle(snapshot, default_policy())
    assert [bool(cycle.place(pod(name, cpu="1")).node) for name in ("p1", "p2", "p3")] == [True, True, False]


RECOVERY = {
    "name": "recovery",
    "nodeSelector": {"matchLabels": {ZONE: "2"}},
    "allowed": {"podSelector": {"matchLabels": {"app": "risk-api"}}, "priorityClassNames": ["high"]},
}


@pytest.mark.parametrize(
    ("labels", "priority", "where"),
    [
        ({}, "", "ab"),
        ({"app": "risk-api"}, "", "ab"),
        ({"app": "risk-api"}, "high", "abc"),
        ({}, "high", "ab"),
    ],
)
def test_nodes_of_a_class_are_for_those_it_allows(labels: Json, priority: str, where: str) -> None:
    plugin = CapacityClasses((class_from(RECOVERY),))
    found, why = told(plugin, cluster(NODES), pod("p", labels=labels, priorityClassName=priority))
    assert found == where
    assert why == ({} if where == "abc" else {"node(s) were kept for capacity class recovery": 1})


FOR_ONE_NODE = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["c"]}]}
            ]
        }
    }
}


@pytest.mark.parametrize(
    ("kind", "api_version", "affinity", "where"),
    [
        ("DaemonSet", "apps/v1", FOR_ONE_NODE, "abc"),
        ("ReplicaSet", "apps/v1", FOR_ONE_NODE, "ab"),
        ("DaemonSet", "no.such/v1", FOR_ONE_NODE, "ab"),
        ("DaemonSet", "apps/v1", {}, "ab"),
    ],
)
def test_a_class_keeps_no_pods_of_daemonsets_off(
    kind: str, api_version: str, affinity: Json, where: str
) -> None:
    plugin = CapacityClasses((class_from(RECOVERY),))
    of_it = owned(pod("p", affinity=affinity), kind=kind, api_version=api_version)
    assert told(plugin, cluster(NODES), of_it)[0] == where


def test_a_reservation_in_a_class_opens_its_node() -> None:
    plugin = CapacityClasses((class_from({**RECOVERY, "allowed": {}}),))
    snapshot = cluster((*NODES, node("d", "2")))
    snapshot.observe(RESERVATIONS, None, reservation("r", "c", capacityClass="recovery"))
    assert told(plugin, snapshot, pod("p"))[0] == "ab"
    assert told(plugin, snapshot, owned(pod("p")))[0] == "abc"


def test_a_policy_is_made_from_its_object() -> None:
    spec = {
        "plugins": [{"name": "NodePorts", "disabled": True}, {"name": "TaintToleration", "weight": 0}],
        "scoring": {"strategy": "MostAllocated", "resources": [{"name": "cpu", "weight": 3}]},
        "capacityClasses": [RECOVERY],
    }
    meta = {"name": "v4", "uid": "u", "generation": 7}
    policy = policy_from(viewed({"metadata": meta, "spec": spec}, SchedulingPolicy))
    assert (policy.name, policy.revision) == ("v4", 7)
    chosen = [name for name in PLUGINS if name != "NodePorts"]
    assert [plugin.name for plugin in policy.plugins] == ["SchedulerOverrides", *chosen]
    assert policy.weights == {**WEIGHTS, "TaintToleration": 0}
    assert all(plugin.name == name for name, make in PLUGINS.items() for plugin in (make(),))
    snapshot = cluster(NODES, (pod("x", on="a", cpu="1"),))
    assert Cycle(snapshot, policy).place(pod("p", cpu="1"), assume=False).node == "a", "packed"
    assert Cycle(snapshot, default_policy()).place(pod("p", cpu="1"), assume=False).node == "b", "spread"
    assert any(isinstance(plugin, NodeResourcesFit) for plugin in policy.plugins)


def member(space: str, cpu: str, used: str = "0", **limits: Json) -> PlacementQuota:
    meta = {"name": "limit", "uid": space, "namespace": space, "generation": 1}
    spec = {"hard": {"cpu": cpu}, "cohort": "research", **limits}
    return viewed({"metadata": meta, "spec": spec, "status": {"used": {"cpu": used}}}, PlacementQuota)


def test_a_quota_of_a_cohort_has_what_others_leave_unused_and_says_who_borrows() -> None:
    snapshot = cluster(NODES)
    mine, other = member("default", "1", borrowingLimit={"cpu": "2"}), member("team-b", "2")
    for each in (mine, other):
        snapshot.observe(QUOTAS, None, each)
    assert told(PlacementQuotas(), snapshot, pod("p", cpu="3")) == ("abc", {})
    taken = member("team-b", "2", used="1")
    snapshot.observe(QUOTAS, other, taken)
    why = (
        "quota/limit: exceeded cpu (requested 3, used 0, limited 1; cohort research: 2 left to lend, "
        "default/limit borrows 0 of 2 it may)"
    )
    assert told(PlacementQuotas(), snapshot, pod("p", cpu="3")) == ("", {why: 3})
    snapshot.observe(QUOTAS, taken, None)
    assert told(PlacementQuotas(), snapshot, pod("p", cpu="2"))[0] == ""


def test_pods_of_another_namespace_of_the_cohort_change_what_fits() -> None:
    snapshot = cluster(NODES)
    for each in (member("default", "1", borrowingLimit={"cpu": "2"}), member("team-b", "2")):
        snapshot.observe(QUOTAS, None, each)
    prepared = PlacementQuotas().prepare(snapshot, snapshot.facts_of(pod("p", cpu="3")))
    assert prepared is not None
    theirs = pod("x", cpu="1")
    theirs = structs.replace(theirs, metadata=structs.replace(theirs.metadata, namespace="team-b"))
    snapshot.assume(theirs, "a")
    change = OccupancyChange(snapshot.nodes.slot["a"], snapshot.facts_of(theirs), 1, False)
    assert prepared.touched(change)
    mask = prepared.mask()
    assert mask is not None
    assert not mask[snapshot.nodes.slot["a"]]
