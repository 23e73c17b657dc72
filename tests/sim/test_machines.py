"""The simulated machine: what supervisors do with and without an agent, and what stays when the power goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairlead.agent.contract import Close, Closed, ContainerRun, Extend, Failed, Found, Open, Saw, Start, Stop
from fairlead.sim.chance import Chance
from fairlead.sim.digest import Digest
from fairlead.sim.processes.machines import SimulatedMachine
from fairlead.sim.processes.runs import ProcessRun, RunLog
from fairlead.sim.time import Timeline


class Bench:
    def __init__(self) -> None:
        chance = Chance.replay(())
        self.timeline = Timeline(chance)
        self.log = RunLog(())
        self.machine = SimulatedMachine("a", self.timeline, chance, Digest(self.timeline), self.log)
        self.told: list[Any] = []
        self.attach()

    def attach(self) -> None:
        self.machine.attach(self._tell, 0)
        self.until(self.timeline.ms + 500)

    def _tell(self, make: Callable[[float], Any]) -> None:
        self.told.append(make(self.timeline.now))

    def until(self, ms: int) -> None:
        self.timeline.run_until(ms)

    def ask(self, *instructions: Any) -> None:
        for each in instructions:
            self.machine.carry_out(each)
        self.until(self.timeline.ms + 200)

    def start(self, *argv: str, attempt: int = 0) -> Start:
        return Start("u", ContainerRun("main", attempt, argv, ()))

    def open(self, seconds: float = 30.0) -> Open:
        return Open(
            uid="u",
            namespace="default",
            name="p",
            address="127.128.0.1",
            volumes=(),
            deadline=self.timeline.now + seconds,
        )

    @property
    def running(self) -> list[ProcessRun]:
        return [run for run in self.log.runs if run.until_ms is None]

    def last(self, kind: type) -> Any:
        return next(each for each in reversed(self.told) if isinstance(each, kind))


@pytest.fixture
def bench() -> Bench:
    found = Bench()
    found.ask(found.open(), found.start("serve"))
    assert len(found.running) == 1
    return found


def test_an_attempt_is_started_once_whoever_asks_how_often(bench: Bench) -> None:
    bench.ask(bench.start("serve"), bench.start("serve"))
    assert len(bench.log.runs) == 1


def test_a_second_run_waits_for_the_end_of_the_first(bench: Bench) -> None:
    bench.ask(bench.start("serve", attempt=1))
    assert isinstance(bench.last(Failed), Failed)
    assert len(bench.log.runs) == 1


@pytest.mark.parametrize("agent", ["there", "gone"])
def test_everything_is_killed_when_the_deadline_passes(bench: Bench, agent: str) -> None:
    if agent == "gone":
        bench.machine.detach()
    bench.until(60_000)
    (run,) = bench.log.runs
    assert run.until_ms == 30_500
    if agent == "there":
        box = bench.last(Saw).sandbox
        assert (box.fenced, box.alive) == (True, False)


def test_a_deadline_that_is_moved_in_time_counts_and_one_moved_too_late_does_not(bench: Bench) -> None:
    bench.ask(Extend(bench.timeline.now + 50.0))
    bench.until(45_000)
    assert bench.running
    bench.until(55_000)
    assert not bench.running
    bench.ask(Extend(bench.timeline.now + 50.0), bench.start("serve", attempt=1))
    assert not bench.running


@pytest.mark.parametrize(("argv", "seconds"), [("serve", 1), ("stubborn", 5)])
def test_sigterm_ends_a_willing_process_and_the_grace_the_others(argv: str, seconds: int) -> None:
    bench = Bench()
    bench.ask(bench.open(), bench.start(argv))
    bench.ask(Stop("u", "", 5.0))
    bench.until(bench.timeline.ms + 5_000)
    (run,) = bench.log.runs
    assert run.until_ms is not None
    assert (run.until_ms - run.since_ms) // 1000 == seconds - (seconds == 1)


def test_work_ends_by_itself_with_its_code() -> None:
    bench = Bench()
    bench.ask(bench.open(), bench.start("work", "2", "3"))
    bench.until(5_000)
    (state,) = bench.last(Saw).sandbox.containers
    assert (state.ended.exit_code, state.ended.reason) == (3, "Error")


def test_close_leaves_nothing(bench: Bench) -> None:
    bench.ask(Close("u"))
    assert bench.last(Closed).uid == "u"
    assert not bench.running
    bench.attach()
    assert bench.last(Found).sandboxes == ()


def test_a_new_agent_finds_what_runs(bench: Bench) -> None:
    bench.machine.detach()
    bench.attach()
    (box,) = bench.last(Found).sandboxes
    assert (box.alive, box.containers[0].attempt, box.containers[0].ended) == (True, 0, None)


def test_power_takes_the_processes_and_leaves_what_was_written_down(bench: Bench) -> None:
    bench.machine.lose_power()
    assert not bench.running
    bench.machine.restore()
    bench.attach()
    (box,) = bench.last(Found).sandboxes
    assert (box.alive, box.fenced) == (False, False)
    assert box.containers[0].ended.reason == "SupervisorLost"
    bench.ask(bench.open(), bench.start("serve"), bench.start("serve", attempt=1))
    assert [run.attempt for run in bench.running] == [1]
