"""A plane on an API that can do no more than Kubernetes: it asks for nothing else, and is careful instead."""

from __future__ import annotations

import itertools
import json
from typing import Any

from fairlead.control.instructions import Call, Replied
from fairlead.control.leadership import FENCING, Leadership, LeadershipInstruction, LeadershipPhase
from fairlead.control.roster import workload_deciders
from fairlead.port.capabilities import KUBERNETES
from fairlead.port.driving import Started, Woke
from fairlead.port.outcome import Conflict, Outcome, Unknown, outcome_of
from fairlead.port.request import Reply, Request
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


def workload(replicas: int) -> dict[str, Any]:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def bindings(driver: Driver) -> list[Request]:
    return [each for each in driver.sent if each.subresource == "binding"]


def test_a_deployment_rolls_out_and_no_request_speaks_of_fences() -> None:
    api = InProcess()
    api.post(DEPLOYMENTS, workload(3))
    driver = Driver(api, capabilities=KUBERNETES)
    driver.run(60)
    pods = driver.live_pods()
    assert [bool(pod["spec"].get("nodeName")) for pod in pods] == [True] * 3
    assert not [each for each in driver.sent if each.premises]
    assert len(bindings(driver)) == 3
    assert api.get(f"{LEASES}/fairlead-plane-fence")[0] == 404
    told = api.get(f"{LEASES}/fairlead-plane")[1]["metadata"]["annotations"][FENCING]
    assert told.startswith("none: the holder stops 6 s before")


def test_after_a_binding_without_an_answer_it_looks_and_binds_no_second_time() -> None:
    api = InProcess()
    api.post(DEPLOYMENTS, workload(1))
    driver = Driver(
        api, lambda request: "reply" if request.subresource == "binding" else "", capabilities=KUBERNETES
    )
    driver.run(60)
    assert len(bindings(driver)) == 1
    (lost,) = driver.lost
    after = driver.sent[driver.sent.index(lost) + 1 :]
    assert next(each.verb for each in after if each.name == lost.name) == "get"
    assert all(pod["spec"].get("nodeName") for pod in driver.live_pods())


def test_what_follows_an_answer_is_not_sent_once_the_lease_is_about_to_end() -> None:
    api = InProcess()
    api.post(DEPLOYMENTS, workload(2))
    deciders = workload_deciders()
    driver = Driver(api, deciders=deciders, capabilities=KUBERNETES)
    driver.run(2)
    assert driver.plane.narrow is not None
    # The next answer comes when the margin has begun: all writes that would follow from it are held back.
    ends = driver.plane.leadership._lease_ends()
    sent = len([each for each in driver.sent if each.verb != "get"])
    driver.now = ends + 0.1
    assert (
        driver.plane.narrow.outgoing(
            Call(
                10_000,
                "replicaset",
                Request(verb="delete", group="", version="v1", plural="pods", namespace="default", name="x"),
            ),
            driver.now,
        )
        == ()
    )
    ((call, outcome),) = driver.plane.narrow.take()
    assert call == 10_000
    assert isinstance(outcome, Conflict)
    assert len([each for each in driver.sent if each.verb != "get"]) == sent


class Candidate:
    def __init__(self, name: str, plane: InProcess, numbers: Any) -> None:
        self.leadership = Leadership(name, lambda: next(numbers), fencing=False)
        self.plane = plane
        self.dead = False
        self.fault = ""  # of the next write: "timeout" loses its answer, "lost" all of it
        self.inbox: list[tuple[int, Outcome]] = []

    def carry_out(self, instructions: tuple[LeadershipInstruction, ...]) -> None:
        for instruction in instructions:
            if isinstance(instruction, Call):
                fault = ""
                if instruction.request.verb != "get":
                    fault, self.fault = self.fault, ""
                outcome: Outcome = Unknown("no answer")
                if fault != "lost":
                    reply = self.plane.send(instruction.request)
                    assert isinstance(reply, Reply)
                    outcome = outcome_of(reply) if not fault else outcome
                self.inbox.append((instruction.call, outcome))

    def turn(self, now: float) -> None:
        if self.dead:
            return
        inbox, self.inbox = self.inbox, []
        for call, outcome in inbox:
            self.carry_out(self.leadership.handle(Replied(call, outcome, now, 0.5)))
        self.carry_out(self.leadership.handle(Woke(now)))


class Contest:
    def __init__(self) -> None:
        self.api, self.numbers, self.now = InProcess(), itertools.count(1), 1_000.0
        self.candidates: list[Candidate] = []

    def join(self, name: str) -> Candidate:
        candidate = Candidate(name, self.api, self.numbers)
        self.candidates.append(candidate)
        candidate.carry_out(candidate.leadership.handle(Started(self.now)))
        return candidate

    def run(self, seconds: float) -> None:
        for _ in range(int(seconds / 0.5)):
            self.now += 0.5
            for candidate in self.candidates:
                candidate.turn(self.now)
            acting = [each for each in self.candidates if not each.dead and each.leadership.may_act(self.now)]
            assert len(acting) <= 1


def test_the_first_leads_without_a_fence_and_the_second_waits() -> None:
    contest = Contest()
    first, second = contest.join("a"), contest.join("b")
    contest.run(120)
    assert first.leadership.leads
    assert first.leadership.fence is None
    assert second.leadership.phase is LeadershipPhase.STANDBY
    assert contest.api.get(f"{LEASES}/fairlead-plane-fence")[0] == 404


def test_who_is_started_again_under_its_own_name_waits_until_the_lease_has_run_out() -> None:
    contest = Contest()
    first = contest.join("a")
    contest.run(10)
    first.dead = True
    died_at = contest.now
    again = contest.join("a")
    while not again.leadership.leads:
        contest.run(0.5)
        assert contest.now < died_at + 60
    assert contest.now - died_at >= first.leadership.settings.duration_seconds - 4.0  # since its last renewal


def test_who_could_not_renew_in_time_waits_as_long_as_anybody_before_it_leads_again() -> None:
    contest = Contest()
    first = contest.join("a")
    contest.run(10)
    renewed_at = first.leadership._renewed_at
    first.dead = True  # paused, rather
    while contest.now < first.leadership._lease_ends():
        contest.run(0.5)
    first.dead = False
    contest.run(0.5)
    assert first.leadership.phase is LeadershipPhase.STANDBY
    while not first.leadership.leads:
        contest.run(0.5)
    assert contest.now - renewed_at >= first.leadership.settings.duration_seconds


def test_two_of_one_name_are_one_leader() -> None:
    contest = Contest()
    contest.join("a")
    contest.join("a")
    contest.run(120)
    assert [each.leadership.leads for each in contest.candidates] == [True, False]


def test_a_renewal_without_an_answer_is_looked_for_and_costs_no_leadership() -> None:
    for fault in ("timeout", "lost"):
        contest = Contest()
        first = contest.join("a")
        contest.run(5)
        for _ in range(5):
            first.fault = fault
            contest.run(8)
            assert first.leadership.may_act(contest.now), fault
        assert first.leadership.takeovers == 1
        lease = json.loads(json.dumps(contest.api.get(f"{LEASES}/fairlead-plane")[1]))
        assert lease["spec"]["leaseTransitions"] == 0


def test_an_answer_after_the_margin_has_begun_gives_no_time_back() -> None:
    contest = Contest()
    first = contest.join("a")
    contest.run(5)
    leadership = first.leadership
    (call,) = leadership.handle(Woke(contest.now + leadership.settings.renew_seconds))
    assert isinstance(call, Call)
    reply = contest.api.send(call.request)
    assert isinstance(reply, Reply)
    late = contest.now + leadership.settings.duration_seconds
    leadership.handle(Replied(call.call, outcome_of(reply), late, 0.5))
    assert leadership.phase is LeadershipPhase.STANDBY
