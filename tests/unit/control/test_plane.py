"""The plane over the real API, driven in one thread: what a lost answer, a stale view or a refusal leads to."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from fairlead.agent.hollow import HollowDecider
from fairlead.cache import events as mirrored
from fairlead.control.instructions import Call, Record, Replied, WakeAt, Woke
from fairlead.control.plane import AskProgress, MirrorWakeAt, Plane, PlaneInstruction
from fairlead.control.roster import default_deciders
from fairlead.port.outcome import Unknown, outcome_of
from fairlead.port.request import READ_VERBS, Reply, Request
from tests.inprocess import InProcess


class Driver:
    """Carries out instructions at once, in virtual time; `lose` says which answers never arrive."""

    def __init__(self, api: InProcess, lose: Any = None) -> None:
        self.api = api
        self.lose = lose or (lambda request: False)
        self.plane = Plane("test", (*default_deciders(), HollowDecider("node-", 2)))
        self.now = api.now
        self.wake_at = 0.0
        self.records: list[dict[str, Any]] = []
        self.sent: list[Request] = []
        self.lost: list[Request] = []
        self._todo: list[Any] = []
        self._follows: dict[str, tuple[Any, int]] = {}
        self._carry_out(self.plane.begin(self.now, 0.5))

    def _carry_out(self, instructions: Iterable[PlaneInstruction]) -> None:
        for instruction in instructions:
            if isinstance(instruction, Call):
                self._todo.append(instruction)
            elif isinstance(instruction, WakeAt):
                self.wake_at = instruction.at
            elif isinstance(instruction, Record):
                self.records.append(json.loads(instruction.body))
            elif isinstance(instruction, MirrorWakeAt):
                raise AssertionError("a mirror had trouble")
            else:
                self._todo.append(instruction)

    def _do(self, instruction: Any) -> None:
        plane, now = self.plane, self.now
        if isinstance(instruction, Call):
            request = instruction.request
            self.api.now = now
            reply = self.api.send(request)
            assert isinstance(reply, Reply)
            self.sent.append(request)
            lost = request.verb not in READ_VERBS and self.lose(request)
            if lost:
                self.lost.append(request)
            outcome = Unknown("the answer was lost") if lost else outcome_of(reply)
            self._carry_out(plane.replied(Replied(instruction.call, outcome, now, 0.5)))
        elif isinstance(instruction, mirrored.ListAll):
            name = instruction.resource_name
            entries = tuple(self.api.store.list(name))
            event = mirrored.Listed(self.api.store.revision, entries, now, instruction.attempt)
            self._carry_out(plane.mirror(name, event))
        elif isinstance(instruction, AskProgress):
            subscription, attempt = self._follows[instruction.resource]
            self._deliver()
            event = mirrored.Marked(self.api.hub.progress(subscription), now, attempt)
            self._carry_out(plane.mirror(instruction.resource, event))
        else:
            subscription = self.api.hub.subscribe(instruction.resource_name, "", None, instruction.since_revision)
            self._follows[instruction.resource_name] = (subscription, instruction.attempt)

    def _deliver(self) -> bool:
        found = False
        for name, (subscription, attempt) in list(self._follows.items()):
            for change in self.api.hub.take(subscription):
                found = True
                event = mirrored.Framed(change.type, change.entry, self.now, attempt)
                self._carry_out(self.plane.mirror(name, event))
        return found

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        for _ in range(100_000):
            if self._todo:
                self._do(self._todo.pop(0))
            elif not self._deliver():
                if not self.wake_at or self.wake_at > end:
                    break
                self.now = max(self.now, self.wake_at)
                self._carry_out(self.plane.woke(Woke(self.now, 0.5)))
        else:
            raise AssertionError("it does not come to rest")
        self.now = end

    def live_pods(self) -> list[dict[str, Any]]:
        pods = self.api.get("/api/v1/namespaces/default/pods")[1]["items"]
        return [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]


def deployment(replicas: int = 3, image: str = "web:1") -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": image}]},
            },
        },
    }


DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def test_a_deployment_becomes_running_pods_and_nothing_is_written_afterwards() -> None:
    api = InProcess()
    driver = Driver(api)
    api.post(DEPLOYMENTS, deployment(3))
    driver.run(30)
    assert [pod["status"]["phase"] for pod in driver.live_pods()] == ["Running"] * 3
    _, web = api.get(f"{DEPLOYMENTS}/web")
    assert web["status"]["availableReplicas"] == 3
    assert web["status"]["observedGeneration"] == web["metadata"]["generation"]
    leases = "leases.coordination.k8s.io"
    before = len([change for change in api.published if change.entry.key.resource != leases])
    driver.run(120)
    after = [change for change in api.published if change.entry.key.resource != leases]
    assert after[before:] == [], "quiet, but for the lease"


@pytest.mark.parametrize("lost_of", ["replicasets", "pods", "deployments", "status", "binding"])
def test_every_first_answer_that_is_lost_is_looked_after_and_nothing_happens_twice(lost_of: str) -> None:
    api = InProcess()
    seen: set[bytes] = set()

    def lose(request: Request) -> bool:
        if lost_of not in (request.resource, request.subresource) or request.resource == "leases":
            return False
        key = request.body + request.name.encode()
        return not (key in seen or seen.add(key))  # type: ignore[func-returns-value]

    driver = Driver(api, lose)
    api.post(DEPLOYMENTS, deployment(3))
    most = 0
    for _ in range(60):
        driver.run(1)
        most = max(most, len(driver.live_pods()))
    assert driver.lost, "the fault never struck"
    assert most == 3, "never a fourth live copy"
    assert [pod["status"]["phase"] for pod in driver.live_pods()] == ["Running"] * 3
    assert len(api.get("/apis/apps/v1/namespaces/default/replicasets")[1]["items"]) == 1


def test_a_refused_pod_is_told_in_the_condition_of_its_owner() -> None:
    api = InProcess()
    limit = {"type": "Container", "max": {"cpu": "1"}}
    api.post(
        "/api/v1/namespaces/default/limitranges",
        {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": {"limits": [limit]}},
    )
    driver = Driver(api)
    body = deployment(1)
    body["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "2"}}
    api.post(DEPLOYMENTS, body)
    driver.run(30)
    [found] = api.get("/apis/apps/v1/namespaces/default/replicasets")[1]["items"]
    [condition] = [c for c in found["status"]["conditions"] if c["type"] == "ReplicaFailure"]
    assert (condition["status"], condition["reason"]) == ("True", "FailedCreate")
    assert "maximum cpu usage per Container is 1" in condition["message"]
    assert any(record["verdict"] == "Stuck" for record in driver.records)


def test_records_say_what_was_read_and_what_was_done() -> None:
    api = InProcess()
    driver = Driver(api)
    api.post(DEPLOYMENTS, deployment(1))
    driver.run(10)
    first = next(r for r in driver.records if r["controller"] == "deployment" and r.get("effects"))
    assert first["object"] == "deployments.apps/default/web"
    assert first["effects"][0].startswith("Create deployment/")
    used, newest = first["reads"]["deployments.apps"]
    assert 0 < used <= newest
