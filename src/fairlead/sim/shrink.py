"""Shrinking: the smallest run that still breaks the same invariant.

    shrink(case, judge, goes_on) -> Shrunk

What makes every later run cheaper goes first: steps, objects and planes. Then all delays and orders of a kind, then
faults, then what is left of delays and orders (0 is no delay, and first in, first out), then time. Because choices have
names, taking one away leaves the others as they were, so each pass is a search for the smallest subset (halves, then
quarters, then one by one) that still fails. Passes are repeated until none helps, so that no single fault, delay, order
or step can go at the end, or until time is over: `goes_on` is asked before each run, because nobody here has a clock.
Called by `fairlead sim run --shrink`, `fairlead sim zoo` and tests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from fairlead.sim.chance import ChoiceName
from fairlead.sim.faults import Faults
from fairlead.sim.scenario import Scenario

T = TypeVar("T")
Chosen = tuple[ChoiceName, int, bool]  # name, value, whether it is a fault
GoesOn = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Case:
    """A run that fails: its world, and all that is not calm in it."""

    scenario: Scenario
    faults_of: Faults
    choices: tuple[Chosen, ...]

    @property
    def forced(self) -> dict[ChoiceName, int]:
        return {name: value for name, value, _ in self.choices}

    @property
    def faults(self) -> int:
        """Those that were drawn, and those that the scenario pins."""
        return self.faults_drawn + len(self.scenario.pinned)

    @property
    def faults_drawn(self) -> int:
        return sum(fault for _, _, fault in self.choices)

    @property
    def size(self) -> int:
        """Choices that are not calm, faults that a scenario pins, and steps of people."""
        scenario = self.scenario
        return len(self.choices) + len(scenario.steps) + len(scenario.standing) + len(scenario.pinned)


Judge = Callable[
    [Case], Case | None
]  # the case as it ran, if it breaks the same invariant; None if it does not


@dataclass(frozen=True, slots=True)
class Shrunk:
    case: Case
    size_before: int
    runs: int
    is_done: bool  # nothing more can be taken away by these passes; if not, time was over


class _OutOfTimeError(Exception):
    pass


def shrink(case: Case, judge: Judge, goes_on: GoesOn) -> Shrunk:
    return _Shrinking(case, judge, goes_on).run()


class _Shrinking:
    def __init__(self, case: Case, judge: Judge, goes_on: GoesOn) -> None:
        self._case, self._judge, self._goes_on = case, judge, goes_on
        self._before, self._runs = case.size, 0
        self._first = case.scenario  # kept, so that its parts can be told by their ids
        self._refused: set[Hashable] = set()

    def run(self) -> Shrunk:
        try:
            self._without_expectations()
            while True:
                before = _measure(self._case)
                self._smaller_world()
                self._without_kinds()
                self._fewer_faults()
                self._calmer()
                self._shorter()
                if _measure(self._case) == before:
                    self._fewest(_delays, _halved)  # which may be what lets a fault go
                if _measure(self._case) == before:
                    return Shrunk(self._case, self._before, self._runs, True)
        except _OutOfTimeError:
            return Shrunk(self._case, self._before, self._runs, False)

    def _accepts(self, case: Case) -> bool:
        if (tried := _told(case)) in self._refused or tried == _told(self._case):
            return False  # passes are repeated until none helps, and may find gone what they came for
        if not self._goes_on():
            raise _OutOfTimeError
        self._runs += 1
        found = self._judge(case)
        if found is None:
            self._refused.add(tried)
            return False
        self._case = found
        return True

    # Passes

    def _without_expectations(self) -> None:
        """What the file expects of the end is about the whole of it; what is left will end otherwise."""
        if self._case.scenario.expected:
            self._accepts(replace(self._case, scenario=replace(self._case.scenario, expected=())))

    def _without_what_came_later(self) -> None:
        """Steps that nobody had taken when it broke: half of them are a good guess, then half of the rest."""
        steps = self._case.scenario.steps
        ends = [last for last in range(1, len(steps)) if steps[last].at_seconds > steps[last - 1].at_seconds]
        low, high = 0, len(ends)
        while low < high:
            middle = (low + high) // 2
            kept = replace(self._case.scenario, steps=steps[: ends[middle]])
            if self._accepts(replace(self._case, scenario=kept)):
                high = middle
            else:
                low = middle + 1

    def _smaller_world(self) -> None:
        """First, because every run after it costs less: what it takes is often there without most of the others."""
        self._without_what_came_later()
        self._all_calm()
        self._fewest(lambda case: list(case.scenario.steps), _without_steps)
        self._fewest(lambda case: list(case.scenario.standing), _without_standing)
        self._fewer_planes()

    def _all_calm(self) -> None:
        """The quickest gains: all delays and orders at once; or those kinds of which there are more than faults. These
        are drawn without faults too. The others may say how a fault goes: where it strikes, and for how long."""
        self._accepts(_without_choices(self._case, _idle_choices(self._case)))
        self._accepts(_without_idle(self._case, _often(self._case), _label))

    def _without_kinds(self) -> None:
        """By what they are about, most first, and several at once: one kind alone often cannot go, because with the
        others as they were all happens at another time."""
        self._fewest_idle(_label)

    def _fewer_faults(self) -> None:
        self._fewest(lambda case: [each for each in case.choices if each[2]], _without_choices)
        self._fewest(lambda case: list(case.scenario.pinned), _without_pinned)

    def _calmer(self) -> None:
        """By whose they are; by stream; one by one. Of many processes and streams few matter, and whole halves of them
        can go."""
        self._fewest_idle(_process)
        self._fewest_idle(_stream)
        self._fewest(_idle_choices, _without_choices)

    def _fewest_idle(self, part: Callable[[ChoiceName], str]) -> None:
        self._fewest(partial(_idle, part=part), partial(_without_idle, part=part))

    def _fewer_planes(self) -> None:
        scenario = self._case.scenario
        if scenario.older is not None:
            self._accepts(replace(self._case, scenario=replace(scenario, older=None)))
            scenario = self._case.scenario
        first = 1 if scenario.older is None else scenario.older.slot + 1
        for fewer in range(first, scenario.planes):
            if self._accepts(replace(self._case, scenario=replace(scenario, planes=fewer))):
                break

    def _shorter(self) -> None:
        for share in (0.25, 0.5, 0.75):
            scenario = self._case.scenario
            until = scenario.faults_until_seconds * share
            shorter = replace(scenario, faults_until_seconds=until, seconds_min=scenario.seconds_min * share)
            if self._accepts(replace(self._case, scenario=shorter)):
                break

    def _fewest(self, parts: Callable[[Case], list[T]], without: Callable[[Case, Sequence[T]], Case]) -> None:
        """Take away ever smaller pieces of what is left: all of it, halves, quarters, one by one."""
        size = len(parts(self._case))
        while size:
            at = 0
            while piece := parts(self._case)[at : at + size]:
                if not self._accepts(without(self._case, piece)):
                    at += size
            size //= 2


def _measure(case: Case) -> tuple[int, int, int]:
    """What a round of passes makes smaller; a shorter delay may be what lets a fault go."""
    return case.size, sum(value for _, value, _ in case.choices), case.scenario.planes


def _told(case: Case) -> Hashable:
    """What tells it from the others that are tried; parts of a scenario are those of the first."""
    scenario = case.scenario
    parts = (scenario.steps, scenario.standing, scenario.pinned, scenario.expected)
    rest = (scenario.planes, scenario.older is None, scenario.faults_until_seconds, scenario.seconds_min)
    return (frozenset(case.choices), rest, *(tuple(map(id, each)) for each in parts))


def _label(name: ChoiceName) -> str:
    return name[0]


def _process(name: ChoiceName) -> str:
    return f"{name[0]} {name[1].partition(' ')[0]}"


def _stream(name: ChoiceName) -> str:
    return f"{name[0]} {name[1]}"


def _idle(case: Case, part: Callable[[ChoiceName], str]) -> list[str]:
    """Of what has no fault, the parts: those with most choices first."""
    return [word for word, _ in _idle_counts(case, part).most_common()]


def _idle_counts(case: Case, part: Callable[[ChoiceName], str]) -> Counter[str]:
    return Counter(part(name) for name, _, fault in case.choices if not fault)


def _often(case: Case) -> list[str]:
    """Labels of which there are more than faults."""
    return [word for word, number in _idle_counts(case, _label).items() if number > case.faults_drawn]


def _without_idle(case: Case, gone: Sequence[str], part: Callable[[ChoiceName], str]) -> Case:
    words = set(gone)
    kept = tuple(each for each in case.choices if each[2] or part(each[0]) not in words)
    return replace(case, choices=kept)


def _without_choices(case: Case, gone: Sequence[Chosen]) -> Case:
    names = {each[0] for each in gone}
    return replace(case, choices=tuple(each for each in case.choices if each[0] not in names))


def _idle_choices(case: Case) -> list[Chosen]:
    return [each for each in case.choices if not each[2]]


def _delays(case: Case) -> list[Chosen]:
    """Those that cannot go can often be shorter."""
    return [each for each in _idle_choices(case) if each[1] > 1]


def _halved(case: Case, shorter: Sequence[Chosen]) -> Case:
    names = {each[0] for each in shorter}
    halves = tuple(
        (name, value // 2 if name in names else value, fault) for name, value, fault in case.choices
    )
    return replace(case, choices=halves)


def _without_steps(case: Case, gone: Sequence[object]) -> Case:
    kept = tuple(step for step in case.scenario.steps if not any(step is each for each in gone))
    return replace(case, scenario=replace(case.scenario, steps=kept))


def _without_standing(case: Case, gone: Sequence[object]) -> Case:
    kept = tuple(step for step in case.scenario.standing if not any(step is each for each in gone))
    return replace(case, scenario=replace(case.scenario, standing=kept))


def _without_pinned(case: Case, gone: Sequence[object]) -> Case:
    kept = tuple(fault for fault in case.scenario.pinned if not any(fault is each for each in gone))
    return replace(case, scenario=replace(case.scenario, pinned=kept))
