"""Lesson 004's awkward case for every effect there is: sent, answer lost, retried. Exactly one of it happens.

Generated from the registry of effects: one without a row here fails. For each, the fault strikes the effect's write:
the request is lost, the answer is lost, the plane crashes after the commit and comes back, or another plane takes over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pytest

from fairlead.decision.contract import NOTHING, Decision, Reading, Waiting
from fairlead.decision.effects import (
    OPERATION,
    RETRY,
    Bind,
    Change,
    ChangeStatus,
    Create,
    Delete,
    Effect,
    identity,
)
from fairlead.model.key import Key
from fairlead.model.views import NODES, PODS, Node, Pod, Resource, View
from fairlead.port.request import Request
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver

TARGET = "target"
PODS_PATH = "/api/v1/namespaces/default/pods"


class Case(NamedTuple):
    """What the world needs, what is wanted of the target until it is so, and how the target's story must read."""

    exists: bool
    wants: Callable[[Pod | None], Effect | None]
    story: list[str]  # types of the changes of the target, from its first one on


def create(pod: Pod | None) -> Effect | None:
    label = identity("case", "owner", "create", "0")
    metadata = {"name": TARGET, "namespace": "default", "annotations": {OPERATION: label}}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": _spec()}
    return None if pod else Create(label, "pods", "v1", "pods", "default", TARGET, body)


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


CASES: dict[type, Case] = {
    Create: Case(False, create, ["ADDED"]),
    Change: Case(True, change, ["ADDED", "MODIFIED"]),
    ChangeStatus: Case(True, change_status, ["ADDED", "MODIFIED"]),
    Delete: Case(True, delete, ["ADDED", "DELETED"]),
    Bind: Case(True, bind, ["ADDED", "MODIFIED"]),
}


def _about(pod: Pod, intent: str) -> tuple[str, str, str, str, str, str]:
    return identity("case", pod.metadata.uid, intent), "pods", "v1", "pods", "default", TARGET


def _spec() -> dict[str, Any]:
    return {"containers": [{"name": "c", "image": "i"}], "schedulerName": "nobody"}


class CaseDecider:
    """Wants one thing of one object."""

    name = "case"
    reads: tuple[Resource[View], ...] = (PODS, NODES)

    def __init__(self, wants: Callable[[Pod | None], Effect | None]) -> None:
        self._wants = wants

    def keys(self, resource: str, before: View | None, after: View | None) -> Iterable[Key]:
        newest = after or before
        about = isinstance(newest, Node) or (isinstance(newest, Pod) and newest.metadata.name == TARGET)
        return (Key("pods", "default", TARGET),) if about else ()

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        effect = self._wants(view.get(PODS, key.namespace, key.name))
        return NOTHING if effect is None else Decision(Waiting("Wanted"), (effect,))


def test_every_effect_of_the_registry_has_a_case() -> None:
    assert set(CASES) == set(RETRY)


@pytest.mark.parametrize("fault", ["none", "request", "reply", "crash", "takeover"])
@pytest.mark.parametrize(
    "effect", sorted(RETRY, key=lambda each: each.__name__), ids=lambda each: each.__name__
)
def test_whatever_becomes_of_the_answer_it_happens_exactly_once(effect: type, fault: str) -> None:
    case = CASES[effect]
    api = InProcess()
    api.post("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-a"}})
    if case.exists:
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": TARGET}, "spec": _spec()}
        assert api.post(PODS_PATH, pod)[0] == 201
    struck: list[Request] = []

    def lose(request: Request) -> str:
        if fault == "none" or struck or request.resource == "leases":
            return ""
        struck.append(request)
        if fault in ("crash", "takeover"):
            first.stopped = True
        return "request" if fault == "request" else "reply"

    first = Driver(api, lose, (CaseDecider(case.wants),), "first")
    first.run(60)
    if fault in ("crash", "takeover"):
        # After a crash the same holder comes back; a takeover waits until the lease has run out.
        second = Driver(api, None, (CaseDecider(case.wants),), "first" if fault == "crash" else "second")
        second.now = first.now
        second.run(120)
    assert bool(struck) is (fault != "none")
    told = [change.type for change in api.published if change.entry.key == Key("pods", "default", TARGET)]
    assert told == case.story


def test_a_replaced_leader_that_goes_on_changes_nothing() -> None:
    api = InProcess()
    api.post("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-a"}})
    former = Driver(api, None, (CaseDecider(create),), "former")
    former.run(30)
    latter = Driver(api, None, (CaseDecider(lambda pod: None),), "latter")
    latter.now = former.now
    latter.run(60)
    assert latter.plane.leadership.leads
    assert len(api.store.list("pods")) == 1
    # The former one does not know yet: all it sends is refused by the fence.
    api.delete(f"{PODS_PATH}/{TARGET}")
    sent = len(former.sent)
    former.run(5)
    assert api.store.list("pods") == ()
    assert all(request.query.get("fence") for request in former.sent[sent:] if request.resource == "pods")
