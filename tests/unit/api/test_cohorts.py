"""Quotas of a cohort where they are committed: what is borrowed, what is refused and with which words."""

from __future__ import annotations

from typing import Any

from tests.inprocess import InProcess
from tests.unit.api.test_quotas import asking
from tests.unit.api.things import made

Json = dict[str, Any]


def quotas(space: str) -> str:
    return f"/apis/fairlead.dev/v1/namespaces/{space}/placementquotas"


def pods(space: str) -> str:
    return f"/api/v1/namespaces/{space}/pods"


def member(plane: InProcess, space: str, cpu: str, cohort: str = "research", **spec: Any) -> None:
    if plane.get(f"/api/v1/namespaces/{space}")[0] == 404:
        made(plane, "/api/v1/namespaces", {"metadata": {"name": space}})
    body = {"metadata": {"name": "limit"}, "spec": {"hard": {"cpu": cpu}, "cohort": cohort, **spec}}
    made(plane, quotas(space), body)


def place(plane: InProcess, space: str, name: str, cpu: str) -> tuple[int, Any]:
    """A pod that is created on its node is charged as one that is bound to it."""
    return plane.post(pods(space), asking(name, cpu, "n"))


def status(plane: InProcess, space: str) -> Json:
    found: Json = plane.get(f"{quotas(space)}/limit")[1]["status"]
    return found


def borrowing(lending: Json | None = None) -> InProcess:
    plane = InProcess()
    member(plane, "a", "4", lendingLimit=lending or {})
    member(plane, "b", "2", borrowingLimit={"cpu": "3"})
    return plane


def test_what_others_leave_unused_is_borrowed_and_told() -> None:
    plane = borrowing()
    assert place(plane, "b", "one", "2")[0] == 201
    assert "borrowed" not in status(plane, "b")
    assert place(plane, "b", "two", "2")[0] == 201
    told = status(plane, "b")
    assert (told["used"], told["borrowed"]) == ({"cpu": "4"}, {"cpu": "2"})
    assert told["conditions"][0]["reason"] == "RoomLeft"
    assert place(plane, "b", "three", "1")[0] == 201
    assert status(plane, "b")["conditions"][0]["reason"] == "LimitReached"


def test_nobody_borrows_more_than_its_limit() -> None:
    plane = borrowing()
    assert place(plane, "b", "one", "5")[0] == 201
    refused, body = place(plane, "b", "two", "1")
    assert refused == 403
    assert (
        "cohort research: b/limit borrows 3 from another namespace, 1 left to lend, b/limit borrows 3 of 3 it may"
        in (body["message"])
    )


def test_without_a_borrowing_limit_nothing_is_borrowed() -> None:
    plane = borrowing()
    assert place(plane, "a", "one", "4")[0] == 201
    assert place(plane, "a", "two", "1")[0] == 403


def test_nobody_lends_more_than_its_limit() -> None:
    plane = borrowing(lending={"cpu": "1"})
    assert place(plane, "b", "one", "4")[0] == 403
    assert place(plane, "b", "one", "3")[0] == 201
    assert place(plane, "a", "one", "3")[0] == 201
    assert place(plane, "a", "two", "1")[0] == 403


def test_a_lender_that_needs_its_own_is_told_who_has_it_and_whom_that_waits_for() -> None:
    plane = borrowing()
    assert place(plane, "b", "one", "5")[0] == 201
    refused, body = place(plane, "a", "one", "2")
    assert refused == 403
    assert body["message"] == (
        'pods "one" is forbidden: exceeded quota: limit, requested: cpu=2, used: cpu=0, limited: cpu=4; '
        "cpu: cohort research: another namespace borrows 3 from a/limit, 1 left to lend, a/limit borrows 0 of 0 it may"
    )
    assert [each["field"] for each in body["details"]["causes"]] == [
        "placementquotas.fairlead.dev/a/limit",
        "placementquotas.fairlead.dev/b/limit",
    ]


def test_what_pods_of_the_lender_wait_for_is_lent_to_nobody() -> None:
    plane = borrowing()
    made(plane, pods("a"), asking("waits", "3"))
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1 nodes are available: 1 quota/limit: exceeded cpu (requested 3, used 4, limited 4).",
        "owner": "quota-admin",
    }
    told = {"status": {"conditions": [condition]}}
    assert plane.patch(f"{pods('a')}/waits/status", told)[0] == 200
    refused, body = place(plane, "b", "one", "4")
    assert refused == 403
    assert "pods of another namespace wait for 3 of its own" in body["message"]
    assert place(plane, "b", "two", "3")[0] == 201
    assert place(plane, "a", "other", "3")[0] == 201  # its own is not kept from itself


def test_a_charge_that_was_planned_before_another_borrowed_is_judged_again() -> None:
    plane = borrowing()
    commit = plane.commit

    def meanwhile(transaction: Any) -> Any:
        plane.commit = commit  # type: ignore[method-assign]
        assert place(plane, "b", "one", "5")[0] == 201
        return commit(transaction)

    plane.commit = meanwhile  # type: ignore[method-assign]
    assert place(plane, "a", "one", "2")[0] == 403


def test_other_cohorts_and_quotas_of_other_nodes_lend_nothing() -> None:
    plane = InProcess()
    member(plane, "a", "4", cohort="other")
    member(plane, "c", "4", nodeSelector={"matchLabels": {"zone": "c"}})
    member(plane, "b", "2", borrowingLimit={"cpu": "3"})
    assert place(plane, "b", "one", "3")[0] == 403


def test_limits_of_a_cohort_need_one_and_name_what_hard_names() -> None:
    plane = InProcess()
    spec: Json = {"hard": {"cpu": "1"}, "borrowingLimit": {"cpu": "1", "memory": "1Gi"}}
    refused, body = plane.post(quotas("default"), {"metadata": {"name": "limit"}, "spec": spec})
    assert refused == 422
    assert "spec.cohort: Required value" in body["message"]
    assert "spec.borrowingLimit[memory]" in body["message"]


def test_what_is_borrowed_returns_as_pods_go() -> None:
    plane = borrowing()
    place(plane, "b", "one", "5")
    plane.delete(f"{pods('b')}/one?gracePeriodSeconds=0")
    # The controller has it counted again; the server counts, whatever is written.
    assert plane.patch(f"{quotas('b')}/limit/status", {"status": {}})[0] == 200
    assert status(plane, "b")["used"] == {"cpu": "0"}
    assert place(plane, "a", "one", "4")[0] == 201
