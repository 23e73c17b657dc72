"""Events over the real API: told once, beside the turns, with the leader's fence, and never in anybody's way."""

from __future__ import annotations

from typing import Any

from fairlead.port.request import Request
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver
from tests.unit.control.test_plane import DEPLOYMENTS, deployment

EVENTS = "/api/v1/namespaces/default/events"
Json = dict[str, Any]


def events(api: InProcess, reason: str = "") -> list[Json]:
    return [each for each in api.get(EVENTS)[1]["items"] if reason in ("", each["reason"])]


def test_everything_is_told_once() -> None:
    api = InProcess()
    driver = Driver(api)
    api.post(DEPLOYMENTS, deployment(3))
    driver.run(600)
    assert {each["count"] for each in events(api)} == {1}
    assert {reason: len(events(api, reason)) for reason in ("ScalingReplicaSet", "SuccessfulCreate", "Scheduled")} == {
        "ScalingReplicaSet": 1,
        "SuccessfulCreate": 3,
        "Scheduled": 3,
    }  # fmt: skip
    sent = [each for each in driver.sent if each.plural == "events"]
    assert all(each.premises for each in sent)
    assert driver.plane.recorder.written == len(sent)


def test_events_that_are_lost_are_not_repeated_and_hold_nothing_up() -> None:
    api = InProcess()
    driver = Driver(api, lambda request: "request" if request.plural == "events" else "")
    api.post(DEPLOYMENTS, deployment(3))
    driver.run(60)
    assert [pod["status"]["phase"] for pod in driver.live_pods()] == ["Running"] * 3
    assert events(api) == []
    assert driver.plane.recorder.unknown == len(driver.lost) == len({each.body for each in driver.lost})


def test_what_was_refused_is_not_told_as_done() -> None:
    api = InProcess()
    refused: list[Request] = []

    def lose(request: Request) -> str:
        if request.plural == "pods" and request.verb == "create" and not request.subresource:
            refused.append(request)
            return "request"
        return ""

    driver = Driver(api, lose)
    api.post(DEPLOYMENTS, deployment(1))
    driver.run(60)
    assert refused
    assert events(api, "SuccessfulCreate") == []
    driver.lose = lambda request: ""
    driver.run(120)
    assert len(events(api, "SuccessfulCreate")) == 1


def test_a_refusal_that_lasts_is_told_at_a_slow_rate_and_writes_nothing_else() -> None:
    api = InProcess()
    limit = {"type": "Container", "max": {"cpu": "1"}}
    api.post(
        "/api/v1/namespaces/default/limitranges",
        {
            "apiVersion": "v1",
            "kind": "LimitRange",
            "metadata": {"name": "small"},
            "spec": {"limits": [limit]},
        },
    )
    greedy = deployment(1)
    greedy["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "2"}}
    api.post(DEPLOYMENTS, greedy)
    driver = Driver(api)
    driver.run(900)  # past the Deployment's deadline
    (first,) = events(api, "FailedCreate")
    since = len(api.published)
    driver.run(3600)
    (event,) = events(api, "FailedCreate")
    assert first["count"] < event["count"] <= first["count"] + 13, "once in a resync"
    others = [
        change.entry.key.resource
        for change in api.published[since:]
        if change.entry.key.resource not in ("events", "leases.coordination.k8s.io")
    ]
    assert others == []


def test_the_next_leader_counts_on() -> None:
    api = InProcess()
    first = Driver(api, identity="first")
    stateful = deployment(1)
    stateful |= {"kind": "StatefulSet", "metadata": {"name": "db"}}
    stateful["spec"]["serviceName"] = "db"
    api.post("/apis/apps/v1/namespaces/default/statefulsets", stateful)
    first.run(30)
    first.stopped = True
    second = Driver(api, identity="second")
    second.now = first.now
    second.run(60)
    api.delete("/api/v1/namespaces/default/pods/db-0")
    second.run(60)
    (event,) = events(api, "SuccessfulCreate")
    assert (event["message"], event["count"]) == ("create Pod db-0 in StatefulSet db successful", 2)
    assert event["firstTimestamp"] < event["lastTimestamp"]
