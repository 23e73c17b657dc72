"""Reservations: one per owner and intent, found again by whoever asks again, used in the transaction that binds."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.ledger.override import MADE_FOR
from fairlead.ledger.reservation import ANNOTATION, IN_USE
from fairlead.model.kinds.reservation import name_for
from tests.inprocess import InProcess
from tests.unit.api.test_quotas import PLACEMENT, bind, placement, used
from tests.unit.api.things import PODS, made, pod

Json = dict[str, Any]
RESERVATIONS = "/apis/fairlead.dev/v1/namespaces/default/reservations"
NAME = name_for("u-1", "recover")
ONE = f"{RESERVATIONS}/{NAME}"


def reservation(intent: str = "recover", uid: str = "u-1", **spec: Any) -> Json:
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "risk-api", "uid": uid}
    return {
        "apiVersion": "fairlead.dev/v1",
        "kind": "Reservation",
        "spec": {
            "owner": owner,
            "intent": intent,
            "nodeName": "node-1",
            "requests": {"cpu": "1"},
            "ttlSeconds": 60,
            **spec,
        },
    }


def active(plane: InProcess, metadata: Json | None = None, **spec: Any) -> None:
    made(plane, RESERVATIONS, {**reservation(**spec), "metadata": metadata or {}})
    status = {"status": {"phase": "Active", "nodeName": "node-1"}}
    assert plane.patch(ONE, status, "merge-patch")[0] == 200
    assert plane.patch(f"{ONE}/status", status)[0] == 200


def using(name: str = "web", to: str = NAME) -> Json:
    return pod(name, annotations={ANNOTATION: to})


def test_asking_again_after_a_lost_answer_finds_the_first() -> None:
    plane = InProcess()
    first = made(plane, RESERVATIONS, reservation())
    assert first["metadata"]["name"] == NAME
    status, body = plane.post(RESERVATIONS, reservation())
    assert (status, body["reason"], body["details"]["name"]) == (409, "AlreadyExists", NAME)
    assert f'"{NAME}" already exists' in body["message"]
    assert plane.get(ONE)[1] == first
    assert plane.post(RESERVATIONS, reservation("other"))[0] == 201
    assert plane.post(RESERVATIONS, reservation(uid="u-2"))[0] == 201


@pytest.mark.parametrize("metadata", [{"name": "res-b"}, {"generateName": "res-"}])
def test_no_other_name_gets_around_it(metadata: Json) -> None:
    plane = InProcess()
    made(plane, RESERVATIONS, reservation())
    status, body = plane.post(RESERVATIONS, {**reservation(), "metadata": metadata})
    assert status in (409, 422), body
    assert NAME in body["message"]
    assert len(plane.get(RESERVATIONS)[1]["items"]) == 1


def test_of_two_at_once_one_is_made() -> None:
    plane = InProcess()
    commit = plane.commit

    def meanwhile(transaction: Any) -> Any:
        plane.commit = commit  # type: ignore[method-assign]
        made(plane, RESERVATIONS, reservation())
        return commit(transaction)

    plane.commit = meanwhile  # type: ignore[method-assign]
    assert plane.post(RESERVATIONS, reservation())[0] == 409
    assert len(plane.get(RESERVATIONS)[1]["items"]) == 1


def test_a_binding_uses_its_reservation_in_the_same_transaction() -> None:
    plane = InProcess()
    active(plane)
    created = made(plane, PODS, using())
    before = plane.store.revision
    assert bind(plane, "web", "node-1", **{ANNOTATION: NAME})[0] == 201
    assert plane.store.revision == before + 2
    status = plane.get(ONE)[1]["status"]
    assert (status["phase"], status["allocatedTo"]["uid"]) == ("Allocated", created["metadata"]["uid"])


def test_a_reservation_that_is_not_only_for_one_stays_active() -> None:
    plane = InProcess()
    active(plane, allocateOnce=False)
    for name in "ab":
        made(plane, PODS, using(name))
        assert bind(plane, name, "node-1", **{ANNOTATION: NAME})[0] == 201
    status = plane.get(ONE)[1]["status"]
    assert (status["phase"], status["allocatedTo"]["name"]) == ("Active", "b")


def test_a_reservation_cannot_be_used_twice_elsewhere_late_or_by_others() -> None:
    plane = InProcess()
    active(plane)
    for name in ("a", "b"):
        made(plane, PODS, using(name))
    made(plane, PODS, pod("stranger"))
    asked = {ANNOTATION: NAME}

    def told(name: str, at: str = "node-1", **annotations: str) -> tuple[int, str]:
        status, body = bind(plane, name, at, **(annotations or asked))
        return status, body.get("message", "").rpartition("cannot be used: ")[2]

    assert told("a", "node-2") == (409, "it keeps room on node node-1, not on node-2")
    assert told("a", **{ANNOTATION: "absent"}) == (409, "it does not exist")
    assert told("stranger") == (403, "it is kept for Deployment risk-api, which does not own this pod")
    plane.now += 61
    assert told("a") == (409, "its time is over")
    plane.now -= 61
    assert told("a")[0] == 201
    assert told("b") == (409, "it is Allocated to pod a, not Active")
    assert "nodeName" not in plane.get(f"{PODS}/b")[1]["spec"]


def test_a_reservation_that_is_being_deleted_is_used_by_nobody() -> None:
    plane = InProcess()
    active(plane, {"finalizers": [IN_USE]})
    made(plane, PODS, using())
    assert plane.delete(ONE)[0] == 200
    assert plane.get(ONE)[1]["metadata"]["deletionTimestamp"]
    status, body = bind(plane, "web", "node-1", **{ANNOTATION: NAME})
    assert (status, body["message"].rpartition(": ")[2]) == (409, "it is being deleted")
    assert "nodeName" not in plane.get(f"{PODS}/web")[1]["spec"]


OVERRIDES = "/apis/fairlead.dev/v1/namespaces/default/scheduleroverrides"


def lent(plane: InProcess) -> None:
    """One that was made for an override of five minutes, and a pod that may use it."""
    changes = {"allowReservedCapacityClass": "recovery", "reservedReplicas": 1}
    spec = {"target": "namespace/default", "reason": "a drill", "expiresAfter": "5m", "changes": changes}
    body = {"apiVersion": "fairlead.dev/v1", "kind": "SchedulerOverride", "metadata": {"name": "room"}}
    made(plane, OVERRIDES, {**body, "spec": spec})
    active(plane, {"annotations": {MADE_FOR: "default/room"}}, capacityClass="recovery", ttlSeconds=3600)
    made(plane, PODS, using())


def test_what_an_override_lends_is_used_while_it_holds() -> None:
    plane = InProcess()
    lent(plane)
    assert bind(plane, "web", "node-1", **{ANNOTATION: NAME})[0] == 201


def test_what_an_override_lent_is_not_used_after_its_end() -> None:
    """Not even by a plane that has not heard of it, before what was made for it is removed."""
    plane = InProcess()
    lent(plane)
    plane.now += 300
    status, body = bind(plane, "web", "node-1", **{ANNOTATION: NAME})
    assert (status, body["reason"]) == (409, "Conflict")
    assert body["message"].endswith("SchedulerOverride default/room, for which it was made, has ended")
    assert plane.delete(f"{OVERRIDES}/room")[0] == 200
    status, body = bind(plane, "web", "node-1", **{ANNOTATION: NAME})
    assert (status, body["reason"]) == (409, "Conflict")
    assert body["message"].endswith("SchedulerOverride default/room, for which it was made, is gone")


def test_an_override_that_goes_at_the_same_time_lends_nothing() -> None:
    plane = InProcess()
    lent(plane)
    commit = plane.commit

    def meanwhile(transaction: Any) -> Any:
        plane.commit = commit  # type: ignore[method-assign]
        assert plane.delete(f"{OVERRIDES}/room")[0] == 200
        return commit(transaction)

    plane.commit = meanwhile  # type: ignore[method-assign]
    assert bind(plane, "web", "node-1", **{ANNOTATION: NAME})[0] == 409
    assert plane.get(ONE)[1]["status"]["phase"] == "Active"


def test_a_quota_without_room_leaves_the_reservation_unused() -> None:
    plane = InProcess()
    active(plane)
    made(plane, PLACEMENT, placement(pods="0"))
    made(plane, PODS, using())
    assert bind(plane, "web", "node-1", **{ANNOTATION: NAME})[0] == 403
    assert plane.get(ONE)[1]["status"]["phase"] == "Active"
    plane.patch(f"{PLACEMENT}/q", {"spec": {"hard": {"pods": "1"}}})
    assert bind(plane, "web", "node-1", **{ANNOTATION: NAME})[0] == 201
    assert used(plane, f"{PLACEMENT}/q") == {"pods": "1"}
