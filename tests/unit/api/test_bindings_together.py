"""Bindings that were decided together: one transaction, the same bytes and audit lines as one by one, and the rest left out."""

from __future__ import annotations

import random
from typing import Any

import pytest

from fairlead.api.access.users import User
from fairlead.core import codec
from fairlead.model.key import Key
from fairlead.model.premise import Premise
from fairlead.port.outcome import Conflict, Done, Outcome, Refused, outcome_of
from fairlead.port.request import Binding, Reply, Request
from fairlead.store.contract import CommitOutcome as Judged
from fairlead.store.contract import Transaction
from tests.inprocess import ADMIN, InProcess
from tests.unit.api.test_quotas import placement
from tests.unit.api.things import PODS, made, pod

SCHEDULER = User("system:fairlead:scheduler", groups=ADMIN.groups)
SPACES = "/api/v1/namespaces"


def together(*bindings: Binding, premises: tuple[Premise, ...] = ()) -> Request:
    return Request("create", "", "v1", "pods", subresource="binding", bindings=bindings, premises=premises)


def alone(binding: Binding) -> Request:
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": binding.name, "uid": binding.uid},
        "target": {"kind": "Node", "name": binding.node},
    }
    return Request(
        verb="create",
        group="",
        version="v1",
        plural="pods",
        namespace=binding.namespace,
        name=binding.name,
        subresource="binding",
        body=codec.encode(body),
    )


def send(plane: InProcess, request: Request, user: User = SCHEDULER) -> Outcome:
    reply = plane.send(request, user)
    assert isinstance(reply, Reply)
    return outcome_of(reply)


def to(created: dict[str, Any], node: str = "node-1", **other: str) -> Binding:
    meta = created["metadata"]
    named = {"namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"], "node": node, **other}
    return Binding(**named)


def several(plane: InProcess, count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Pods of several shapes, in two namespaces."""
    chance = random.Random(seed)
    if not plane.store.get(Key("namespaces", "", "team")):
        made(plane, SPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
    found = []
    for number in range(count):
        space = chance.choice(("default", "team"))
        body = pod(f"p-{number}", labels={"app": f"a-{number % 3}"})
        if chance.random() < 0.3:
            body["metadata"]["annotations"] = {"said": 'a "quoted" word, ü and \\'}
        created = made(plane, PODS.replace("default", space), body)
        if chance.random() < 0.3:
            waiting = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
            address = f"{PODS.replace('default', space)}/p-{number}/status"
            plane.patch(address, {"status": {"conditions": [waiting]}})
        found.append(created)
    return found


def stored(plane: InProcess) -> dict[str, Any]:
    """All pods, but for what the order of commits decides."""
    found = {}
    for entry in plane.store.list("pods"):
        decoded = codec.decode(entry.data)
        decoded["metadata"].pop("resourceVersion")
        found[entry.key.name] = codec.encode(decoded)
    return found


def lines(plane: InProcess) -> list[dict[str, Any]]:
    """The audit log's lines of bindings, but for revisions and numbers of requests."""
    found = [codec.decode(note.body) for _, _, note in plane.journal.notes("audit", 0, 10_000)]
    varying = ("requestId", "revisionBefore")
    return [
        {name: value for name, value in line.items() if name not in varying}
        for line in found
        if line["object"].get("subresource") == "binding"
    ]


@pytest.mark.parametrize("seed", range(8))
def test_together_and_one_by_one_store_the_same_and_say_the_same_in_the_audit_log(seed: int) -> None:
    one, many = InProcess(), InProcess()
    bindings = [to(each, f"node-{number % 5}") for number, each in enumerate(several(one, 20, seed))]
    for created in several(many, 20, seed):
        assert to(created) in [to_node(other, "node-1") for other in bindings], "the same pods"
    for each in bindings:
        assert isinstance(send(one, alone(each)), Done)
    before = many.store.revision
    assert send(many, together(*bindings)) == Done(each=(True,) * 20)
    assert stored(many) == stored(one)
    assert lines(many) == lines(one)
    assert len(lines(many)) == 20
    assert many.store.revision == before + 20


def spoilt(plane: InProcess, how: str) -> list[Binding]:
    """Three bindings, the second of which cannot be made in this way."""
    first, second, third = (made(plane, PODS, pod(name)) for name in ("a", "b", "c"))
    bindings = [to(first), to(second), to(third)]
    name = second["metadata"]["name"]
    if how == "bound":
        send(plane, alone(to(second, "node-9")))
    elif how == "gone":
        plane.delete(f"{PODS}/{name}", {"gracePeriodSeconds": 0})
    elif how == "another of its name":
        bindings[1] = to(second, uid="another")
    elif how == "gated":
        made(plane, PODS, {**pod("gated"), "spec": {**pod()["spec"], "schedulingGates": [{"name": "g"}]}})
        gated = plane.get(f"{PODS}/gated")[1]
        bindings[1] = to(gated)
    elif how == "no node's name":
        bindings[1] = to(second, "No Node")
    elif how == "counted":
        made(plane, SPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "counted"}})
        counted = "/apis/fairlead.dev/v1/namespaces/counted/placementquotas"
        made(plane, counted, placement(pods="1"))
        bindings[1] = to(made(plane, f"{SPACES}/counted/pods", pod("b")))
    return bindings


@pytest.mark.parametrize(
    "how", ["bound", "gone", "another of its name", "gated", "no node's name", "counted"]
)
def test_what_cannot_be_made_so_is_left_out_and_the_others_are_made(how: str) -> None:
    plane = InProcess()
    bindings = spoilt(plane, how)
    left = plane.store.get(Key("pods", bindings[1].namespace, bindings[1].name))
    assert send(plane, together(*bindings)) == Done(each=(True, False, True))
    for each in (bindings[0], bindings[2]):
        _, bound = plane.get(f"{PODS}/{each.name}")
        assert bound["spec"]["nodeName"] == "node-1"
    assert plane.store.get(Key("pods", bindings[1].namespace, bindings[1].name)) is left


def test_one_that_changes_meanwhile_costs_the_others_nothing() -> None:
    plane = InProcess()
    bindings = [to(made(plane, PODS, pod(name))) for name in ("a", "b", "c")]
    commit = plane.commit

    def meanwhile(transaction: Transaction) -> Judged:
        plane.commit = commit  # type: ignore[method-assign]
        send(plane, alone(to_node(bindings[1], "node-9")))
        return commit(transaction)

    plane.commit = meanwhile  # type: ignore[method-assign]
    assert send(plane, together(*bindings)) == Done(each=(True, False, True))
    nodes = [plane.get(f"{PODS}/{name}")[1]["spec"]["nodeName"] for name in ("a", "b", "c")]
    assert nodes == ["node-1", "node-9", "node-1"]


def to_node(binding: Binding, node: str) -> Binding:
    return Binding(binding.namespace, binding.name, binding.uid, node)


def test_a_quota_that_comes_meanwhile_is_seen() -> None:
    """It says so in the namespace's revision, which the transaction rests on."""
    plane = InProcess()
    bindings = [to(made(plane, PODS, pod(name))) for name in ("a", "b")]
    commit = plane.commit

    def meanwhile(transaction: Transaction) -> Judged:
        plane.commit = commit  # type: ignore[method-assign]
        made(plane, "/apis/fairlead.dev/v1/namespaces/default/placementquotas", placement(pods="1"))
        return commit(transaction)

    plane.commit = meanwhile  # type: ignore[method-assign]
    assert send(plane, together(*bindings)) == Done(each=(False, False))


def test_a_leader_that_is_none_any_more_binds_nothing() -> None:
    plane = InProcess()
    bindings = [to(made(plane, PODS, pod(name))) for name in ("a", "b")]
    moved = Premise(Key("namespaces", "", "default"), 1_000_000)
    outcome = send(plane, together(*bindings, premises=(moved,)))
    assert isinstance(outcome, Conflict)
    assert "is not at revision 1000000 any more" in outcome.message
    assert "nodeName" not in plane.get(f"{PODS}/a")[1]["spec"]


def test_who_may_not_bind_binds_nothing() -> None:
    plane = InProcess()
    bindings = [to(made(plane, PODS, pod(name))) for name in ("a", "b")]
    outcome = send(plane, together(*bindings), User("somebody", groups=()))
    assert isinstance(outcome, Refused)
    assert outcome.status == 403
    assert "nodeName" not in plane.get(f"{PODS}/a")[1]["spec"]


@pytest.mark.parametrize("what", ["pod", "namespace"])
def test_one_that_is_damaged_keeps_nobody_else(what: str) -> None:
    plane = InProcess()
    made(plane, SPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
    sound = [to(made(plane, PODS, pod(name))) for name in ("a", "b")]
    hurt = to(made(plane, PODS.replace("default", "team"), pod("c")))
    key = Key("pods", "team", "c") if what == "pod" else Key("namespaces", "", "team")
    plane.journal.rot(key, plane.now)
    plane.store._durable.reload(plane.journal.recover())
    assert send(plane, together(sound[0], hurt, sound[1])) == Done(each=(True, False, True))
