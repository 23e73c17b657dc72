"""Quotas of a cohort where they are committed: what is borrowed, what is refused and with which words."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api import cohorts
from fairlead.api.access.contract import NO_OPINION, AccessRules, AccessVerdict, Attributes
from fairlead.api.access.sight import Sight
from fairlead.api.access.users import User
from fairlead.api.cohorts import cohorts_told
from fairlead.cli.queues import _cohort_rows
from fairlead.model.key import Key
from fairlead.model.reasons import QUOTA_ADMIN
from tests.inprocess import InProcess
from tests.unit.api.test_damaged import rot
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


class OnlyOf:
    """Who may see one namespace."""

    def __init__(self, space: str) -> None:
        self._space = space

    def authorize(self, asked: Attributes) -> AccessVerdict:
        return AccessVerdict("allowed") if asked.namespace == self._space else NO_OPINION

    def rules_for(self, user: User, namespace: str) -> AccessRules:
        return AccessRules()


def _refused(plane: InProcess, space: str, name: str) -> None:
    made(plane, pods(space), asking(name, "1"))
    told = "0/1 nodes are available: 1 quota/limit: exceeded cpu"
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": told}
    body = {"status": {"conditions": [{**condition, "owner": QUOTA_ADMIN}]}}
    assert plane.patch(f"{pods(space)}/{name}/status", body)[0] == 200


def test_who_borrows_what_from_whom_and_who_waits_is_told() -> None:
    plane = borrowing()
    member(plane, "c", "7", cohort="other")
    assert place(plane, "b", "one", "5")[0] == 201
    _refused(plane, "b", "waits")
    research, other = sorted(
        cohorts_told(plane.store, Sight()).cohorts, key=lambda each: each["cohort"], reverse=True
    )
    (cpu,) = research["resources"]
    (loan,) = cpu["loans"]
    assert (loan["borrower"], loan["lender"], loan["amount"]) == ("b/limit", "a/limit", "3")
    assert cpu["leftToLend"] == "1"
    assert [
        (each["quota"], each["used"], each["borrowed"], each["mayBorrow"]) for each in cpu["members"]
    ] == [
        ("a/limit", "0", "0", "0"),
        ("b/limit", "5", "3", "3"),
    ]
    assert research["waiting"] == [{"namespace": "b", "pod": "waits", "quota": "limit"}]
    assert (other["resources"][0]["loans"], other["waitingInAll"]) == ([], 0)


def test_quotas_of_other_nodes_are_a_cohort_of_their_own() -> None:
    plane = borrowing()
    member(plane, "c", "7", nodeSelector={"matchLabels": {"gpu": "yes"}})
    found = cohorts_told(plane.store, Sight()).cohorts
    assert [len(each["resources"][0]["members"]) for each in found] == [2, 1]


def test_a_tenant_is_told_of_others_without_their_names() -> None:
    plane = borrowing()
    assert place(plane, "b", "one", "5")[0] == 201
    _refused(plane, "b", "waits")
    (found,) = cohorts_told(plane.store, Sight(OnlyOf("a"), User("jane"))).cohorts
    assert found["resources"][0]["loans"][0]["borrower"] == "another namespace"
    assert (found["waiting"], found["waitingInAll"]) == ([], 1)
    assert "b/limit" not in str(found)
    assert cohorts_told(plane.store, Sight(OnlyOf("elsewhere"), User("jane"))).cohorts == []


def test_loans_of_others_stand_with_whose_they_are_though_all_are_called_alike() -> None:
    plane = borrowing()
    member(plane, "c", "4")
    member(plane, "d", "1", borrowingLimit={"cpu": "3"})
    assert place(plane, "b", "one", "5")[0] == 201
    assert place(plane, "d", "two", "2")[0] == 201
    (found,) = cohorts_told(plane.store, Sight(OnlyOf("a"), User("jane"))).cohorts
    rows = [(row[2], row[4], row[5], row[6]) for row in _cohort_rows(found)]
    other = "another namespace"
    assert rows == [
        ("a/limit", "0/0", "", f"{other}: 3, {other}: 1"),
        (other, "3/3", "a/limit: 3", ""),
        (other, "0/0", "", ""),
        (other, "1/3", "a/limit: 1", ""),
    ]


def test_what_pods_of_the_lender_wait_for_is_not_left_to_lend() -> None:
    plane = borrowing()
    _refused(plane, "a", "waits")
    (found,) = cohorts_told(plane.store, Sight()).cohorts
    (cpu,) = found["resources"]
    assert (cpu["members"][0]["keptForOwnPods"], cpu["leftToLend"]) == ("1", "5")  # of 6 that nobody uses


def test_cohorts_of_one_name_are_told_apart_by_their_nodes() -> None:
    plane = borrowing()
    member(plane, "c", "7", nodeSelector={"matchLabels": {"gpu": "yes"}})
    found = cohorts_told(plane.store, Sight()).cohorts
    assert {row[0] for each in found for row in _cohort_rows(each)} == {"research", "research (gpu=yes)"}


def test_a_damaged_quota_is_left_out_and_named_to_who_may_see_it() -> None:
    plane = borrowing()
    rot(plane, Key("placementquotas.fairlead.dev", "b", "limit"))
    told = cohorts_told(plane.store, Sight())
    assert [each["quota"] for each in told.cohorts[0]["resources"][0]["members"]] == ["a/limit"]
    assert told.left_out == ["b/limit"]
    assert cohorts_told(plane.store, Sight(OnlyOf("a"), User("jane"))).left_out == ["another namespace"]


def test_the_pods_of_a_namespace_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    plane = borrowing()
    made(
        plane,
        quotas("a"),
        {"metadata": {"name": "more"}, "spec": {"hard": {"cpu": "1"}, "cohort": "research"}},
    )
    asked: list[str] = []

    def counted(read: Any, space: str) -> Any:
        asked.append(space)
        return ()

    monkeypatch.setattr(cohorts, "pods_refused", counted)
    cohorts_told(plane.store, Sight())
    assert asked == ["a", "b"]
