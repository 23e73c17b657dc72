"""What is shrunk breaks the same invariant, is a part of what there was, and can lose nothing more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from fairlead.sim.cases import CaseJudge, case_of
from fairlead.sim.chance import Chance
from fairlead.sim.shrink import Case, Shrunk, shrink
from fairlead.sim.violation import Violation
from tests.sim import tiny


def always() -> bool:
    return True


def case_with(faults: int, delays: int) -> Case:
    choices = tuple((("loss", str(number), 0), 1, True) for number in range(faults))
    choices += tuple((("delay", str(number), 0), 900, False) for number in range(delays))
    return Case(replace(tiny.scenario(), steps=(), planes=1), tiny.FAULTS, choices)


def needs(wanted: Callable[[dict[str, int]], bool]) -> Callable[[Case], Case | None]:
    """Breaks if what is left of faults ("loss 3") and delays is enough."""

    def judge(case: Case) -> Case | None:
        return case if wanted({f"{name[0]} {name[1]}": value for name, value, _ in case.choices}) else None

    return judge


def left(shrunk: Shrunk) -> dict[str, int]:
    return {f"{name[0]} {name[1]}": value for name, value, _ in shrunk.case.choices}


@pytest.mark.parametrize("kept", [(0,), (3, 4), (0, 7, 15), (1, 2, 5, 11)])
def test_the_faults_that_are_needed_stay_and_no_other(kept: tuple[int, ...]) -> None:
    wanted = {f"loss {number}" for number in kept}
    shrunk = shrink(case_with(16, 16), needs(lambda there: wanted <= there.keys()), always)
    assert shrunk.is_done
    assert left(shrunk).keys() == wanted
    assert shrunk.size_before == 32


def test_a_delay_that_cannot_go_is_made_shorter() -> None:
    shrunk = shrink(case_with(4, 8), needs(lambda there: there.get("delay 5", 0) >= 100), always)
    assert left(shrunk) == {"delay 5": 112}


def test_a_fault_that_a_shorter_delay_makes_superfluous_goes_as_well() -> None:
    """Found only by passes that begin again when nothing but a value has changed."""

    def wanted(there: dict[str, int]) -> bool:
        return "delay 0" in there and ("loss 0" in there or there["delay 0"] < 500)

    assert left(shrink(case_with(1, 1), needs(wanted), always)).keys() == {"delay 0"}


def test_when_time_is_over_the_smallest_so_far_is_told_and_that_it_is_not_the_end() -> None:
    asked = iter([True] * 3)
    shrunk = shrink(case_with(16, 16), needs(lambda there: "loss 3" in there), lambda: next(asked, False))
    assert not shrunk.is_done
    assert shrunk.runs == 3
    assert "loss 3" in left(shrunk)
    assert shrunk.case.size < 32


def test_nothing_is_tried_again_that_was_refused_before() -> None:
    tried: list[tuple[object, ...]] = []
    wanted = {"loss 3", "loss 7", "delay 5"}

    def judge(case: Case) -> Case | None:
        there = {f"{name[0]} {name[1]}" for name, _, _ in case.choices}
        tried.append((frozenset(case.choices), case.scenario.faults_until_seconds, case.scenario.seconds_min))
        return case if wanted <= there else None

    shrunk = shrink(case_with(8, 8), judge, always)
    assert shrunk.is_done
    assert left(shrunk).keys() == wanted
    assert len(tried) == len(set(tried)) == shrunk.runs


def test_of_many_streams_whole_halves_go() -> None:
    """What matters is spread over the run, and in few of its streams."""
    names = [("delay", f"plane-{number % 9} kind-{number}", nth) for nth in range(9) for number in range(200)]
    case = replace(case_with(2, 0), choices=tuple((name, 1, False) for name in names))
    kept = {name for name in names if name[1] in ("plane-4 kind-4", "plane-3 kind-111")}
    shrunk = shrink(case, lambda tried: tried if kept <= tried.forced.keys() else None, always)
    assert shrunk.case.forced.keys() == kept
    assert shrunk.runs < 150


def test_steps_that_came_later_go_by_halves() -> None:
    step = tiny.scenario().steps[0]
    steps = tuple(replace(step, at_seconds=float(number)) for number in range(64))
    case = Case(replace(tiny.scenario(), steps=steps, planes=1), tiny.FAULTS, ())

    def judge(tried: Case) -> Case | None:
        return tried if steps[39] in tried.scenario.steps else None

    asked = iter([True] * 6)
    shrunk = shrink(case, judge, lambda: next(asked, False))
    assert len(shrunk.case.scenario.steps) == 40


def test_a_planted_bug_is_shrunk_to_what_it_takes() -> None:
    runner = tiny.runner(tiny.PLANT)
    run = next(run for seed in range(40) if (run := runner.play(Chance(seed))).violation is not None)
    assert run.violation is not None
    case = case_of(runner.scenario, runner.faults, run)
    judge = CaseJudge(tiny.PLANT, run.violation, run.seconds)
    shrunk = shrink(case, judge, always)
    assert shrunk.is_done
    again = judge.play(shrunk.case)
    assert again is not None
    assert again.violation is not None
    assert again.violation.invariant == run.violation.invariant
    assert shrunk.case.forced.keys() <= case.forced.keys()
    assert all(value <= case.forced[name] for name, value in shrunk.case.forced.items())
    assert shrunk.case.faults >= 1
    for name, _, fault in shrunk.case.choices:
        if fault:  # none is there for nothing
            rest = tuple(each for each in shrunk.case.choices if each[0] != name)
            assert judge(replace(shrunk.case, choices=rest)) is None
    assert shrunk.case.size <= case.size // 10


def test_another_exception_is_not_the_same_failure() -> None:
    runner = tiny.runner("tests.sim.plants:broken_plane")
    run = runner.play(Chance(0))
    assert run.violation is not None
    case = case_of(runner.scenario, runner.faults, run)
    assert CaseJudge("tests.sim.plants:broken_plane", run.violation, run.seconds)(case) is not None
    other = Violation(run.violation.invariant, "ValueError: something else")
    other.__cause__ = ValueError("something else")
    assert CaseJudge("tests.sim.plants:broken_plane", other, run.seconds)(case) is None


def test_a_world_that_sound_code_does_not_survive_is_no_smaller_case() -> None:
    runner = tiny.runner(tiny.PLANT)
    run = next(run for seed in range(40) if (run := runner.play(Chance(seed))).violation is not None)
    assert run.violation is not None
    case = case_of(runner.scenario, runner.faults, run)
    hasty = replace(
        case, scenario=replace(case.scenario, seconds_max=run.seconds + 0.5)
    )  # nobody rests by then
    judge = CaseJudge(tiny.PLANT, run.violation, run.seconds)
    assert judge(case) is not None
    assert judge(hasty) is None
