"""Monitors beside a plane: what they find, who is told, and that they look at no more than they may."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.access.users import MASTERS, User
from fairlead.runtime.server import monitoring
from fairlead.runtime.server.couplings import loops
from fairlead.runtime.server.monitoring import Monitoring, decides_on
from fairlead.store.contract import Note
from tests.unit.api.access.test_sight import role, rule, sight_of
from tests.unit.control.test_plane import DEPLOYMENTS, deployment
from tests.unit.explain.asking import Asked

WEB = f"{DEPLOYMENTS}/web"
SETTINGS = "/apis/fairlead.dev/v1/planesettings"
JANE, BOT = User("jane", groups=(MASTERS,)), User("system:fairlead:bot", groups=(MASTERS,))


class Watched(Asked):
    def __init__(self) -> None:
        super().__init__()
        self.api.post(DEPLOYMENTS, deployment(2))
        self.run(10)
        plane = self.driver.plane
        self.monitoring = Monitoring(
            lambda: plane, self.api.store, self.api.journal, self.api.assembly.served, lambda: self.driver.now
        )
        self.monitoring.start()
        self.api.observers.append(self.monitoring.observe)
        self.monitoring.look(1.0)

    def events(self, reason: str) -> list[dict[str, Any]]:
        self.run(5)
        _, found = self.api.get("/api/v1/events")
        return [each for each in found["items"] if each["reason"] == reason]

    def scale(self, user: User, replicas: int) -> None:
        code, told = self.api.patch(WEB, {"spec": {"replicas": replicas}}, user=user)
        assert code == 200, told


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_a_violation_is_counted_and_told_beside_the_object(watched: Watched) -> None:
    watched.api.patch(f"{WEB}/status", {"status": {"observedGeneration": 999}})
    watched.monitoring.look(1.0)
    assert watched.monitoring.violations["observed-generation"] == 1
    (event,) = watched.events("InvariantViolated")
    assert event["type"] == "Warning"
    assert event["involvedObject"]["name"] == "web"
    assert "deployments.apps web observed 999 of 1" in event["message"]


def test_two_who_undo_each_other_are_told_with_the_chain(watched: Watched) -> None:
    for _ in range(3):
        watched.scale(JANE, 5)
        watched.scale(BOT, 2)
    watched.monitoring.look(1.0)
    plane = watched.driver.plane
    (loop,) = plane.health.writes.loops(watched.driver.now)
    assert (loop.kind, loop.writers) == ("oscillation", ("bot", "jane"))
    assert [step.value for step in loop.proof] == ["2", "5", "2", "5", "2", "5", "2"]
    assert len({step.decision for step in loop.proof[1:]}) == 6
    (event,) = watched.events("OscillationFound")
    assert "bot and jane undo each other's spec.replicas" in event["message"]
    assert loops(watched.sources, "bot", sight_of()) == []
    assert loops(watched.sources, "bot", sight_of(*role("default", rule("deployments", group="apps")))) == [
        loop
    ]
    assert loops(watched.sources, "job", sight_of(*role("default", rule("deployments", group="apps")))) == []


def test_an_ordinary_life_breaks_nothing(watched: Watched) -> None:
    for replicas in (5, 3, 1):
        watched.scale(JANE, replicas)
        watched.run(10)
        watched.monitoring.look(1.0)
    assert set(watched.monitoring.violations.values()) == {0}
    assert watched.driver.plane.health.writes.loops(watched.driver.now) == ()
    assert watched.monitoring.looked_at > 10
    assert watched.monitoring.dropped == 0


def test_no_more_is_looked_at_than_may_be(watched: Watched) -> None:
    watched.api.post(SETTINGS, settings(4))
    watched.run(5)
    watched.monitoring.look(1000.0)
    before = watched.monitoring.looked_at
    for number in range(10):
        watched.scale(JANE, number)
    watched.monitoring.look(1.0)
    assert watched.monitoring.looked_at == before + 4
    watched.monitoring.look(0.5)
    assert watched.monitoring.looked_at == before + 6


def test_what_comes_too_fast_is_dropped_and_all_is_learned_anew(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monitoring, "COMMITS_WAITING_MAX", 5)
    for number in range(8):
        watched.scale(JANE, number)
    assert watched.monitoring.dropped >= 6
    watched.monitoring.look(1.0)
    watched.api.patch(f"{WEB}/status", {"status": {"observedGeneration": 999}})
    watched.monitoring.look(1.0)
    assert watched.monitoring.violations["observed-generation"] == 1
    assert watched.monitoring.violations["revisions-increase"] == 0


def test_who_wrote_is_read_as_far_as_it_is_looked_at(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.api.post(SETTINGS, settings(100))
    watched.run(5)
    watched.monitoring.look(1.0)
    for _ in range(3):
        watched.scale(JANE, 5)
        watched.scale(BOT, 2)
    read: list[int] = []
    notes = watched.api.journal.notes

    def read_notes(stream: str, after: int, limit: int) -> list[tuple[int, float, Note]]:
        found = notes(stream, after, limit)
        read.extend(line[0] for line in found)
        return found

    monkeypatch.setattr(watched.api.journal, "notes", read_notes)
    monkeypatch.setattr(monitoring, "_AUDIT_LINES", 1)
    watched.monitoring.look(0.02)  # two of them
    assert len(read) < 6
    watched.monitoring.look(1.0)
    (loop,) = watched.driver.plane.health.writes.loops(watched.driver.now)
    assert loop.writers == ("bot", "jane")


def test_who_wrote_is_known_after_some_were_dropped(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as context:
        context.setattr(monitoring, "COMMITS_WAITING_MAX", 1)
        watched.scale(JANE, 7)
        watched.scale(JANE, 2)
    assert watched.monitoring.dropped
    watched.monitoring.look(1.0)
    watched.monitoring.look(1.0)
    for _ in range(3):
        watched.scale(JANE, 5)
        watched.scale(BOT, 2)
    watched.monitoring.look(1.0)
    (loop,) = watched.driver.plane.health.writes.loops(watched.driver.now)
    assert loop.writers == ("bot", "jane")


def test_monitors_can_be_turned_off_and_on(watched: Watched) -> None:
    watched.api.post(SETTINGS, settings(0))
    watched.run(5)
    watched.api.patch(f"{WEB}/status", {"status": {"observedGeneration": 999}})
    watched.monitoring.look(1.0)
    assert watched.monitoring.violations["observed-generation"] == 0
    watched.run(5)
    watched.api.patch(f"{SETTINGS}/default", {"spec": {"monitors": {"commitsPerSecondMax": 100}}})
    watched.run(5)
    watched.monitoring.look(1.0)
    watched.api.patch(f"{WEB}/status", {"status": {"observedGeneration": 998}})
    watched.monitoring.look(1.0)
    assert watched.monitoring.violations["observed-generation"] == 1


def test_who_decides_on_what(watched: Watched) -> None:
    plane = watched.driver.plane
    assert decides_on(plane, "deployment", "deployments.apps", "spec.replicas")
    assert not decides_on(plane, "deployment", "deployments.apps", "status.noSuchField")
    assert not decides_on(plane, "jane", "deployments.apps", "spec.replicas")


def settings(most: int) -> dict[str, Any]:
    return {
        "apiVersion": "fairlead.dev/v1",
        "kind": "PlaneSettings",
        "metadata": {"name": "default"},
        "spec": {"monitors": {"commitsPerSecondMax": most}},
    }
