"""One name, two agents: the lease says whose it is, and the other waits. `agent/lease.py`."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.agent.calls import Calls
from fairlead.agent.contract import Answered, Ask, Extend, Found, Log, NodeSettings
from fairlead.agent.lease import Heartbeat
from fairlead.agent.machine import Agent
from fairlead.agent.pace import Pace
from fairlead.cache.events import Listed, Mirrored
from fairlead.core import codec
from fairlead.model.marks import AGENT_INSTANCE, AGENT_PLACE
from fairlead.port.driving import Started, Woke
from fairlead.port.outcome import Conflict, Done, Outcome, Refused, Unknown
from fairlead.port.request import Request
from tests.unit.agent.room import NODE, SETTINGS, Room

LEASE = 40
GONE = Refused(404, "NotFound", "no such lease")


def heartbeat(instance: str = "me") -> Heartbeat:
    settings = NodeSettings("n1", lease_seconds=LEASE, renew_seconds=10.0, instance=instance)
    return Heartbeat(settings, Pace(), Calls())


def asked(beat: Heartbeat, now: float) -> Request:
    (ask,) = beat.step(now, None)
    assert isinstance(ask, Ask)
    return ask.request


def lease(holder: str, renewed: str, revision: int = 7) -> Done:
    body = {
        "metadata": {
            "annotations": {AGENT_INSTANCE: holder} if holder else {},
            "resourceVersion": str(revision),
        },
        "spec": {"renewTime": renewed, "leaseDurationSeconds": LEASE},
    }
    return Done(revision, codec.encode(body))


def answer(beat: Heartbeat, outcome: Outcome, now: float) -> tuple[Extend | Log, ...]:
    return beat.answered(outcome, now, 0.5)


def test_it_looks_first_and_makes_one_with_its_mark() -> None:
    beat = heartbeat()
    assert asked(beat, 0.0).verb == "get"
    answer(beat, GONE, 0.1)
    made = asked(beat, 0.1)
    assert made.verb == "create"
    assert codec.decode(made.body)["metadata"]["annotations"][AGENT_INSTANCE] == "me"
    (extended,) = answer(beat, Done(3, b"{}"), 0.2)
    assert isinstance(extended, Extend)
    renewal = asked(beat, 10.1)
    assert renewal.verb == "patch"
    assert codec.decode(renewal.body)["metadata"]["resourceVersion"] == "3"


def test_its_own_from_before_a_restart_is_its_own_at_once() -> None:
    for holder in ("me", ""):
        beat = heartbeat()
        asked(beat, 0.0)
        assert answer(beat, lease(holder, "t1"), 0.1) == ()
        assert asked(beat, 0.1).verb == "patch"


def test_anothers_is_left_alone_while_it_is_renewed() -> None:
    beat = heartbeat()
    said: list[Any] = []
    for number in range(20):
        now = 10.0 * number
        assert asked(beat, now).verb == "get"
        said += answer(beat, lease("other", f"t{number}", 7 + number), now)
    (told,) = said  # once
    assert isinstance(told, Log)
    assert "another agent" in told.message
    assert not beat.held(200.0)


@pytest.mark.parametrize(("holder", "ours"), [("", True), ("me", True), ("other", False)])
def test_where_no_list_comes_it_is_taken_to_be_ours_unless_it_was_seen_to_be_anothers(
    holder: str, ours: bool
) -> None:
    beat = heartbeat()
    asked(beat, 100.0)
    if holder:
        answer(beat, lease(holder, "2026-01-01T00:00:00Z"), 100.0)
    beat.recall()
    assert beat.ours is ours


def test_anothers_that_fell_silent_is_taken_at_the_revision_seen() -> None:
    beat = heartbeat()
    verbs = []
    for now in (0.0, 10.0, 20.0, 30.0, 40.0):
        verbs.append(asked(beat, now).verb)
        answer(beat, lease("other", "t1", 9), now)
    assert verbs == ["get"] * 5
    taking = asked(beat, 40.0)
    assert codec.decode(taking.body)["metadata"] == {
        "annotations": {AGENT_INSTANCE: "me"},
        "resourceVersion": "9",
    }


def test_it_looks_again_when_it_lost_the_race_or_got_no_answer() -> None:
    for doubt in (Conflict("Conflict", "changed"), Unknown("no answer")):
        beat = heartbeat()
        asked(beat, 0.0)
        answer(beat, lease("me", "t1"), 0.0)
        asked(beat, 0.0)
        answer(beat, doubt, 1.0)
        assert asked(beat, 12.0).verb == "get"


def test_without_an_instance_nothing_is_looked_at() -> None:
    assert asked(heartbeat(""), 0.0).verb == "create"


@pytest.mark.parametrize(("holder", "written"), [("other", False), ("me", True)])
def test_nothing_is_written_of_a_node_that_another_works_for(holder: str, written: bool) -> None:
    """Neither the Node nor, as all pods are stepped by the same rule, a status."""
    agent = Agent(NodeSettings("n1", instance="me"))
    out = [*agent.handle(Started(0.0, 0.5))]
    for resource in agent.mirrors:
        out += agent.handle(Mirrored(resource, (Listed(1, (), 0.1),)))
    (look,) = [each for each in out if isinstance(each, Ask)]
    assert (look.request.verb, look.request.plural) == ("get", "leases")
    answered = Answered(look.call, lease(holder, "t1"), 0.2)
    out = [each for event in (Found((), 0.2), answered, Woke(1.0, 0.5)) for each in agent.handle(event)]
    asked_of = {each.request.plural for each in out if isinstance(each, Ask)}
    assert ("nodes" in asked_of) == written


def test_a_pod_that_is_bound_to_a_node_another_works_for_is_not_started_here_until_the_other_falls_silent() -> (
    None
):
    room = Room(settings=msgspec.structs.replace(SETTINGS, instance="me"))
    address = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    metadata = {"name": NODE, "annotations": {AGENT_INSTANCE: "other"}}
    spec = {"holderIdentity": NODE, "leaseDurationSeconds": LEASE, "renewTime": "2026-01-01T00:00:00.000000Z"}
    assert room.api.post(address, {"metadata": metadata, "spec": spec})[0] == 201
    room.begin()
    room.settle()
    room.create()
    room.create("unrunnable", containers=[{"name": "main", "image": "process"}])
    room.pass_time(LEASE - 10)
    assert room.machine.starts == []
    assert [each.name for each in room.requests if each.plural == "pods"] == [], (
        "nothing is told of them either"
    )
    assert room.lease()["metadata"]["annotations"] == {AGENT_INSTANCE: "other"}
    room.pass_time(60)
    assert [name for _, name, _ in room.machine.starts] == ["main"]
    assert {each.name for each in room.requests if each.plural == "pods"} == {"web", "unrunnable"}
    assert room.lease()["metadata"]["annotations"] == {AGENT_INSTANCE: "me"}


def test_who_has_it_is_named() -> None:
    settings = NodeSettings("n1", instance="me", place="host, /here")
    beat = Heartbeat(settings, Pace(), Calls())
    asked(beat, 0.0)
    answer(beat, GONE, 0.1)
    assert codec.decode(asked(beat, 0.1).body)["metadata"]["annotations"][AGENT_PLACE] == "host, /here"
    other = heartbeat("other")
    asked(other, 0.0)
    marks = {AGENT_INSTANCE: "me", AGENT_PLACE: "host, /here"}
    found = {"metadata": {"annotations": marks, "resourceVersion": "7"}, "spec": {"renewTime": "t1"}}
    (told,) = answer(other, Done(7, codec.encode(found)), 0.1)
    assert isinstance(told, Log)
    assert "another agent, from host, /here: this one starts nothing" in told.message


def test_pods_end_here_once_another_that_took_the_lease_is_seen_to_renew_it_and_run_again_when_it_is_silent() -> (
    None
):
    room = Room(settings=msgspec.structs.replace(SETTINGS, instance="me"))
    room.begin()
    room.settle()
    room.create()
    room.pass_time(5)
    assert [name for _, name in room.machine.running()] == ["main"]

    def renewed_by_another(number: int) -> None:
        address = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{NODE}"
        patch = {
            "metadata": {"annotations": {AGENT_INSTANCE: "other"}},
            "spec": {"renewTime": f"2026-01-01T00:00:{number:02}.000000Z"},
        }
        assert room.api.patch(address, patch)[0] == 200

    renewed_by_another(0)
    room.pass_time(12)
    assert [name for _, name in room.machine.running()] == ["main"], (
        "one that may have died since runs nothing"
    )
    written = len(room.requests)
    for number in range(1, 8):
        renewed_by_another(number)
        room.pass_time(10)
    assert room.machine.running() == []
    assert room.machine.sandboxes == {}
    assert {each.plural for each in room.requests[written:]} == {"leases"}, "nothing is told of it"
    room.pass_time(2 * LEASE + 30)
    assert [name for _, name in room.machine.running()] == ["main"]
    assert room.machine.opened[room.uid()].ran_before
