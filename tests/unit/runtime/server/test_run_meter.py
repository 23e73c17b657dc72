"""What runs of runbooks see is measured for each of them, and no run keeps another, or a commit, from going on."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from fairlead.core.errors import Unavailable
from fairlead.core.times import timestamp
from fairlead.explain.index import MemoryIndex
from fairlead.model.key import Key
from fairlead.model.views.runbooks import RUNBOOK_RUNS
from fairlead.port.request import Reply, Request
from fairlead.reconcile.runbooks.scene import READINGS_FRESH_SECONDS
from fairlead.runtime.metrics.contract import Metric
from fairlead.runtime.server.answering import Answering
from fairlead.runtime.server.host import PLANE
from fairlead.runtime.server.run_meter import RunMeter
from fairlead.store.events import RoomLost
from tests.inprocess import InProcess
from tests.unit.api.test_damaged import rot
from tests.unit.reconcile.runbooks.book_world import BookWorld

Json = dict[str, Any]
_RUNS = "/apis/fairlead.dev/v1/namespaces/default/runbookruns"
_METRICS = [{"name": "depth", "metric": "fairlead_store_pending"}]
_DECISIONS = [{"name": "decided", "apiVersion": "apps/v1", "kind": "Deployment", "objectName": "${workload}"}]
_PENDING = Metric("fairlead_store_pending", "for the test")


class Host:
    """Calls an API that answers at once."""

    def __init__(self, plane: InProcess) -> None:
        self.api = plane.api
        self.written: list[tuple[str, int]] = []
        self._plane = plane

    async def call(self, request: Request) -> Reply:
        reply = self._plane.send(request, PLANE)
        assert isinstance(reply, Reply)
        self.written.append((request.name, reply.status))
        return reply


def world(runs: int = 2) -> BookWorld:
    world = BookWorld()
    world.book(metrics=_METRICS)
    for number in range(runs):
        world.start(f"run-{number}")
    return world


def metered(
    world: BookWorld,
    then: Callable[[RunMeter, Host], Awaitable[None]],
    under_way: int = 0,
    step: int = 0,
) -> None:
    """`step`: how much more the metric is each time that it is read."""
    values = itertools.count(3, step)

    async def main() -> None:
        answering = Answering(asyncio.get_running_loop())
        answering.under_way = under_way
        host = Host(world.plane)
        meter = RunMeter(
            cast(Any, host),
            world.plane.journal,
            MemoryIndex(world.plane.journal),
            answering,
            lambda: [_PENDING.sample(next(values))],
            lambda: world.now,
            lambda: bool(world.plane.store.short),
        )
        world.plane.observers.append(meter.observe)
        meter.learn_all()
        try:
            await then(meter, host)
        finally:
            answering.stop()

    asyncio.run(main())


def readings(world: BookWorld, name: str) -> Any:
    return world.plane.get(f"{_RUNS}/{name}")[1].get("status", {}).get("readings")


def spoil(world: BookWorld, name: str, readings: Json) -> None:
    """What is in the status of a run as no client could write it."""

    def change(run: Json) -> None:
        run.setdefault("status", {})["readings"] = readings

    world.overwrite(Key(RUNBOOK_RUNS.name, "default", name), change)


def test_each_run_that_names_something_is_measured() -> None:
    there = world()
    there.book("plain")
    there.start("plain", "plain")

    async def then(meter: RunMeter, host: Host) -> None:
        await meter.look()
        assert host.written == [("run-0", 200), ("run-1", 200)]
        there.start("run-2")
        await meter.look()
        assert host.written[2:] == [("run-2", 200)]

    metered(there, then)
    assert readings(there, "run-0") == {"at": timestamp(there.now), "values": {"depth": 3.0}}


@pytest.mark.parametrize(
    "given",
    [
        {"values": {"depth": 3.0}},
        {"at": "2027-01-15T08:00:00Z"},
        {"at": "2027-01-15T08:00:00Z", "values": [1]},
    ],
)
def test_readings_that_nobody_could_read_are_refused(given: Json) -> None:
    there = world(1)
    status, answer = there.plane.patch(f"{_RUNS}/run-0/status", {"status": {"readings": given}}, user=PLANE)
    assert (status, answer["reason"]) == (422, "Invalid")
    assert "status.readings." in answer["message"]


def test_nobody_but_the_server_writes_readings_and_its_own_leave_no_line_in_the_audit_log() -> None:
    there = world(1)
    at, plane = f"{_RUNS}/run-0/status", there.plane
    plane.patch(
        at, {"status": {"readings": {"at": timestamp(there.now), "values": {"depth": 3.0}}}}, user=PLANE
    )

    def lines() -> int:
        return len(plane.journal.notes("audit", 0, 1000))

    forged = {"status": {"readings": {"at": timestamp(there.now), "values": {"depth": 0.0}}}}
    status, answer = plane.patch(at, forged)
    assert (status, answer["reason"]) == (403, "Forbidden")
    assert 'status.readings is written by the server alone, not by "admin"' in answer["message"]
    before = lines()
    assert plane.patch(at, forged, user=PLANE)[0] == 200
    assert lines() == before
    found = plane.get(f"{_RUNS}/run-0")[1]
    del found["status"]["readings"]
    assert plane.put(at, {**found, "status": {"phase": "Running"}})[0] == 200
    assert lines() == before + 1
    assert readings(there, "run-0")["values"] == {"depth": 0.0}


def test_a_run_that_cannot_be_decoded_stops_no_commit_and_is_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    there = world()

    async def then(meter: RunMeter, host: Host) -> None:
        for number in range(2):
            spoil(there, "run-0", {"at": timestamp(there.now), "values": [number]})
            await meter.look()
        assert host.written == [("run-1", 200)]

    with caplog.at_level(logging.WARNING):
        metered(there, then)
    assert [each.getMessage() for each in caplog.records if "run-0" in each.getMessage()] == [
        "the run default/run-0 cannot be measured: Expected `object`, got `array` - at `$.status.readings.values`"
    ]


def test_a_damaged_run_is_left_out_and_the_server_starts() -> None:
    there = world()
    rot(there.plane, Key(RUNBOOK_RUNS.name, "default", "run-0"))

    async def then(meter: RunMeter, host: Host) -> None:
        await meter.look()
        assert host.written == [("run-1", 200)]

    metered(there, then)


@pytest.mark.parametrize("at", ["", "soon", "2099-01-01T00:00:00Z"])
def test_readings_of_no_time_or_of_one_to_come_count_as_none(at: str) -> None:
    there = world()
    spoil(there, "run-0", {"at": at, "values": {"depth": 3.0}})

    async def then(meter: RunMeter, host: Host) -> None:
        await meter.look()
        assert host.written == [("run-0", 200), ("run-1", 200)]

    metered(there, then)
    assert readings(there, "run-0")["at"] == timestamp(there.now)


@pytest.mark.parametrize("made_anew", [False, True], ids=["many explanations", "the index is made anew"])
def test_while_nobody_can_tell_decisions_metrics_are_measured_and_nothing_is_told(
    made_anew: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = BookWorld()
    there.book("one", decisions=_DECISIONS)
    there.book("two", metrics=_METRICS)
    there.start("asks", "one")
    there.start("reads", "two")
    if made_anew:

        def sequences(*_: Any) -> list[int]:
            raise Unavailable("the index of decisions is made anew: ask again in a moment")

        monkeypatch.setattr(MemoryIndex, "sequences", sequences)

    async def then(meter: RunMeter, host: Host) -> None:
        await meter.look()
        assert host.written == [("reads", 200)]

    with caplog.at_level(logging.INFO):
        metered(there, then, under_way=0 if made_anew else 8)
    assert caplog.records == []


def test_what_was_measured_for_one_that_has_gone_is_not_told_of_another_by_its_name(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    there = world(1)

    async def then(meter: RunMeter, host: Host) -> None:
        call = host.call

        async def late(request: Request) -> Reply:
            assert there.plane.delete(f"{_RUNS}/run-0")[0] == 200
            there.start("run-0")
            return await call(request)

        monkeypatch.setattr(host, "call", late)
        await meter.look()

    metered(there, then)
    assert readings(there, "run-0") is None
    assert caplog.records == [], "that is no failure"


def test_what_was_decided_is_measured() -> None:
    there = BookWorld()
    there.book(decisions=_DECISIONS)
    there.start("run-0")

    async def then(meter: RunMeter, host: Host) -> None:
        await meter.look()

    metered(there, then)
    assert readings(there, "run-0")["values"]["decided"]["recorded"] == 0


def test_one_run_that_fails_keeps_no_other_from_being_measured(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = world()

    async def then(meter: RunMeter, host: Host) -> None:
        measure = meter._measure

        async def fails(key: Key, *rest: Any) -> None:
            if key.name == "run-0":
                raise ValueError("for the test")
            await measure(key, *rest)

        monkeypatch.setattr(meter, "_measure", fails)
        await meter.look()
        assert host.written == [("run-1", 200)]

    metered(there, then)
    assert [each.getMessage() for each in caplog.records] == [
        "what the run default/run-0 measures could not be measured"
    ]


def test_on_a_full_disk_a_run_is_measured_but_not_with_every_new_value() -> None:
    there = world(1)

    async def then(meter: RunMeter, host: Host) -> None:
        await meter.look()
        await meter.look()
        assert host.written == [("run-0", 200)] * 2  # another value each time
        there.plane.store.handle(RoomLost("the disk is full", 100_000))
        await meter.look()
        assert len(host.written) == 2
        there.tick(READINGS_FRESH_SECONDS / 3)
        await meter.look()
        assert host.written == [("run-0", 200)] * 3

    metered(there, then, step=1)
