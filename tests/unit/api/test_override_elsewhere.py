"""What a refusal tells of SchedulerOverrides of other namespaces, and what may be had of them: nothing."""

from __future__ import annotations

import pytest

from fairlead.model.kind import Json
from tests.inprocess import InProcess
from tests.unit.api.test_overrides import OVERRIDES, PLANE, made, override, plane, reservation

__all__ = ["plane"]
RESERVATIONS = "/apis/fairlead.dev/v1/namespaces/{}/reservations"


@pytest.fixture
def spaces(plane: InProcess) -> InProcess:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}}
    assert plane.post("/api/v1/namespaces", body)[0] == 201
    return plane


def test_who_makes_one_too_many_is_not_told_what_those_elsewhere_are_called(spaces: InProcess) -> None:
    settings: Json = {
        "apiVersion": "fairlead.dev/v1",
        "kind": "PlaneSettings",
        "metadata": {"name": "default"},
    }
    settings["spec"] = {"overrides": {"activeMax": 1}}
    assert spaces.post("/apis/fairlead.dev/v1/planesettings", settings)[0] == 201
    assert made(spaces, override())[0] == 201
    status, answer = made(spaces, override("namespace", name="second"), "elsewhere")
    assert (status, "the next to end is one of another namespace at " in answer["message"]) == (422, True)
    assert "calm" not in answer["message"]


def test_a_reservation_is_made_for_an_override_of_its_own_namespace(spaces: InProcess) -> None:
    """Another's would be used up by it, and tell its class and what uses it."""
    changes = {"allowReservedCapacityClass": "recovery", "reservedReplicas": 1}
    assert made(spaces, override(changes=changes))[0] == 201
    asked = reservation("one", "default/calm")
    status, answer = spaces.post(RESERVATIONS.format("elsewhere"), asked, user=PLANE)
    assert (status, "there is no SchedulerOverride default/calm" in answer["message"]) == (403, True), answer
    assert "reserved" not in (spaces.get(f"{OVERRIDES.format('default')}/calm")[1].get("status") or {})
    assert spaces.post(RESERVATIONS.format("default"), asked, user=PLANE)[0] == 201
