"""What drives every machine: one event at a time, timers by name, and an end after a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from fairlead.port.driving import Started, WakeAt, Woke
from fairlead.runtime.driving import Driver

NOW = 1000.0


class Recording:
    """A machine that answers each event with what it was given for it."""

    def __init__(self, answers: dict[Any, tuple[Any, ...]] | None = None) -> None:
        self.answers = answers or {}
        self.heard: list[Any] = []

    def handle(self, event: Any) -> tuple[Any, ...]:
        self.heard.append(event)
        if event == "stone":
            raise LookupError("stumbled")
        return self.answers.get(event, ())


class Stage:
    def __init__(self, machine: Recording) -> None:
        self.machine = machine
        self.errors: list[BaseException] = []
        self.done: list[Any] = []
        self.then: Callable[[Any], None] = lambda instruction: None
        loop = asyncio.get_running_loop()
        self.driver: Driver[Any, Any] = Driver(loop, machine, self.carry_out, lambda: NOW, self.errors.append)

    def carry_out(self, instructions: tuple[Any, ...]) -> None:
        for each in instructions:
            self.done.append(each)
            if isinstance(each, WakeAt):
                self.driver.wake_at(each)
            self.then(each)


def on_stage(machine: Recording, play: Callable[[Stage], Coroutine[Any, Any, None]]) -> Stage:
    async def run() -> Stage:
        stage = Stage(machine)
        await play(stage)
        await stage.driver.stop()
        return stage

    return asyncio.run(run())


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        await asyncio.sleep(0.001)


def test_what_is_told_while_instructions_are_carried_out_is_handled_after_them() -> None:
    async def play(stage: Stage) -> None:
        stage.then = lambda instruction: stage.driver.tell("b") if instruction == "first" else None
        stage.driver.tell("a")

    stage = on_stage(Recording({"a": ("first", "second"), "b": ("third",)}), play)
    assert stage.machine.heard == ["a", "b"]
    assert stage.done == ["first", "second", "third"]


def test_a_timer_replaces_the_one_of_its_name_and_no_other() -> None:
    soon, later = NOW + 0.002, NOW + 3600.0
    asked = (WakeAt(later), WakeAt(soon, "pods"), WakeAt(later, "nodes"), WakeAt(soon))

    async def play(stage: Stage) -> None:
        stage.driver.tell("a")
        await until(lambda: len(stage.machine.heard) == 3)

    stage = on_stage(Recording({"a": asked}), play)
    woken = [each for each in stage.machine.heard if isinstance(each, Woke)]
    assert sorted(each.timer for each in woken) == ["", "pods"]
    assert all(each.now == NOW and 0 <= each.chance < 1 for each in woken)


def test_a_timer_that_was_dropped_does_not_wake() -> None:
    async def play(stage: Stage) -> None:
        stage.driver.tell("a")
        stage.driver.drop_timer("pods")
        await until(lambda: len(stage.machine.heard) == 2)

    stage = on_stage(Recording({"a": (WakeAt(NOW, "pods"), WakeAt(NOW + 0.002, "nodes"))}), play)
    assert [each.timer for each in stage.machine.heard[1:]] == ["nodes"]


def test_a_machine_that_failed_is_asked_nothing_more_and_that_is_said_once() -> None:
    async def play(stage: Stage) -> None:
        stage.driver.start()
        for event in ("a", "stone", "b", "stone"):
            stage.driver.tell(event)

    stage = on_stage(Recording(), play)
    assert isinstance(stage.machine.heard[0], Started)
    assert stage.machine.heard[1:] == ["a", "stone"]
    assert [str(error) for error in stage.errors] == ["stumbled"]


def test_so_is_one_whose_instruction_cannot_be_carried_out_or_whose_work_fails() -> None:
    def refuse(instruction: Any) -> None:
        raise LookupError("cannot")

    async def fail() -> None:
        raise LookupError("cannot")

    async def carried_out(stage: Stage) -> None:
        stage.then = refuse
        stage.driver.tell("a")
        stage.driver.tell("b")

    async def worked(stage: Stage) -> None:
        stage.driver.tell("a")
        stage.driver.do(fail())
        await until(lambda: bool(stage.errors))
        stage.driver.tell("b")

    for play in (carried_out, worked):
        stage = on_stage(Recording({"a": ("x",)}), play)
        assert stage.machine.heard == ["a"]
        assert [str(error) for error in stage.errors] == ["cannot"]


def test_after_its_end_nothing_wakes_it_and_work_under_way_is_dropped() -> None:
    ended: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            ended.append("dropped")
            raise

    async def play(stage: Stage) -> None:
        stage.driver.tell("a")
        stage.driver.do(wait())
        await asyncio.sleep(0)
        await stage.driver.stop()
        stage.driver.tell("b")
        await asyncio.sleep(0.005)

    stage = on_stage(Recording({"a": (WakeAt(NOW),)}), play)
    assert stage.machine.heard == ["a"]
    assert ended == ["dropped"]
    assert stage.errors == []


def test_who_is_held_is_told_nothing_and_then_everything_as_if_it_came_now() -> None:
    async def play(stage: Stage) -> None:
        stage.driver.hold()
        stage.driver.tell(Woke(NOW - 60.0, 0.25))
        stage.driver.tell(Woke(NOW - 50.0, 0.75, "pods"))
        assert stage.machine.heard == []
        stage.driver.go_on()

    stage = on_stage(Recording(), play)
    assert stage.machine.heard == [Woke(NOW, 0.25), Woke(NOW, 0.75, "pods")]


def test_who_listens_hears_every_event_before_the_machine_does() -> None:
    heard: list[tuple[Any, int]] = []

    async def play(stage: Stage) -> None:
        stage.driver.hear = lambda event: heard.append((event, len(stage.machine.heard)))
        stage.driver.tell("a")
        stage.driver.tell("b")

    on_stage(Recording(), play)
    assert heard == [("a", 0), ("b", 1)]
