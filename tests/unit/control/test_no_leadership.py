"""A plane that needs no leader: it acts at once, asks for no lease, and its writes carry no fence."""

from __future__ import annotations

import pytest

from fairlead.agent.hollow.decider import hollow_decider
from fairlead.control.no_leadership import Alone
from fairlead.control.plane import Plane
from tests.inprocess import InProcess
from tests.unit.control import driving


def _alone(identity: str, *arguments: object) -> Plane:
    return Plane(identity, *arguments, lambda _: Alone(identity))  # type: ignore[arg-type, call-arg]


def test_it_registers_its_nodes_beside_a_plane_that_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    api = InProcess()
    leader = driving.Driver(api)
    leader.run(10)
    assert leader.plane.leadership.leads
    monkeypatch.setattr(driving, "Plane", _alone)
    played = driving.Driver(api, deciders=(hollow_decider("hollow-", 3),), identity="hollow-")
    played.run(10)
    assert {entry.key.name for entry in api.store.list("nodes")} >= {"hollow-0", "hollow-1", "hollow-2"}
    assert played.sent
    assert not any(request.premises for request in played.sent)
    assert not any(request.plural == "leases" for request in played.sent)
    leader.run(10)
    assert leader.plane.leadership.leads, "the other one took nothing from it"
    assert any(request.premises for request in leader.sent)
