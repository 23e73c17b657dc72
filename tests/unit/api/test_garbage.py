"""Garbage collection and the end of namespaces, run over a whole plane until neither has anything to ask."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.control.requests import request_of
from fairlead.decision.contract import NOTHING
from fairlead.model.key import Key
from fairlead.model.premise import FENCES_MAX
from fairlead.reconcile.garbage import garbage_decider
from fairlead.reconcile.namespace import namespace_decider
from tests.inprocess import InProcess
from tests.unit.api.collecting import Collecting
from tests.unit.api.things import CONFIGMAPS, NAMESPACES, PODS, configmap, made, pod

Json = dict[str, Any]
HOLD = "example.com/hold"
SERVICE: Json = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "shop"},
    "spec": {"ports": [{"port": 80}]},
}
NODES = "/api/v1/nodes"


def _ref(owner: Json, blocks: bool = False, **changed: Any) -> Json:
    metadata = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "blockOwnerDeletion": blocks,
        **changed,
    }


def _owned(plane: InProcess, name: str, *owners: Json, **metadata: Any) -> Json:
    return made(plane, CONFIGMAPS, configmap(name, ownerReferences=list(owners), **metadata))


def _names(plane: InProcess, resource: str = "configmaps") -> list[str]:
    return [entry.key.name for entry in plane.store.list(resource)]


def _settled(plane: InProcess) -> Collecting:
    collector = Collecting(plane)
    collector.settle()
    assert collector.everything() == [], "what has settled asks for nothing"
    return collector


def _delete(plane: InProcess, name: str, policy: str = "Background") -> None:
    assert plane.delete(f"{CONFIGMAPS}/{name}", {"propagationPolicy": policy})[0] == 200


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
def test_a_dependent_goes_with_its_owner_and_so_do_its_own(policy: str) -> None:
    plane = InProcess()
    owner = made(plane, CONFIGMAPS, configmap("owner"))
    child = _owned(plane, "child", _ref(owner, blocks=True))
    _owned(plane, "grandchild", _ref(child, blocks=True))
    made(plane, CONFIGMAPS, configmap("stranger"))
    _delete(plane, "owner", policy)
    _settled(plane)
    assert _names(plane) == ["stranger"]


def test_in_the_foreground_dependents_go_first() -> None:
    plane = InProcess()
    owner = made(plane, CONFIGMAPS, configmap("owner"))
    child = _owned(plane, "child", _ref(owner, blocks=True))
    _owned(plane, "grandchild", _ref(child, blocks=True))
    _delete(plane, "owner", "Foreground")
    collector = _settled(plane)
    gone = [change.entry.key.name for change in plane.published if change.type == "DELETED"]
    assert gone == ["grandchild", "child", "owner"]
    assert len(collector.asked) <= 6


@pytest.mark.parametrize(("blocks", "left"), [(True, ["child", "owner"]), (False, ["child"])])
def test_in_the_foreground_an_owner_waits_only_for_dependents_that_block(
    blocks: bool, left: list[str]
) -> None:
    plane = InProcess()
    owner = made(plane, CONFIGMAPS, configmap("owner"))
    _owned(plane, "child", _ref(owner, blocks), finalizers=[HOLD])
    _delete(plane, "owner", "Foreground")
    collector = _settled(plane)
    assert _names(plane) == left
    assert plane.patch(f"{CONFIGMAPS}/child", {"metadata": {"finalizers": None}})[0] == 200
    collector.settle()
    assert _names(plane) == []


@pytest.mark.parametrize("release", [{"ownerReferences": None}, {"ownerReferences": "unblocked"}])
def test_an_owner_is_woken_when_a_dependent_lets_go_of_it(release: Json) -> None:
    plane = InProcess()
    owner = made(plane, CONFIGMAPS, configmap("owner"))
    _owned(plane, "child", _ref(owner, blocks=True), finalizers=[HOLD])
    _delete(plane, "owner", "Foreground")
    collector = _settled(plane)
    assert _names(plane) == ["child", "owner"]
    if release["ownerReferences"]:
        release = {"ownerReferences": [_ref(owner, blocks=False)]}
    plane.patch(f"{CONFIGMAPS}/child", {"metadata": release})
    collector.settle()
    assert _names(plane) == ["child"]


def test_orphans_are_set_free_before_their_owner_goes() -> None:
    plane = InProcess()
    owner = made(plane, CONFIGMAPS, configmap("owner"))
    other = made(plane, CONFIGMAPS, configmap("other"))
    for number in range(100):
        _owned(plane, f"child-{number:03}", _ref(owner, blocks=True), _ref(other))
    _delete(plane, "owner", "Orphan")
    _settled(plane)
    assert len(_names(plane)) == 101
    _, child = plane.get(f"{CONFIGMAPS}/child-042")
    assert child["metadata"]["ownerReferences"] == [_ref(other)]
    _, child = plane.get(f"{CONFIGMAPS}/child-099")
    assert child["metadata"]["ownerReferences"] == [_ref(other)]


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
@pytest.mark.parametrize("blocks", [True, False])
def test_a_dependent_with_an_owner_left_stays_and_forgets_the_other(policy: str, blocks: bool) -> None:
    plane = InProcess()
    one, two = (made(plane, CONFIGMAPS, configmap(name)) for name in ("one", "two"))
    _owned(plane, "child", _ref(one, blocks), _ref(two, blocks))
    _delete(plane, "one", policy)
    collector = _settled(plane)
    assert _names(plane) == ["child", "two"], "and the owner does not wait for it in vain"
    _, child = plane.get(f"{CONFIGMAPS}/child")
    assert child["metadata"]["ownerReferences"] == [_ref(two, blocks)]
    _delete(plane, "two", policy)
    collector.settle()
    assert _names(plane) == []


def test_a_dependent_that_is_to_orphan_its_own_does_so_when_it_follows() -> None:
    plane = InProcess()
    owner = made(plane, CONFIGMAPS, configmap("owner"))
    child = _owned(plane, "child", _ref(owner), finalizers=["orphan"])
    _owned(plane, "grandchild", _ref(child))
    _delete(plane, "owner")
    _settled(plane)
    assert _names(plane) == ["grandchild"]


def test_a_namesake_is_not_taken_for_the_owner() -> None:
    plane = InProcess()
    owner = made(plane, CONFIGMAPS, configmap("owner"))
    _delete(plane, "owner")
    made(plane, CONFIGMAPS, configmap("owner"))
    _owned(plane, "child", _ref(owner))
    _settled(plane)
    assert _names(plane) == ["owner"]


def test_an_owner_outside_namespaces_is_found() -> None:
    plane = InProcess()
    node = made(plane, NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}})
    made(plane, PODS, pod(ownerReferences=[_ref(node)]))
    collector = _settled(plane)
    assert _names(plane, "pods") == ["web"]
    plane.delete(f"{NODES}/node-1")
    collector.settle()
    assert _names(plane, "pods") == []


def test_an_owner_in_another_namespace_is_none() -> None:
    plane = InProcess()
    owner = made(plane, f"{NAMESPACES}/kube-system/configmaps", configmap("owner"))
    _owned(plane, "child", _ref(owner, blocks=True))
    _settled(plane)
    assert _names(plane) == ["owner"]


def test_what_is_outside_namespaces_cannot_be_owned_from_inside_one() -> None:
    plane = InProcess()
    owner = made(plane, CONFIGMAPS, configmap("owner"))
    made(plane, NODES, {"metadata": {"name": "node-1", "ownerReferences": [_ref(owner, blocks=True)]}})
    collector = _settled(plane)
    assert _names(plane, "nodes") == ["node-1"], "where its owner is cannot be told, so it stays"
    _delete(plane, "owner", "Foreground")
    collector.settle()
    assert (_names(plane), _names(plane, "nodes")) == ([], ["node-1"])


def test_an_owner_of_a_kind_that_is_not_served_is_left_to_others() -> None:
    plane = InProcess()
    gone = made(plane, CONFIGMAPS, configmap("gone"))
    _delete(plane, "gone")
    foreign = _ref(gone, apiVersion="example.com/v1", kind="Widget", uid="w-1")
    _owned(plane, "child", _ref(gone), foreign)
    _settled(plane)
    _, child = plane.get(f"{CONFIGMAPS}/child")
    assert child["metadata"]["ownerReferences"] == [foreign]


@pytest.mark.parametrize("policy", ["Background", "Foreground", "Orphan"])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_owners_in_a_circle_do_not_wait_for_each_other_for_ever(policy: str, size: int) -> None:
    plane = InProcess()
    objects = [made(plane, CONFIGMAPS, configmap(f"c{number}")) for number in range(size)]
    for number, obj in enumerate(objects):
        references = [_ref(objects[number - 1], blocks=True)]
        plane.patch(f"{CONFIGMAPS}/{obj['metadata']['name']}", {"metadata": {"ownerReferences": references}})
    _delete(plane, "c0", policy)
    _settled(plane)
    assert _names(plane) == [f"c{number}" for number in range(1, size) if policy == "Orphan"]


def test_a_decision_that_came_too_late_changes_nothing() -> None:
    plane = InProcess()
    owner = made(plane, CONFIGMAPS, configmap("owner"))
    _owned(plane, "child", _ref(owner))
    _delete(plane, "owner")
    collector = Collecting(plane)
    (request,) = collector.everything()
    plane.patch(f"{CONFIGMAPS}/child", {"metadata": {"ownerReferences": None}})
    reply = plane.send(request)
    assert getattr(reply, "status", 0) == 409
    assert _names(plane) == ["child"]


def test_an_owner_that_the_mirror_has_not_heard_of_keeps_its_dependent() -> None:
    """The pods' watch is ahead of that of the owner's kind: its absence is judged again as the deletion commits."""
    plane = InProcess()
    collector = Collecting(plane)
    owner = made(plane, CONFIGMAPS, configmap("owner"))
    made(plane, PODS, pod(ownerReferences=[_ref(owner)]))
    collector.take_in(change for change in plane.published if change.entry.key.resource == "pods")
    assert collector.woken == [Key("pods", "default", "web")]
    (effect,) = garbage_decider().decide(collector.view, Key("pods", "default", "web"), 0.0).effects
    reply = plane.send(request_of(effect))
    assert getattr(reply, "status", 0) == 409
    assert b"configmaps owner is not absent any more" in reply.body  # type: ignore[union-attr]
    collector.settle()
    assert _names(plane, "pods") == ["web"]


def test_a_namesake_that_the_mirror_still_shows_does_not_cost_the_dependent_of_its_successor() -> None:
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap("owner"))
    collector = Collecting(plane)
    _delete(plane, "owner")
    owner = made(plane, CONFIGMAPS, configmap("owner"))
    made(plane, PODS, pod(ownerReferences=[_ref(owner)]))
    collector.take_in(change for change in plane.published if change.entry.key.resource == "pods")
    (effect,) = garbage_decider().decide(collector.view, Key("pods", "default", "web"), 0.0).effects
    assert getattr(plane.send(request_of(effect)), "status", 0) == 409
    collector.settle()
    assert _names(plane, "pods") == ["web"]


def test_a_dependent_of_more_owners_than_one_write_can_name_goes_as_well() -> None:
    plane = InProcess()
    owners = [made(plane, CONFIGMAPS, configmap(f"owner-{number:03}")) for number in range(FENCES_MAX + 8)]
    _owned(plane, "child", *(_ref(owner) for owner in owners))
    collector = _settled(plane)
    for owner in owners:
        _delete(plane, owner["metadata"]["name"])
    collector.settle()
    assert _names(plane) == []


def test_a_change_that_has_nothing_to_do_with_deletion_wakes_nobody() -> None:
    plane = InProcess()
    owner = made(plane, CONFIGMAPS, configmap("owner"))
    made(plane, PODS, pod(ownerReferences=[_ref(owner)]))
    collector = _settled(plane)
    plane.patch(f"{PODS}/web/status", {"status": {"phase": "Running"}})
    plane.patch(f"{CONFIGMAPS}/owner", {"data": {"a": "b"}})
    made(plane, CONFIGMAPS, configmap("stranger"))
    _owned(plane, "child", _ref(owner))
    collector.take_in(plane.published[-4:])
    assert collector.woken == []


def test_what_is_not_there_is_no_garbage() -> None:
    view = Collecting(InProcess()).view
    for key in (Key("configmaps", "default", "absent"), Key("widgets", "default", "absent")):
        assert garbage_decider().decide(view, key, 0.0) is NOTHING
    for name in ("absent", "default"):
        assert namespace_decider().decide(view, Key("namespaces", "", name), 0.0) is NOTHING


def _space(plane: InProcess, name: str = "shop", **metadata: Any) -> str:
    made(plane, NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, **metadata}})
    return f"{NAMESPACES}/{name}"


def _conditions(plane: InProcess, space: str) -> dict[str, tuple[str, str]]:
    _, body = plane.get(space)
    return {each["type"]: (each["status"], each["message"]) for each in body["status"].get("conditions", ())}


def test_a_namespace_goes_once_everything_in_it_is_gone() -> None:
    plane = InProcess()
    space = _space(plane)
    for number in range(130):
        made(plane, f"{space}/configmaps", configmap(f"c{number}"))
    made(plane, f"{space}/pods", pod())
    made(plane, CONFIGMAPS, configmap("elsewhere"))
    status, body = plane.delete(space)
    assert (status, body["status"]["phase"]) == (200, "Terminating")
    _settled(plane)
    assert plane.get(space)[0] == 404
    assert (_names(plane), _names(plane, "pods")) == (["elsewhere"], [])


def test_a_namespace_waits_for_finalizers_and_grace_inside_it() -> None:
    plane = InProcess()
    space = _space(plane)
    made(plane, f"{space}/configmaps", configmap(finalizers=[HOLD]))
    made(plane, f"{space}/pods", pod(node="node-1"))
    plane.delete(space)
    collector = _settled(plane)
    assert _conditions(plane, space) == {
        "NamespaceContentRemaining": ("True", "Some resources are remaining: configmaps, pods"),
        "NamespaceFinalizersRemaining": (
            "True",
            f"Some content in the namespace has finalizers remaining: {HOLD}",
        ),
    }
    plane.patch(f"{space}/configmaps/settings", {"metadata": {"finalizers": None}})
    collector.settle()
    assert _conditions(plane, space) == {
        "NamespaceContentRemaining": ("True", "Some resources are remaining: pods"),
        "NamespaceFinalizersRemaining": ("False", "All content-preserving finalizers finished"),
    }
    plane.delete(f"{space}/pods/web", {"gracePeriodSeconds": 0})
    collector.settle()
    assert plane.get(space)[0] == 404


def test_a_namespace_keeps_its_finalizer_until_the_api_itself_finds_it_empty() -> None:
    plane = InProcess()
    space = _space(plane)
    made(plane, f"{space}/configmaps", configmap())
    body = plane.delete(space)[1]
    status, refusal = plane.put(f"{space}/finalize", {**body, "spec": {"finalizers": []}})
    assert (status, refusal["reason"]) == (409, "Conflict")
    assert "it has configmaps; delete those first" in refusal["message"]
    _settled(plane)
    assert plane.get(space)[0] == 404


def test_in_a_namespace_what_makes_others_goes_before_what_it_made() -> None:
    plane = InProcess()
    space = _space(plane)
    owner = made(plane, f"{space}/services", SERVICE)
    made(plane, f"{space}/pods", pod(ownerReferences=[_ref(owner)]))
    made(plane, f"{space}/pods", pod("alone"))
    plane.delete(space)
    unsettled = namespace_decider().unsettled
    assert unsettled is not None
    asked = [key.name for key in unsettled(Collecting(plane).view)]
    assert asked == ["shop", "shop", "alone", "web"], "the namespace itself, then the service of that name"
    _settled(plane)
    assert plane.get(space)[0] == 404


def test_a_namespace_waits_for_its_own_finalizers_too() -> None:
    plane = InProcess()
    space = _space(plane, finalizers=[HOLD])
    plane.delete(space)
    collector = _settled(plane)
    _, body = plane.get(space)
    assert body["spec"]["finalizers"] == []
    plane.patch(space, {"metadata": {"finalizers": None}})
    collector.settle()
    assert plane.get(space)[0] == 404


@pytest.mark.parametrize(
    "metadata", [{"labels": {"deletionTimestamp": "x"}}, {"annotations": {"deletionTimestamp": "x"}}]
)
def test_what_only_looks_deleted_is_deleted_as_well(metadata: Json) -> None:
    plane = InProcess()
    space = _space(plane)
    made(plane, f"{space}/configmaps", {**configmap(**metadata), "data": {"deletionTimestamp": "x"}})
    plane.delete(space)
    _settled(plane)
    assert plane.get(space)[0] == 404


@pytest.mark.parametrize("policy", ["Background", "Foreground", "Orphan"])
def test_a_namespace_can_be_deleted_by_each_policy(policy: str) -> None:
    plane = InProcess()
    space = _space(plane)
    made(plane, f"{space}/configmaps", configmap())
    plane.delete(space, {"propagationPolicy": policy})
    _settled(plane)
    assert plane.get(space)[0] == 404
