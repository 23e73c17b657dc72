"""A change that is looked at ahead: what moves, waits, is made again or set back, by whom, and what room is left."""

from __future__ import annotations

from functools import cache

import pytest

from fairlead.control.authority import AUTOSCALER, SCHEDULER
from fairlead.core import codec
from fairlead.model.catalog import CATALOG
from fairlead.model.key import Key
from fairlead.port.request import Request
from fairlead.sim.preview import cast
from fairlead.sim.preview.change import ProposedChange
from fairlead.sim.preview.difference import REMAKES, REVERTS
from fairlead.sim.preview.preview import look_ahead, preview
from fairlead.sim.preview.state import LiveState
from tests.sim.preview.states import autoscaler, came_to, deletion, deployment, edit, made, names

DRAIN = ProposedChange(drains=("node-0", "node-2"), told="drain zone-0")


@cache
def shop() -> LiveState:
    """Four nodes of 4 cpu in two zones; eight of the sixteen are taken."""
    return made([deployment("web", 6), deployment("api", 2), autoscaler("web", 2, 8)])


def test_a_plane_at_rest_stays_so() -> None:
    ahead = look_ahead(shop())
    assert (ahead.settled, ahead.writes, ahead.acts) == (True, 0, ())


def test_a_deleted_pod_is_made_again_by_its_replicaset_and_placed() -> None:
    pod = names(shop(), "pods")[0]
    found = preview(shop(), ProposedChange((deletion("pods", pod),)))
    (fight,) = found.fights
    assert (fight.controller, fight.verdict) == ("replicaset", REMAKES)
    assert fight.seconds is not None
    assert {(act.by, act.does) for act in found.acts} >= {("replicaset", "creates"), ("scheduler", "binds")}
    (workload,) = found.workloads
    assert (workload.ready_before, workload.ready_least, workload.ready_after) == (2, 1, 2)
    assert found.settled
    assert not found.pending


def test_a_drained_zone_moves_its_pods_and_tells_what_room_is_left() -> None:
    found = preview(shop(), DRAIN)
    moved = {each.workload: each for each in found.workloads}
    assert sum(each.moved for each in moved.values()) == 4
    assert all(set(each.joined) == {"zone-1"} for each in moved.values() if each.moved)
    assert not found.pending
    room = {(each.zone, each.resource): (each.without, each.after) for each in found.room}
    assert room["zone-0", "cpu"] == (4.0, 0.0)
    assert room["zone-1", "cpu"] == (4.0, 0.0)
    assert not found.fights  # a drain wants them elsewhere


def test_what_finds_no_room_waits_and_the_scheduler_says_why() -> None:
    full = made([deployment("web", 12)], cpu="4")
    found = preview(full, DRAIN)
    (workload,) = found.workloads
    assert workload.pending == found.pending == 4
    assert workload.ready_after == 8
    assert "Insufficient cpu" in workload.why


def test_an_edit_of_what_a_deployment_owns_is_set_back_and_by_whom_is_told() -> None:
    (web,) = [name for name in names(shop(), "replicasets.apps") if name.startswith("web")]
    found = preview(shop(), ProposedChange((edit("replicasets", web, {"spec": {"replicas": 1}}),)))
    fight = found.fights[0]
    assert (fight.controller, fight.verdict, fight.edit) == (
        "deployment",
        REVERTS,
        f"replicaset/{web} spec.replicas",
    )
    assert fight.seconds is not None
    assert "where you asked for 1" in fight.does


def test_nobody_is_met_by_an_edit_that_is_the_persons_own() -> None:
    found = preview(shop(), ProposedChange((edit("deployments", "api", {"spec": {"replicas": 3}}),)))
    assert not found.fights
    assert [(act.does, act.count) for act in found.acts if act.by == "replicaset"] == [("creates", 1)]


def test_the_risky_response_names_the_four_controllers_it_fights() -> None:
    """Lesson 021: delete pending replicas, raise replicas by hand, remove quota finalizers, label nodes."""
    quota = {
        "kind": "ResourceQuota",
        "metadata": {"name": "team", "finalizers": ["example.com/held"]},
        "spec": {"hard": {"pods": "40"}},
    }
    state = made(
        [deployment("risk-api", 9, "2"), autoscaler("risk-api", 2, 12), ("v1", "resourcequotas", quota)],
        cpu="4",
    )
    waiting = [
        key.name
        for key, data in state.objects
        if key.resource == "pods" and "nodeName" not in codec.decode(data)["spec"]
    ]
    assert waiting
    risky = (
        *(deletion("pods", name) for name in waiting),
        edit("deployments", "risk-api", {"spec": {"replicas": 12}}),
        edit("resourcequotas", "team", {"metadata": {"finalizers": None}}, group=""),
        edit("nodes", "node-1", {"metadata": {"labels": {"eligible": "yes"}}}, group="", namespace=""),
    )
    found = preview(state, ProposedChange(risky))
    met = {each.controller: each for each in found.fights}
    assert {"replicaset", AUTOSCALER, "resource-quota", SCHEDULER, "repair"} <= set(met)
    assert met["replicaset"].verdict == REMAKES
    assert "2 to 12" in met[AUTOSCALER].does
    assert "frees nothing" in met["resource-quota"].does


def test_a_controller_that_has_nothing_to_look_at_is_not_named() -> None:
    label = ProposedChange(
        (edit("nodes", "node-1", {"metadata": {"labels": {"a": "b"}}}, group="", namespace=""),)
    )
    assert "daemonset" not in {each.controller for each in preview(shop(), label).fights}
    pod = deployment("logs", 1)[2]["spec"]
    spec = {"selector": pod["selector"], "template": pod["template"]}
    body = {"kind": "DaemonSet", "metadata": {"name": "logs"}, "spec": spec}
    with_one = made([("apps/v1", "daemonsets", body)])
    assert "daemonset" in {each.controller for each in preview(with_one, label).fights}


def test_what_happens_anyway_is_not_blamed_on_the_change() -> None:
    early = made([deployment("web", 3), deployment("api", 2)], rested=False)
    found = preview(
        early, ProposedChange((edit("deployments", "api", {"metadata": {"labels": {"team": "x"}}}),))
    )
    assert found.anyway
    assert not [act for act in found.acts if act.of == "deployment/web"]


def test_what_the_api_would_refuse_is_told() -> None:
    found = preview(shop(), ProposedChange((edit("deployments", "api", {"spec": {"replicas": -1}}),)))
    (refused,) = found.refused
    assert refused.status == 422
    assert "spec.replicas" in refused.message


def test_who_is_left_out_of_the_cast_would_have_done_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    few = preview(shop(), DRAIN)
    monkeypatch.setattr(cast, "Catalog", lambda kinds: CATALOG)
    assert preview(shop(), DRAIN).workloads == few.workloads


def test_pods_of_an_owner_none_of_whose_pods_is_ready_do_not_become_so() -> None:
    broken = []
    for key, data in shop().objects:
        found = codec.decode(data)
        if key.resource == "pods" and key.name.startswith("api"):
            for condition in found["status"]["conditions"]:
                condition["status"] = "False" if condition["type"] == "Ready" else condition["status"]
        broken.append((key, codec.encode(found)))
    state = LiveState(shop().revision, shop().now, tuple(broken))
    pod = next(name for name in names(state, "pods") if name.startswith("api"))
    found = preview(state, ProposedChange((deletion("pods", pod),)))
    (workload,) = found.workloads or (None,)
    assert workload is None or workload.ready_after == 0
    assert found.settled


def test_a_drain_keeps_to_budgets_and_takes_its_time() -> None:
    budget = {"kind": "PodDisruptionBudget", "metadata": {"name": "web"}}
    spec = {"minAvailable": 3, "selector": {"matchLabels": {"app": "web"}}}
    kept = made([deployment("web", 4), ("policy/v1", "poddisruptionbudgets", {**budget, "spec": spec})])
    (web,) = preview(kept, DRAIN).workloads
    assert (web.ready_least, web.ready_after, web.pending) == (3, 4, 0)
    tight = made(
        [
            deployment("web", 4),
            ("policy/v1", "poddisruptionbudgets", {**budget, "spec": {**spec, "minAvailable": 4}}),
        ]
    )
    found = preview(tight, DRAIN)
    assert {each.status for each in found.refused} == {429}
    assert "budget" in found.refused[0].message
    assert not found.workloads


def test_custom_kinds_are_a_part_of_the_world() -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names_ = {"plural": "ships", "singular": "ship", "kind": "Ship"}
    definition = {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "ships.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names_, "versions": [version]},
    }
    state = made([("apiextensions.k8s.io/v1", "customresourcedefinitions", definition)], nodes=1)
    ship = {
        "apiVersion": "example.com/v1",
        "kind": "Ship",
        "metadata": {"name": "argo", "namespace": "default"},
    }
    request = Request("create", "example.com", "v1", "ships", namespace="default", body=codec.encode(ship))
    found = preview(state, ProposedChange((request,)))
    assert not found.refused
    named = {"name": "argo", "namespace": "default", "uid": "u-argo", "resourceVersion": "1"}
    stored = (
        *state.objects,
        (Key("ships.example.com", "default", "argo"), codec.encode({**ship, "metadata": named})),
    )
    gone = preview(
        LiveState(state.revision, state.now, stored),
        ProposedChange(
            (deletion("customresourcedefinitions", "ships.example.com", "apiextensions.k8s.io", ""),)
        ),
    )
    assert ("custom-resource-definition", "ships") in {(act.by, act.kind) for act in gone.acts}
    assert gone.settled


def test_an_override_is_taken_note_of_by_controllers_that_have_nothing_to_do_yet() -> None:
    """Nobody has an autoscaler or a Service here; whoever waits for the override to be observed does not wait long."""
    state = made([deployment("web", 2)])
    spec = {
        "target": "deployment/web",
        "reason": "calm",
        "expiresAfter": "30m",
        "changes": {"pauseAutoscaler": True, "trafficWeights": [{"zone": "zone-0", "weight": 0}]},
    }
    body = {
        "apiVersion": "fairlead.dev/v1",
        "kind": "SchedulerOverride",
        "metadata": {"name": "calm"},
        "spec": spec,
    }
    ask = Request("create", "fairlead.dev", "v1", "scheduleroverrides", "default", body=codec.encode(body))
    (found,) = [
        codec.decode(data)
        for key, data in came_to(state, ProposedChange((ask,))).objects
        if key.resource == "scheduleroverrides.fairlead.dev"
    ]
    conditions = {each["type"]: each["status"] for each in found["status"]["conditions"]}
    assert conditions["SchedulerOverrideObserved"] == "True", found["status"]
