"""Lesson 004's awkward case for every effect there is: sent, answer lost, retried. Exactly one of it happens.

Generated from the registry of effects: one without a row here fails. For each, the fault strikes the effect's write:
the request is lost, the answer is lost, the plane crashes after the commit and comes back, or another plane takes over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, NamedTuple

import pytest
from msgspec import structs

from fairlead.decision.contract import NOTHING, Decision, Reading, Waiting
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.effects import (
    OPERATION,
    RETRY,
    Bind,
    Change,
    ChangeScale,
    ChangeStatus,
    Create,
    Delete,
    Effect,
    Finalize,
    identity,
)
from fairlead.decision.wakes import always
from fairlead.model.key import Key
from fairlead.model.premise import Premise
from fairlead.model.views import NAMESPACES, NODES, PODS, REPLICASETS, Namespace, Pod, ReplicaSet, View
from fairlead.port.request import READ_VERBS, Request
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver

TARGET = "target"
PODS_PATH = "/api/v1/namespaces/default/pods"
POD = Key("pods", "default", TARGET)
SPACE = Key("namespaces", "", TARGET)
SET = Key("replicasets.apps", "default", TARGET)


class Case(NamedTuple):
    """What the world needs, what is wanted of the target until it is so, and how the target's story must read."""

    exists: bool
    wants: Callable[[Any], Effect | None]
    story: list[str]  # types of the changes of the target, from its first one on
    target: Key = POD


def create(pod: Pod | None) -> Effect | None:
    label = identity("case", "owner", "create", "0")
    metadata = {"name": TARGET, "namespace": "default", "annotations": {OPERATION: label}}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": _spec()}
    return (
        None
        if pod
        else Create(
            identity=label,
            resource="pods",
            api_version="v1",
            plural="pods",
            namespace="default",
            name=TARGET,
            body=body,
        )
    )


def change(pod: Pod | None) -> Effect | None:
    if pod is None or pod.metadata.labels.get("done"):
        return None
    return Change(
        *_about(pod, "label"),
        pod.metadata.uid,
        pod.metadata.revision,
        {"metadata": {"labels": {"done": "1"}}},
    )


def change_status(pod: Pod | None) -> Effect | None:
    if pod is None or pod.status.phase == "Running":
        return None
    return ChangeStatus(
        *_about(pod, "run"), pod.metadata.uid, pod.metadata.revision, {"status": {"phase": "Running"}}
    )


def delete(pod: Pod | None) -> Effect | None:
    return None if pod is None else Delete(*_about(pod, "delete"), pod.metadata.uid, pod.metadata.revision)


def bind(pod: Pod | None) -> Effect | None:
    if pod is None or pod.spec.node_name:
        return None
    return Bind(*_about(pod, "bind"), pod.metadata.uid, "node-a")


def finalize(space: Namespace | None) -> Effect | None:
    if space is None or "kubernetes" not in space.spec.finalizers:
        return None
    meta = space.metadata
    label = identity("case", meta.uid, "finalize")
    patch = {"spec": {"finalizers": list[str]()}}
    return Finalize(
        identity=label,
        resource="namespaces",
        api_version="v1",
        plural="namespaces",
        namespace="",
        name=TARGET,
        uid=meta.uid,
        revision=meta.revision,
        patch=patch,
    )


def change_scale(found: ReplicaSet | None) -> Effect | None:
    if found is None or found.spec.replicas == 3:
        return None
    meta = found.metadata
    return ChangeScale(
        identity=identity("case", meta.uid, "scale"),
        resource="replicasets.apps",
        api_version="apps/v1",
        plural="replicasets",
        namespace="default",
        name=TARGET,
        uid=meta.uid,
        revision=meta.revision,
        patch={"spec": {"replicas": 3}},
    )


CASES: dict[type, Case] = {
    Create: Case(False, create, ["ADDED"]),
    Change: Case(True, change, ["ADDED", "MODIFIED"]),
    ChangeStatus: Case(True, change_status, ["ADDED", "MODIFIED"]),
    ChangeScale: Case(True, change_scale, ["ADDED", "MODIFIED"], SET),
    Delete: Case(True, delete, ["ADDED", "DELETED"]),
    Bind: Case(True, bind, ["ADDED", "MODIFIED"]),
    Finalize: Case(True, finalize, ["ADDED", "MODIFIED", "DELETED"], SPACE),
}


def _about(pod: Pod, intent: str) -> tuple[str, str, str, str, str, str]:
    return identity("case", pod.metadata.uid, intent), "pods", "v1", "pods", "default", TARGET


def _spec() -> dict[str, Any]:
    return {"containers": [{"name": "c", "image": "i"}], "schedulerName": "nobody"}


def case_decider(wants: Callable[[Any], Effect | None], target: Key = POD) -> Decider:
    """Wants one thing of one object."""

    def of_target(event: WatchEvent[View]) -> Iterable[Key]:
        return (target,) if event.key.name == TARGET else ()

    def decide(view: Reading, key: Key, now: float) -> Decision:
        resources = {each.name: each for each in (PODS, NAMESPACES, REPLICASETS)}
        effect = wants(view.get(resources[key.resource], key.namespace, key.name))
        return NOTHING if effect is None else Decision(Waiting("Wanted"), (effect,))

    return Decider(
        name="case",
        reads=(PODS, NODES, NAMESPACES, REPLICASETS),
        wakes=(
            Wake(PODS, of_target),
            Wake(NAMESPACES, of_target),
            Wake(REPLICASETS, of_target),
            Wake(NODES, always(target)),
        ),
        decide=decide,
        initial_keys=(target,),
    )


def test_every_effect_of_the_registry_has_a_case() -> None:
    assert set(CASES) == set(RETRY)


@pytest.mark.parametrize("fault", ["none", "request", "reply", "crash", "takeover"])
@pytest.mark.parametrize("effect", sorted(RETRY, key=attrgetter("__name__")), ids=attrgetter("__name__"))
def test_whatever_becomes_of_the_answer_it_happens_exactly_once(effect: type, fault: str) -> None:
    case = CASES[effect]
    api = InProcess()
    api.post("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-a"}})
    if case.target == SPACE:
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TARGET}}
        assert api.post("/api/v1/namespaces", space)[0] == 201
        assert api.delete(f"/api/v1/namespaces/{TARGET}")[0] == 200
    elif case.target == SET:
        labels = {"app": TARGET}
        template = {"metadata": {"labels": labels}, "spec": {"containers": _spec()["containers"]}}
        spec = {"selector": {"matchLabels": labels}, "template": template}
        body = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": TARGET}, "spec": spec}
        assert api.post("/apis/apps/v1/namespaces/default/replicasets", body)[0] == 201
    elif case.exists:
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": TARGET}, "spec": _spec()}
        assert api.post(PODS_PATH, pod)[0] == 201
    struck: list[Request] = []

    def lose(request: Request) -> str:
        if fault == "none" or struck or request.plural == "leases":
            return ""
        struck.append(request)
        if fault in ("crash", "takeover"):
            first.stopped = True
        return "request" if fault == "request" else "reply"

    first = Driver(api, lose, (case_decider(case.wants, case.target),), "first")
    first.run(60)
    if fault in ("crash", "takeover"):
        # After a crash the same holder comes back; a takeover waits until the lease has run out.
        decider = case_decider(case.wants, case.target)
        second = Driver(api, None, (decider,), "first" if fault == "crash" else "second")
        second.now = first.now
        second.run(120)
    assert bool(struck) is (fault != "none")
    told = [change.type for change in api.published if change.entry.key == case.target]
    assert told == case.story


@pytest.mark.parametrize("effect", [Create, Change, Delete], ids=lambda each: each.__name__)
@pytest.mark.parametrize("guard", ["absent", "present"])
def test_an_effect_whose_premise_has_moved_changes_nothing(effect: type, guard: str) -> None:
    """What was decided on a mirror that had not heard of the guard's change yet is refused as it would commit."""
    api, case = InProcess(), CASES[effect]
    api.post("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-a"}})
    if case.exists:
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": TARGET}, "spec": _spec()}
        assert api.post(PODS_PATH, pod)[0] == 201
    maps, owner = "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "owner"}}
    seen = int(api.post(maps, owner)[1]["metadata"]["resourceVersion"]) if guard == "present" else 0
    premise = Premise(Key("configmaps", "default", "owner"), seen)
    sent: list[Request] = []

    def wants(pod: Pod | None) -> Effect | None:
        wanted = None if sent else case.wants(pod)
        return None if wanted is None else structs.replace(wanted, premises=(premise,))

    def move(request: Request) -> str:
        if request.plural == "pods":
            sent.append(request)
            if guard == "absent":
                api.post(maps, owner)
            else:
                api.patch(f"{maps}/owner", {"data": {"moved": "on"}})
        return ""

    driver = Driver(api, move, (case_decider(wants),), "only")
    driver.run(60)
    assert len(sent) == 1
    assert [change.type for change in api.published if change.entry.key == POD] == case.story[: case.exists]
    assert driver.plane.controllers[0].conflicts == 1


def test_a_replaced_leader_that_goes_on_changes_nothing() -> None:
    api = InProcess()
    api.post("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-a"}})
    former = Driver(api, None, (case_decider(create),), "former")
    former.run(30)
    latter = Driver(api, None, (case_decider(lambda pod: None),), "latter")
    latter.now = former.now
    latter.run(60)
    assert latter.plane.leadership.leads
    assert len(api.store.list("pods")) == 1
    # The former one does not know yet: all it writes is refused by the fence.
    api.delete(f"{PODS_PATH}/{TARGET}")
    sent = len(former.sent)
    former.run(5)
    assert api.store.list("pods") == ()
    writes = [each for each in former.sent[sent:] if each.plural == "pods" and each.verb not in READ_VERBS]
    assert all(each.premises for each in writes)
