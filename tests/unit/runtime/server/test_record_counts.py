"""The RecordingPolicy says what the log holds and what was not written into it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fairlead.control.instructions import DECISIONS
from fairlead.core import codec
from fairlead.explain.plane_told import PlaneTold
from fairlead.port.request import Reply, Request
from fairlead.runtime.server.host import PLANE
from fairlead.runtime.server.record_counts import RecordCounts
from fairlead.store.contract import Batch, Note
from fairlead.store.retention import LogBound
from fairlead.store.sqlite import SqliteJournal
from tests.inprocess import InProcess

POLICIES = "/apis/fairlead.dev/v1/recordingpolicies"
POLICY = {
    "apiVersion": "fairlead.dev/v1",
    "kind": "RecordingPolicy",
    "metadata": {"name": "default"},
    "spec": {},
}


class World:
    """`told`: what the plane has counted since it began."""

    def __init__(self, directory: Path) -> None:
        self.api = InProcess()
        self.journal = SqliteJournal(
            str(directory / "store.db"), logs={DECISIONS: LogBound(lines_max=10)}, synchronous="OFF"
        )
        self.journal.recover()
        self.told = PlaneTold("one", "Leading", True, True, 1.0)
        self.calls = 0
        self.begin()

    def begin(self, own: str = "one") -> None:
        plane = SimpleNamespace(leadership=SimpleNamespace(identity=own))
        world = self

        class Told:
            reader, journal = world.api.store, world.journal

            @property
            def told(self) -> PlaneTold:
                return world.told

            @property
            def plane(self) -> Any:
                return plane

        self.counts = RecordCounts(self, Told())  # type: ignore[arg-type]

    async def call(self, request: Request) -> Reply:
        self.calls += 1
        body = codec.decode(request.body)
        code, answer = self.api.patch(f"{POLICIES}/default/status", body, user=PLANE)
        assert code == 200, answer
        return Reply(code, b"{}")

    def count(self, merged: int = 0, left_out: int = 0) -> dict[str, Any]:
        self.told = PlaneTold("one", "Leading", True, True, 1.0, merged=merged, left_out=left_out)
        asyncio.run(self.counts.write())
        found: dict[str, Any] = self.api.get(f"{POLICIES}/default")[1]["status"].get("records", {})
        return found


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_what_is_kept_dropped_and_merged_is_told(world: World) -> None:
    asyncio.run(world.counts.write())
    assert world.calls == 0, "there is no policy"
    world.api.post(POLICIES, POLICY)
    world.journal.append(Batch((), tuple(Note(DECISIONS, b"{}") for _ in range(2_000)), 1.0))
    first = world.count(merged=3, left_out=1)
    assert first == {"kept": 10, "bytes": 20, "dropped": 1_990, "leftOut": 1, "merged": 3}
    assert world.count(merged=3, left_out=1) == first
    assert world.calls == 1, "nothing changed"
    assert world.count(merged=5, left_out=1)["merged"] == 5
    world.begin()
    assert world.count(merged=2)["merged"] == 7, "another start goes on from what the status says"
    world.begin(own="server")
    assert world.count(merged=2)["merged"] == 7, "of a plane elsewhere it is not known what is in it already"
    assert world.count(merged=4)["merged"] == 9


def test_nobody_else_writes_the_counts(world: World) -> None:
    world.api.post(POLICIES, POLICY)
    counts = world.count(merged=3)
    code, _ = world.api.patch(f"{POLICIES}/default/status", {"status": {"records": {"merged": 0, "kept": 9}}})
    assert code == 200
    assert world.api.get(f"{POLICIES}/default")[1]["status"]["records"] == counts
