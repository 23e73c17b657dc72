"""The scheduler as a machine: what it sends, what each answer means, what wakes a pod that waits. Mirrors show what a
test lets them show, and no earlier."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from fairlead.cache import events as mirrored
from fairlead.cache.mirror import Mirror
from fairlead.control.health import Health
from fairlead.control.instructions import Call, Record, Report
from fairlead.control.placing import Placer
from fairlead.core import codec
from fairlead.decision.contract import EventNote
from fairlead.ledger.reservation import ANNOTATION
from fairlead.model.key import Key
from fairlead.model.premise import Premise
from fairlead.port.driving import Started
from fairlead.port.outcome import Conflict, Done, Outcome, Refused, Unknown
from fairlead.schedule.registry import default_policy
from fairlead.schedule.waiting import State
from fairlead.store.contract import ADDED, DELETED, Entry

Json = dict[str, Any]
BUSY = Refused(503, "ServiceUnavailable", "not now", "later")
TAKEN = Conflict("Conflict", "pod p is already assigned")
MODIFIED = Conflict("Conflict", "the object has been modified")
GONE = Refused(404, "NotFound", "no such pod")


class Scheduler:
    """A Placer that leads, and the mirrors it reads."""

    def __init__(self, *, together: bool = False) -> None:
        self.mirrors: dict[str, Mirror[Any]] = {each.name: Mirror(each) for each in Placer.reads}
        for mirror in self.mirrors.values():
            mirror.handle(Started(0.0))
            mirror.handle(mirrored.Listed(0, (), 0.0))
        self.health = Health()
        self.told: list[EventNote] = []
        self.records: list[Json] = []
        self.now = 1_800_000_000.0
        self.revision = 0
        calls = count(1)
        tell = lambda component, note, now, decision: self.told.append(note)  # noqa: E731
        self.placer = Placer(self.health, lambda: next(calls), self.mirrors, tell, together=together)
        self.placer.lead(self.now)

    def show(self, resource: str, obj: Json, gone: bool = False) -> int:
        self.revision += 1
        meta = {"uid": f"uid-{obj['metadata']['name']}", **obj["metadata"]}
        meta["resourceVersion"] = str(self.revision)
        key = Key(resource, meta.get("namespace", ""), meta["name"])
        entry = Entry(key, meta["uid"], self.revision, codec.encode({**obj, "metadata": meta}))
        for each in self.mirrors[resource].handle(
            mirrored.Framed(DELETED if gone else ADDED, entry, self.now)
        ):
            if isinstance(each, mirrored.Changed):
                self.placer.observe(resource, each.before, each.after, self.now)
        return self.revision

    def node(self, name: str, cpu: str = "4", **spec: Any) -> None:
        ready = {"type": "Ready", "status": "True"}
        status = {"allocatable": {"cpu": cpu, "pods": "110"}, "conditions": [ready]}
        self.show("nodes", {"metadata": {"name": name}, "spec": spec, "status": status})

    def pod(self, name: str, cpu: str = "1", status: Json | None = None, **spec: Any) -> int:
        return self.show("pods", pod(name, cpu, status, **spec))

    def step(self) -> list[Call]:
        return self._calls(self.instructions())

    def instructions(self) -> list[Any]:
        out: list[Any] = []
        self.placer.step(self.now, out)
        return out

    def one(self) -> Call:
        (call,) = self.step()
        return call

    def answer(self, call: Call, outcome: Outcome) -> list[Call]:
        out: list[Any] = []
        self.placer.answered(call.call, outcome, self.now, 0.5, out)
        return self._calls(out)

    def later(self, seconds: float) -> list[Call]:
        self.now += seconds
        return self.step()

    def state(self, name: str) -> State | None:
        entry = self.placer.waiting.get(Key("pods", "default", name))
        return entry.state if entry is not None else None

    def reasons(self) -> list[str]:
        return [note.reason for note in self.told]

    def _calls(self, instructions: Any) -> list[Call]:
        found = []
        for each in instructions:
            if isinstance(each, Call):
                found.append(each)
            elif isinstance(each, Record):
                self.records.append(json.loads(each.body))
        return found


def pod(name: str, cpu: str = "1", status: Json | None = None, **spec: Any) -> Json:
    uid = spec.pop("uid", f"uid-{name}")
    labels = spec.pop("labels", {})
    meta = {"name": name, "namespace": "default", "uid": uid, "labels": labels}
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    return {
        "kind": "Pod",
        "metadata": meta,
        "spec": {"containers": [container], **spec},
        "status": status or {},
    }


def found(name: str, node: str = "", uid: str = "") -> Done:
    """What a look reads."""
    body = pod(name, uid=uid or f"uid-{name}")
    if node:
        body["spec"]["nodeName"] = node
    body["metadata"]["resourceVersion"] = "900"
    return Done(900, codec.encode(body))


def changed(name: str, revision: int) -> Done:
    """A look that shows the pod at a later revision than was decided on."""
    body = pod(name)
    body["metadata"]["resourceVersion"] = str(revision)
    return Done(revision, codec.encode(body))


def target(call: Call) -> str:
    assert (call.request.verb, call.request.subresource) == ("create", "binding")
    return str(json.loads(call.request.body)["target"]["name"])


def is_look(call: Call) -> bool:
    return call.request.verb == "get"


@pytest.fixture
def scheduler() -> Scheduler:
    subject = Scheduler()
    subject.node("a")
    return subject


def test_a_pod_is_bound_and_counts_before_the_mirror_shows_it(scheduler: Scheduler) -> None:
    scheduler.pod("p", "3")
    bind = scheduler.one()
    assert target(bind) == "a"
    assert scheduler.answer(bind, Done(50)) == []
    assert scheduler.reasons() == ["Scheduled"]
    scheduler.pod("q", "3")
    (told,) = scheduler.step()
    assert told.request.subresource == "status"
    scheduler.pod("p", "3", nodeName="a")
    assert scheduler.placer.snapshot.assumed == {}
    assert scheduler.state("p") is None
    assert scheduler.later(20) == []


def test_an_unknown_outcome_is_looked_at_and_what_is_bound_is_not_bound_again(scheduler: Scheduler) -> None:
    scheduler.pod("p")
    (look,) = scheduler.answer(scheduler.one(), Unknown("no answer"))
    assert is_look(look)
    assert scheduler.answer(look, found("p", "a")) == []
    assert scheduler.reasons() == ["Scheduled"]
    assert scheduler.later(60) == []


def test_not_bound_after_an_unknown_outcome_it_is_the_same_node_again(scheduler: Scheduler) -> None:
    scheduler.pod("p")
    (look,) = scheduler.answer(scheduler.one(), Unknown("no answer"))
    scheduler.node("b", "64")  # would be better by far
    assert scheduler.answer(look, found("p")) == []
    (again,) = scheduler.later(2)
    assert target(again) == "a"
    assert len([each for each in scheduler.records if each.get("verdict") == "Placed"]) == 1


def test_a_look_without_an_answer_is_repeated(scheduler: Scheduler) -> None:
    scheduler.pod("p")
    (look,) = scheduler.answer(scheduler.one(), Unknown("no answer"))
    assert scheduler.answer(look, Unknown("no answer")) == []
    (again,) = scheduler.later(2)
    assert is_look(again)
    assert "a" in scheduler.placer.snapshot.on


def test_a_conflict_of_a_pod_that_is_bound_keeps_its_room(scheduler: Scheduler) -> None:
    """The first request came late, and the second meets what it has done: nothing shows that yet."""
    scheduler.pod("p", "3")
    (look,) = scheduler.answer(scheduler.one(), Unknown("no answer"))
    scheduler.answer(look, found("p"))
    (again,) = scheduler.later(2)
    (second,) = scheduler.answer(again, TAKEN)
    assert is_look(second)
    scheduler.answer(second, found("p", "a"))
    scheduler.pod("q", "3")
    assert scheduler.one().request.subresource == "status"  # no room for it


def test_a_pod_that_another_bound_elsewhere_counts_there(scheduler: Scheduler) -> None:
    scheduler.pod("p", "3")
    bind = scheduler.one()
    scheduler.node("b")
    (look,) = scheduler.answer(bind, TAKEN)
    assert scheduler.answer(look, found("p", "b")) == []
    assert scheduler.reasons() == []
    scheduler.pod("q", "3")
    assert target(scheduler.one()) == "a"


def test_a_conflict_of_a_pod_that_is_not_bound_is_a_refusal(scheduler: Scheduler) -> None:
    scheduler.pod("p", "3")
    (look,) = scheduler.answer(scheduler.one(), Conflict("Conflict", "fenced"))
    (report,) = scheduler.answer(look, found("p"))
    assert (report.request.verb, report.request.subresource) == ("patch", "status"), "that it is tried again"
    assert scheduler.placer.snapshot.placed == {}
    assert scheduler.state("p") is State.RESTING
    assert target(scheduler.later(2)[0]) == "a"


def test_a_refused_binding_gives_its_room_back_and_wakes_who_waits_for_it(scheduler: Scheduler) -> None:
    scheduler.pod("p", "3")
    bind = scheduler.one()
    waiting(scheduler, "q", "3")
    scheduler.answer(bind, BUSY)
    assert scheduler.state("p") is State.RESTING
    placed = [call for call in scheduler.step() if call.request.subresource == "binding"]
    assert [call.request.name for call in placed] == ["q"]


def unschedulable(call: Call) -> Json:
    status: Json = json.loads(call.request.body)["status"]
    return status


def test_who_comes_to_lead_takes_everything_from_its_mirrors(scheduler: Scheduler) -> None:
    scheduler.pod("p", "3")
    former = scheduler.one()
    scheduler.pod("q", "3", nodeName="a")
    scheduler.placer.lead(scheduler.now)
    assert scheduler.placer.snapshot.assumed == {}
    (told,) = scheduler.step()
    assert told.request.name == "p"
    assert told.request.subresource == "status"
    assert scheduler.answer(former, Done(50)) == []
    assert scheduler.reasons() == ["FailedScheduling"]


def test_a_node_that_vanished_is_not_bound_to_again(scheduler: Scheduler) -> None:
    scheduler.pod("p")
    (look,) = scheduler.answer(scheduler.one(), Unknown("no answer"))
    scheduler.show("nodes", {"metadata": {"name": "a"}}, gone=True)
    scheduler.node("b")
    (report,) = scheduler.answer(look, found("p"))
    assert (report.request.verb, report.request.subresource) == ("patch", "status"), "that it is tried again"
    assert target(scheduler.later(2)[0]) == "b"


def test_a_pod_that_is_deleted_while_it_is_bound_leaves_its_room(scheduler: Scheduler) -> None:
    scheduler.pod("p", "3")
    bind = scheduler.one()
    waiting(scheduler, "q", "3")
    scheduler.show("pods", pod("p", "3"), gone=True)
    (following,) = scheduler.step()
    assert following.request.name == "q"
    assert target(following) == "a"
    assert scheduler.answer(bind, GONE) == []
    assert scheduler.state("p") is None


def test_a_namesake_is_not_held_to_what_was_under_way_for_the_former_pod(scheduler: Scheduler) -> None:
    scheduler.pod("p")
    former = scheduler.one()
    scheduler.show("pods", pod("p"), gone=True)
    scheduler.pod("p", uid="another")
    present = scheduler.one()
    assert scheduler.answer(former, BUSY) == []
    assert scheduler.state("p") is State.TAKEN
    assert scheduler.later(30) == []  # one binding is under way, and stays the only one
    scheduler.answer(present, Done(70))
    assert scheduler.placer.snapshot.assumed[Key("pods", "default", "p")].uid == "another"


def test_a_pod_waits_for_its_gates_and_then_goes(scheduler: Scheduler) -> None:
    scheduler.pod("p", schedulingGates=[{"name": "quota"}])
    assert scheduler.step() == []
    assert scheduler.state("p") is None
    scheduler.pod("p")
    assert target(scheduler.one()) == "a"


def waiting(scheduler: Scheduler, name: str, cpu: str = "1", **spec: Any) -> Json:
    """A pod that was refused, and says so; the status it shows."""
    scheduler.pod(name, cpu, **spec)
    told = scheduler.one()
    assert told.request.subresource == "status"
    scheduler.answer(told, Done(scheduler.revision + 1))
    status = unschedulable(told)
    scheduler.pod(name, cpu, status, **spec)
    assert scheduler.step() == []
    assert scheduler.later(5) == []
    assert scheduler.state(name) is State.WAITING
    return status


def test_a_change_of_its_status_does_not_wake_it(scheduler: Scheduler) -> None:
    status = waiting(scheduler, "p", "9")
    scheduler.pod("p", "9", {**status, "phase": "Pending"})
    assert scheduler.step() == []
    assert scheduler.state("p") is State.WAITING
    scheduler.pod("p", "9", status, labels={"a": "b"})
    scheduler.step()
    assert scheduler.placer.waiting.get(Key("pods", "default", "p")).attempts == 2  # type: ignore[union-attr]


def test_what_happens_wakes_only_who_waits_for_it(scheduler: Scheduler) -> None:
    scheduler.pod("full", "4", nodeName="a")
    waiting(scheduler, "big", "2")
    waiting(scheduler, "picky", "0", nodeSelector={"disk": "ssd"})
    scheduler.pod("full", "4", nodeName="a", labels={"changed": "yes"})
    assert {call.request.name for call in scheduler.step()} <= {"big"}
    assert scheduler.state("picky") is State.WAITING
    scheduler.show("pods", pod("full", "4", nodeName="a"), gone=True)
    bound = [call for call in scheduler.later(10) if call.request.subresource == "binding"]
    assert [call.request.name for call in bound] == ["big"]
    assert scheduler.state("picky") is State.WAITING


def test_every_cause_that_a_plugin_names_is_told_by_something() -> None:
    told = {"pods.added", "pods.deleted", *(each.name for each in Placer.reads)}
    assert {cause for plugin in default_policy().plugins for cause in plugin.wakes_on} <= told


def test_who_waits_long_is_tried_anyhow_and_counted(scheduler: Scheduler) -> None:
    waiting(scheduler, "p", "9")
    assert scheduler.placer.waiting.flushed == 0
    scheduler.later(301)
    assert scheduler.placer.waiting.flushed == 1
    assert [each["cause"] for each in scheduler.records if "verdict" in each] == ["PodAdded", "Flush"]


def test_what_the_pod_says_already_is_not_written_again(scheduler: Scheduler) -> None:
    status = waiting(scheduler, "p", "9")
    (condition,) = status["conditions"]
    assert condition["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    scheduler.show("namespaces", {"metadata": {"name": "default"}})
    assert scheduler.later(400) == []
    assert scheduler.reasons() == ["FailedScheduling"] * 2


def test_a_refused_pod_is_not_tried_before_the_mirror_shows_what_it_says_and_no_cause_is_lost(
    scheduler: Scheduler,
) -> None:
    scheduler.pod("p", "9")
    told = scheduler.one()
    scheduler.answer(told, Done(60))
    scheduler.node("b", "16")
    assert scheduler.later(30) == []
    while scheduler.revision < 59:
        scheduler.show("namespaces", {"metadata": {"name": "default"}})
    scheduler.pod("p", "9", unschedulable(told))
    scheduler.step()
    assert target(scheduler.later(2)[0]) == "b"


def test_a_condition_that_could_not_be_written_is_written_later(scheduler: Scheduler) -> None:
    """And not before the mirror shows what was in the way."""
    scheduler.pod("p", "9")
    (look,) = scheduler.answer(scheduler.one(), MODIFIED)
    assert is_look(look)
    assert scheduler.answer(look, changed("p", 5)) == []
    assert scheduler.later(60) == []
    while scheduler.revision < 5:
        scheduler.pod("p", "9", labels={"some": "label"})
    assert scheduler.step() == []
    (again,) = scheduler.later(2)
    assert again.request.subresource == "status"
    assert json.loads(again.request.body)["metadata"]["resourceVersion"] == "5"


def test_while_the_api_is_ill_nothing_is_begun(scheduler: Scheduler) -> None:
    for _ in range(20):
        scheduler.health.breaker.failed(scheduler.now)
    scheduler.pod("p")
    assert scheduler.step() == []
    assert scheduler.placer.next_at(scheduler.now) == scheduler.health.breaker.open_until


# Preemption


@pytest.fixture
def crowded(scheduler: Scheduler) -> Scheduler:
    for name in ("low-1", "low-2"):
        scheduler.pod(name, "2", nodeName="a")
    scheduler.pod("urgent", "4", priority=100)
    return scheduler


def parts(call: Call) -> tuple[str, str, str]:
    return call.request.verb, call.request.name, call.request.subresource


def test_who_makes_room_goes_after_the_claim_is_written_and_only_while_it_holds(crowded: Scheduler) -> None:
    claim = crowded.one()
    assert parts(claim) == ("patch", "urgent", "status")
    assert json.loads(claim.request.body)["status"]["nominatedNodeName"] == "a"
    sent = []
    (call,) = crowded.answer(claim, Done(70))
    for revision in (71, 72, 73):
        sent.append(call)
        (call,) = crowded.answer(call, Done(revision))
    sent.append(call)
    assert crowded.answer(call, Done(74)) == []
    assert [parts(each)[:2] for each in sent] == [
        ("patch", "low-1"), ("delete", "low-1"), ("patch", "low-2"), ("delete", "low-2"),
    ]  # fmt: skip
    assert {each.request.premises for each in sent} == {(Premise(Key("pods", "default", "urgent"), 70),)}
    (reason,) = [each["reason"] for each in unschedulable(sent[0])["conditions"]]
    assert reason == "PreemptionByScheduler"
    deleted = json.loads(sent[1].request.body)["preconditions"]
    assert deleted == {"uid": "uid-low-1", "resourceVersion": "71"}
    assert crowded.reasons() == ["FailedScheduling", "Preempted", "Preempted"]
    assert crowded.later(60) == []  # nothing of it is shown yet


def test_the_room_of_those_who_leave_is_kept_for_whom_they_leave(crowded: Scheduler) -> None:
    crowded.answer(crowded.one(), Done(70))
    for name in ("low-1", "low-2"):
        crowded.show("pods", pod(name, "2", nodeName="a"), gone=True)
    crowded.pod("thief", "1")
    told = [call for call in crowded.step() if call.request.name == "thief"]
    assert [call.request.subresource for call in told] == ["status"]


def test_a_claim_of_which_nobody_knows_whether_it_was_written_evicts_nobody(crowded: Scheduler) -> None:
    """The pod has changed since: by this write, by an earlier one that came late, or by another."""
    (look,) = crowded.answer(crowded.one(), Unknown("no answer"))
    assert crowded.answer(look, changed("urgent", 90)) == []
    assert crowded.later(30) == []


def test_a_claim_that_was_refused_is_given_up(crowded: Scheduler) -> None:
    assert crowded.answer(crowded.one(), Refused(403, "Forbidden", "no")) == []
    assert crowded.placer.snapshot.assumed == {}
    assert crowded.state("urgent") is State.RESTING


def test_victims_that_have_gone_on_are_chosen_anew_when_that_is_seen(crowded: Scheduler) -> None:
    (mark,) = crowded.answer(crowded.one(), Done(4))
    crowded.pod("urgent", "4", {"nominatedNodeName": "a"}, priority=100)
    (look,) = crowded.answer(mark, MODIFIED)
    assert crowded.answer(look, changed("low-1", 6)) == []
    assert crowded.later(60) == []
    crowded.pod("low-1", "2", nodeName="a", labels={"some": "label"})
    assert crowded.step() == []
    (again,) = crowded.later(2)
    assert parts(again)[:2] in {("patch", "low-1"), ("patch", "urgent")}


def test_who_is_not_shown_on_its_node_yet_is_not_evicted(scheduler: Scheduler) -> None:
    scheduler.pod("low", "4")
    bind = scheduler.one()
    scheduler.answer(bind, Done(50))
    scheduler.pod("urgent", "4", priority=100)
    claim = scheduler.one()
    assert scheduler.answer(claim, Done(scheduler.revision + 1)) == []
    scheduler.pod("urgent", "4", unschedulable(claim), priority=100)
    scheduler.step()
    assert scheduler.later(2) == []
    scheduler.pod("low", "4", nodeName="a")
    (mark,) = scheduler.later(20)
    assert parts(mark) == ("patch", "low", "status")


def test_an_eviction_without_an_answer_is_of_the_same_victim_again(crowded: Scheduler) -> None:
    (mark,) = crowded.answer(crowded.one(), Done(70))
    (delete,) = crowded.answer(mark, Done(71))
    (look,) = crowded.answer(delete, Unknown("no answer"))
    crowded.node("b", "8")  # there is room elsewhere by now
    assert crowded.answer(look, found("low-1", "a")) == []
    (again,) = crowded.later(2)
    assert again.request == delete.request


# What goes wrong in the program


class Poisonous:
    name, wakes_on, evicting_helps, concerns = "Poisonous", frozenset[str](), False, ()

    def prepare(self, snapshot: Any, facts: Any) -> None:
        if facts.labels.get("poison"):
            raise ZeroDivisionError("a plugin of no use")


def test_a_pod_on_which_a_plugin_raises_says_so_and_all_others_are_placed() -> None:
    plane = Scheduler()
    policy = default_policy()
    plane.placer.policy = poisoned(policy)
    plane.node("a")
    for name in ("first", "bad", "last"):
        plane.pod(name, labels={"poison": "yes"} if name == "bad" else {})
    instructions = plane.instructions()
    calls = [each for each in instructions if isinstance(each, Call)]
    bound = [each.request.name for each in calls if each.request.subresource == "binding"]
    assert bound == ["first", "last"]
    (status,) = [each for each in calls if each.request.subresource == "status"]
    assert b"the scheduler failed on this pod: ZeroDivisionError: a plugin of no use" in status.request.body
    (report,) = [each for each in instructions if isinstance(each, Report)]
    assert isinstance(report.error, ZeroDivisionError)
    assert Key("pods", "default", "bad") not in plane.placer.snapshot.assumed


def poisoned(policy: Any) -> Any:
    return replace(policy, name="poisoned", plugins=(Poisonous(), *policy.plugins))


def test_an_object_that_cannot_be_taken_in_keeps_no_other_out() -> None:
    plane = Scheduler()
    plane.placer.snapshot.nodes.put = _refuse(plane.placer.snapshot.nodes.put)  # type: ignore[method-assign]
    plane.node("bad")
    plane.node("good")
    plane.pod("p")
    instructions = plane.instructions()
    assert [target(each) for each in instructions if isinstance(each, Call)] == ["good"]
    assert [each.controller for each in instructions if isinstance(each, Report)] == ["scheduler"]


def _refuse(put: Any) -> Any:
    def refusing(node: Any) -> int:
        if node.metadata.name == "bad":
            raise OverflowError("too large")
        number: int = put(node)
        return number

    return refusing


def test_a_reservation_that_a_waiting_pod_comes_to_name_has_it_tried_again() -> None:
    plane = Scheduler()
    plane.node("a", cpu="1")
    plane.pod("p", cpu="2")
    revision = plane.revision
    plane.answer(plane.one(), Done(revision, b""))
    plane.step()
    assert plane.state("p") is State.WAITING
    body = pod("p", "2")
    body["metadata"]["annotations"] = {ANNOTATION: "kept"}
    plane.show("pods", body)
    assert plane.state("p") is State.RESTING
