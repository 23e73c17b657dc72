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
    skew_ms_max, in_order = 1, True

    def __init__(self, answers: dict[Any, tuple[Any, ...]] | None = None) -> None:
        chance = Chance(0)
        self.timeline = Timeline(chance)
        self.answers, self.done = answers or {}, list[Any]()
        link: Any = Link()
        super().__init__(self.timeline, chance, Digest(self.timeline), link)
        self.start()

    def start(self) -> None:
        self._begin_life(0.0)
        self.machine = Machine(self.answers)
        self._start_machine(self.machine)

    def tell(self, event: Any) -> None:
        self._hear(self._life, lambda: event)

    def _note_event(self, event: Any) -> None:
        pass

    def _carry_out(self, instruction: Any) -> None:
        if isinstance(instruction, WakeAt):
            self._wake_at(instruction)
        elif instruction == "die":
            self.up = False
            self._restart_later()
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
