"""The eviction subresource: a deletion that asks the disruption budget first, and pays in the same transaction."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead.core.times import timestamp
from fairlead.model.key import Key
from tests.inprocess import InProcess
from tests.unit.api.things import BUDGETS, PODS, made, pod

EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web-0"}}
READY = [{"type": "Ready", "status": "True"}]


def _running(plane: InProcess, name: str, ready: bool = True) -> None:
    made(plane, PODS, pod(name, "node-1", labels={"app": "web"}))
    status = {"phase": "Running", "conditions": READY if ready else []}
    assert plane.patch(f"{PODS}/{name}/status", {"status": status})[0] == 200


def _budget(plane: InProcess, name: str = "web", allowed: int = 1, **status: Any) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    made(plane, BUDGETS, {"metadata": {"name": name}, "spec": spec})
    counted = {
        "disruptionsAllowed": allowed,
        "observedGeneration": 1,
        "currentHealthy": 2,
        "desiredHealthy": 0,
    }
    assert plane.patch(f"{BUDGETS}/{name}/status", {"status": {**counted, **status}})[0] == 200


def _evict(plane: InProcess, name: str = "web-0", query: str = "", **body: Any) -> tuple[int, Any]:
    eviction = {**EVICTION, "metadata": {"name": name}, **body}
    return plane.post(f"{PODS}/{name}/eviction{query}", eviction)


def _is_going(plane: InProcess, name: str = "web-0") -> bool:
    status, body = plane.get(f"{PODS}/{name}")
    return status == 404 or "deletionTimestamp" in body["metadata"]


def test_an_allowed_eviction_deletes_and_pays_in_one_transaction() -> None:
    plane = InProcess()
    _running(plane, "web-0")
    _budget(plane, allowed=1)
    before = plane.store.revision
    status, body = _evict(plane)
    assert (status, body["status"]) == (201, "Success")
    assert [change.entry.key.name for change in plane.published if change.entry.revision > before] == [
        "web",
        "web-0",
    ]
    assert _is_going(plane)
    paid = plane.get(f"{BUDGETS}/web")[1]
    assert paid["status"]["disruptionsAllowed"] == 0
    assert paid["status"]["disruptedPods"] == {"web-0": timestamp(plane.now)}
    assert paid["metadata"]["generation"] == 1
    _, _, note = plane.journal.notes("audit", 0, 1000)[-1]
    pod_entry = plane.store.get(Key("pods", "default", "web-0"))
    assert pod_entry is not None
    assert note.revision == pod_entry.revision, "of the pod, not of the budget"
    line = json.loads(note.body)
    assert (line["verb"], line["object"]["resource"], line["object"]["subresource"]) == (
        "create",
        "pods",
        "eviction",
    )


def test_a_budget_without_room_says_how_many_it_needs() -> None:
    plane = InProcess()
    for number in range(3):
        _running(plane, f"web-{number}")
    _budget(plane, allowed=0, desiredHealthy=3)
    before = plane.store.revision
    status, body = _evict(plane)
    assert status == 429
    assert body["reason"] == "TooManyRequests"
    assert body["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    assert body["details"] == {
        "causes": [
            {
                "reason": "DisruptionBudget",
                "message": "The disruption budget web needs 3 healthy pods and has 2 currently",
            }
        ]
    }
    assert plane.store.revision == before


def test_a_budget_that_was_not_computed_yet_asks_to_come_back() -> None:
    plane = InProcess()
    _running(plane, "web-0")
    _budget(plane, allowed=5)
    plane.patch(f"{BUDGETS}/web", {"spec": {"minAvailable": 2}})
    status, body = _evict(plane)
    assert (status, body["details"]["retryAfterSeconds"]) == (429, 10)
    assert body["details"]["causes"][0]["message"] == (
        "The disruption budget web is still being processed by the server."
    )


@pytest.mark.parametrize(("down", "status"), [(0, 201), (1, 429), (2, 429)])
def test_an_allowance_that_nobody_has_lowered_since_pods_went_down_is_not_trusted(
    down: int, status: int
) -> None:
    plane = InProcess()
    for number in range(3):
        _running(plane, f"web-{number}")
    _budget(plane, allowed=1, currentHealthy=3, desiredHealthy=2)
    for number in range(1, 1 + down):
        plane.patch(f"{PODS}/web-{number}/status", {"status": {"conditions": []}})
    answered, body = _evict(plane)
    assert answered == status
    if down:
        needs = f"The disruption budget web needs 2 healthy pods and has {3 - down} currently"
        assert body["details"]["causes"][0]["message"] == needs


def test_an_unready_pod_is_not_free_by_a_status_of_another_generation() -> None:
    plane = InProcess()
    _running(plane, "web-0", ready=False)
    _running(plane, "web-1")
    _budget(plane, allowed=0, currentHealthy=1, desiredHealthy=1)
    plane.patch(f"{BUDGETS}/web", {"spec": {"minAvailable": 2}})
    assert _evict(plane)[0] == 429


def test_an_evicted_pod_says_so() -> None:
    plane = InProcess()
    _running(plane, "web-0")
    assert _evict(plane)[0] == 201
    conditions = {each["type"]: each for each in plane.get(f"{PODS}/web-0")[1]["status"]["conditions"]}
    assert conditions["Ready"]["status"] == "True"
    target = conditions["DisruptionTarget"]
    assert (target["status"], target["reason"]) == ("True", "EvictionByEvictionAPI")


def test_two_budgets_for_one_pod_are_an_error_that_names_them() -> None:
    plane = InProcess()
    _running(plane, "web-0")
    _budget(plane, "one")
    _budget(plane, "two")
    status, body = _evict(plane)
    assert (status, "one, two" in body["message"]) == (500, True)
    assert not _is_going(plane)


def test_two_evictions_at_once_cannot_share_one_allowance() -> None:
    plane = InProcess()
    _running(plane, "web-0")
    _running(plane, "web-1")
    _budget(plane, allowed=1)
    commit = plane.commit
    other: list[int] = []

    def meanwhile(transaction: Any) -> Any:
        plane.commit = commit  # type: ignore[method-assign]
        other.append(_evict(plane, "web-1")[0])
        return commit(transaction)

    plane.commit = meanwhile  # type: ignore[method-assign]
    assert _evict(plane, "web-0")[0] == 429
    assert other == [201]
    assert (_is_going(plane, "web-0"), _is_going(plane, "web-1")) == (False, True)
    assert plane.get(f"{BUDGETS}/web")[1]["status"]["disruptionsAllowed"] == 0


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
def test_a_pod_that_does_not_run_costs_nothing(phase: str) -> None:
    plane = InProcess()
    _running(plane, "web-0")
    plane.patch(f"{PODS}/web-0/status", {"status": {"phase": phase}})
    _budget(plane, allowed=0)
    assert _evict(plane)[0] == 201
    assert _is_going(plane)


def test_a_pod_that_is_going_already_costs_nothing_more() -> None:
    plane = InProcess()
    _running(plane, "web-0")
    _budget(plane, allowed=1)
    assert _evict(plane)[0] == 201
    before = plane.store.revision
    assert _evict(plane)[0] == 201
    assert plane.store.revision == before


@pytest.mark.parametrize(
    ("policy", "healthy", "desired", "status"),
    [
        ("AlwaysAllow", 0, 3, 201),
        ("IfHealthyBudget", 1, 1, 201),
        ("IfHealthyBudget", 2, 3, 429),
        ("IfHealthyBudget", 3, 3, 429),  # it says 3; there is one
        ("IfHealthyBudget", 0, 0, 429),
        (None, 1, 1, 201),
        (None, 2, 3, 429),
    ],
)
def test_a_pod_that_is_not_ready_is_free_where_its_budget_says_so(
    policy: str | None, healthy: int, desired: int, status: int
) -> None:
    plane = InProcess()
    _running(plane, "web-0", ready=False)
    _running(plane, "web-1")
    _budget(plane, allowed=0, currentHealthy=healthy, desiredHealthy=desired)
    plane.patch(f"{BUDGETS}/web", {"spec": {"unhealthyPodEvictionPolicy": policy}})
    plane.patch(f"{BUDGETS}/web/status", {"status": {"observedGeneration": 2}})
    assert _evict(plane, "web-0")[0] == status
    assert _evict(plane, "web-1")[0] == 429, "one that is ready is not"
    assert plane.get(f"{BUDGETS}/web")[1]["status"]["disruptionsAllowed"] == 0


@pytest.mark.parametrize(
    ("selector", "covered"),
    [
        ({}, True),
        ({"matchLabels": {"app": "db"}}, False),
        (None, False),
        ({"matchLabels": {"app": "web"}}, True),
    ],
)
def test_a_budget_covers_what_it_selects(selector: Any, covered: bool) -> None:
    plane = InProcess()
    _running(plane, "web-0")
    made(plane, BUDGETS, {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": selector}})
    assert _evict(plane)[0] == (429 if covered else 201)


def test_a_dry_run_is_judged_and_spends_nothing() -> None:
    plane = InProcess()
    _running(plane, "web-0")
    _budget(plane, allowed=1)
    before = plane.store.revision
    assert _evict(plane, query="?dryRun=All")[0] == 201
    assert plane.store.revision == before
    plane.patch(f"{BUDGETS}/web/status", {"status": {"disruptionsAllowed": 0}})
    assert _evict(plane, query="?dryRun=All")[0] == 429


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"gracePeriodSeconds": 0}, 201),
        ({"preconditions": {"uid": "11111111-2222-4333-8444-555555555555"}}, 409),
        ({"propagationPolicy": "Sideways"}, 422),
        ({"gracePeriodSeconds": -5}, 400),
        ({"dryRun": ["some"]}, 400),
    ],
)
def test_the_options_of_a_deletion_count_here_too(options: Any, status: int) -> None:
    plane = InProcess()
    _running(plane, "web-0")
    assert _evict(plane, deleteOptions=options)[0] == status
    assert _is_going(plane) is (status == 201)


def test_an_eviction_of_another_pod_is_refused() -> None:
    plane = InProcess()
    _running(plane, "web-0")
    status, body = plane.post(f"{PODS}/web-0/eviction", {**EVICTION, "metadata": {"name": "web-1"}})
    assert (status, "does not match" in body["message"]) == (400, True)
    assert plane.post(f"{PODS}/absent/eviction", {})[0] == 404


@pytest.mark.parametrize(
    "mark",
    [
        {"spec": {"taints": [{"key": "fairlead.dev/suspect", "effect": "NoSchedule"}]}},
        {"spec": {"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]}},
        {"metadata": {"annotations": {"fairlead.dev/silent-since": "2027-01-15T08:00:00Z"}}},
    ],
    ids=["suspect", "unreachable", "about to be marked"],
)
def test_pods_of_a_silent_node_justify_no_eviction(mark: dict[str, Any]) -> None:
    """The budget's controller has not heard of it yet: the server looks at the node itself."""
    plane = InProcess()
    made(plane, "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}})
    made(plane, "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-2"}})
    _running(plane, "silent")
    made(plane, PODS, pod("web-0", "node-2", labels={"app": "web"}))
    status = {"phase": "Running", "conditions": READY}
    assert plane.patch(f"{PODS}/web-0/status", {"status": status})[0] == 200
    _budget(plane, allowed=1, desiredHealthy=1)
    assert plane.patch("/api/v1/nodes/node-1", mark)[0] == 200
    code, body = _evict(plane)
    assert (code, body.get("reason")) == (429, "TooManyRequests")
    assert "needs 1 healthy pods and has 1 currently" in json.dumps(body)
    assert not _is_going(plane)
    assert _evict(plane, "silent")[0] == 201, "nobody counts on that one"
    assert _is_going(plane, "silent")


def test_pods_of_a_node_that_missed_a_renewal_justify_no_eviction_though_nothing_is_marked_yet() -> None:
    """After 15 s with a lease of 40 s."""
    plane = InProcess()
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    made(plane, "/api/v1/namespaces", {"metadata": {"name": "kube-node-lease"}})
    for name in ("node-1", "node-2"):
        made(plane, "/api/v1/nodes", {"metadata": {"name": name}})
        made(plane, leases, {"metadata": {"name": name}, "spec": {"leaseDurationSeconds": 40}})
    _running(plane, "silent")
    made(plane, PODS, pod("web-0", "node-2", labels={"app": "web"}))
    status = {"phase": "Running", "conditions": READY}
    assert plane.patch(f"{PODS}/web-0/status", {"status": status})[0] == 200
    _budget(plane, allowed=1, desiredHealthy=1)
    plane.now += 10
    assert plane.patch(f"{leases}/node-2", {"spec": {"holderIdentity": "node-2"}})[0] == 200
    assert _evict(plane, deleteOptions={"dryRun": ["All"]})[0] == 201
    plane.now += 5
    code, body = _evict(plane)
    assert code == 429
    assert "needs 1 healthy pods and has 1 currently" in json.dumps(body)
    assert _evict(plane, "silent")[0] == 429, "nobody knows yet that it is lost: it is not free either"
    assert plane.patch(f"{leases}/node-1", {"spec": {"holderIdentity": "node-1"}})[0] == 200
    assert _evict(plane)[0] == 201


def test_what_a_server_could_not_hear_while_it_stood_still_is_no_silence() -> None:
    plane = InProcess()
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    made(plane, "/api/v1/namespaces", {"metadata": {"name": "kube-node-lease"}})
    made(plane, "/api/v1/nodes", {"metadata": {"name": "node-1"}})
    made(plane, leases, {"metadata": {"name": "node-1"}, "spec": {"leaseDurationSeconds": 60}})
    _running(plane, "web-0")
    _running(plane, "web-1")
    _budget(plane, allowed=1, desiredHealthy=1)
    plane.now += 600
    assert _evict(plane)[0] == 201
