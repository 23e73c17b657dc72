"""A process in virtual time: it may die at any instruction, be paused, and be woken by the newest timer of a name."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.port.driving import Started, WakeAt, Woke
from fairlead.sim.chance import Chance
from fairlead.sim.digest import Digest
from fairlead.sim.processes.driving import SimulatedProcess
from fairlead.sim.time import Timeline


class Machine:
    """Counts its steps, and asks for what it was given for an event."""

    def __init__(self, answers: dict[Any, tuple[Any, ...]]) -> None:
        self.answers = answers
        self.heard: list[Any] = []

    def handle(self, event: Any) -> tuple[Any, ...]:
        self.heard.append(event)
        return self.answers.get(event, ())


class Link:
    name = "mortal"
    paused_until = 0


class Mortal(SimulatedProcess[Any, Any]):
    skew_ms_max, drifts, in_order = 1, True, True

    def __init__(
        self, answers: dict[Any, tuple[Any, ...]] | None = None, chance: Chance | None = None
    ) -> None:
        chance = chance or Chance(0)
        self.timeline = Timeline(chance)
        self.answers, self.done = answers or {}, list[Any]()
        link: Any = Link()
        super().__init__(self.timeline, chance, Digest(self.timeline), link)
        self.start()

    def start(self) -> None:
        self._begin_life()
        self.machine = Machine(self.answers)
        self._start_machine(self.machine)

    def crash(self) -> None:
        self.up = False
        self._restart_later()

    def tell(self, event: Any) -> None:
        self._hear(self._life, lambda: event)

    def _note_event(self, event: Any) -> None:
        pass

    def _carry_out(self, instruction: Any) -> None:
        if isinstance(instruction, WakeAt):
            self._wake_at(instruction)
        elif instruction == "die":
            self.crash()
        else:
            self.done.append(instruction)


def test_a_process_that_dies_at_an_instruction_had_finished_its_step_and_does_not_send_the_rest() -> None:
    process = Mortal({"a": ("first", "die", "second")})
    before = process.machine
    process.tell("a")
    process.tell("b")
    assert before.heard[1:] == ["a"]
    assert process.done == ["first"]
    process.timeline.run_until(20_000)
    assert process.up
    assert process.machine is not before
    assert [type(each) for each in process.machine.heard] == [Started]


def test_what_comes_during_a_pause_is_handled_after_it() -> None:
    process = Mortal()
    process.pause(500)
    for event in ("a", "b", "c"):
        process.tell(event)
    process.timeline.run_until(499)
    assert len(process.machine.heard) == 1
    process.timeline.run_until(500)
    assert process.machine.heard[1:] == ["a", "b", "c"]


@pytest.mark.parametrize("dies", [False, True])
def test_only_the_newest_timer_of_a_name_wakes_and_none_of_a_former_life(dies: bool) -> None:
    process = Mortal()
    at = process.now
    answers = (WakeAt(at + 1.0), WakeAt(at + 2.0), WakeAt(at + 1.0, "pods"))
    process.machine.answers = {"a": (*answers, "die") if dies else answers}
    process.tell("a")
    process.timeline.run_until(20_000)
    woken = [each.timer for each in process.machine.heard if isinstance(each, Woke)]
    assert woken == ([] if dies else ["pods", ""])


def test_a_process_may_die_between_any_two_instructions_of_a_step() -> None:
    forced = {("crash_mid_step", "mortal", 0): 1, ("crash.instruction", "mortal", 0): 1}
    process = Mortal({"a": ("first", "second", "third")}, Chance(0, forced, calm=True))
    process.tell("a")
    assert process.done == ["first", "second"]
    assert not process.up


def test_a_slow_process_hears_everything_late_and_in_order() -> None:
    process = Mortal()
    process.slow_down(300, 200)
    process.tell("a")
    process.tell("b")
    process.timeline.run_until(199)
    assert len(process.machine.heard) == 1
    process.timeline.run_until(250)
    assert process.machine.heard[1:] == ["a", "b"]
    process.tell("c")
    process.timeline.run_until(301)
    process.tell("d")  # it is not slow any more, but has not come to the one before
    assert process.machine.heard[3:] == []
    process.timeline.run_until(451)
    assert process.machine.heard[3:] == ["c", "d"]


class Hasty(Mortal):
    in_order = False


@pytest.mark.parametrize("seed", range(8))
def test_what_is_on_its_way_to_a_slow_process_stays_in_order_through_a_pause(seed: int) -> None:
    process = Hasty(chance=Chance(seed))
    process.slow_down(300, 200)
    for event in "abcd":
        process.tell(event)
    process.timeline.run_until(150)
    process.pause(500)
    process.timeline.run_until(649)
    assert len(process.machine.heard) == 1
    process.timeline.run_until(700)
    assert process.machine.heard[1:] == ["a", "b", "c", "d"]


def test_a_clock_that_drifts_moves_timers_along_with_it() -> None:
    forced = {("clock_drift", "mortal", 0): 1, ("drift", "mortal", 0): 159}
    process = Mortal(chance=Chance(0, forced, calm=True))
    process.timeline.run_until(100_000)
    ahead = process.now - process.timeline.now
    assert 1.9 < ahead < 2.0
    process.machine.answers = {"a": (WakeAt(process.now + 10.0),)}
    process.tell("a")
    process.timeline.run_until(109_700)
    assert not any(isinstance(each, Woke) for each in process.machine.heard)
    process.timeline.run_until(109_900)
    assert any(isinstance(each, Woke) for each in process.machine.heard)
