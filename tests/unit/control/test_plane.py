"""The plane over the real API, driven in one thread: what a lost answer, a stale view or a refusal leads to."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.port.request import Request
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver


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

    def lose(request: Request) -> str:
        key = request.body + request.name.encode()
        if lost_of not in (request.plural, request.subresource) or request.plural == "leases" or key in seen:
            return ""
        seen.add(key)
        return "reply"

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
    waits = [record for record in driver.records if record.get("reason") == "WaitingForLimitRange"]
    assert waits
    assert all(record["verdict"] == "Waiting" for record in waits)


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
