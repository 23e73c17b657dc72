"""What is shrunk breaks the same invariant, is a part of what there was, and can lose nothing more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from fairlead.sim.cases import CaseJudge, case_of
from fairlead.sim.chance import Chance
from fairlead.sim.run import Runner
from fairlead.sim.scenario import Expected
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


def test_what_a_world_has_goes_before_what_is_searched_in_many_runs() -> None:
    """Each run of a world with less in it costs less."""
    step = tiny.scenario().steps[0]
    steps = tuple(replace(step, at_seconds=float(number)) for number in range(16))
    scenario = replace(tiny.scenario(), steps=steps, standing=steps[:8])
    names = [("delay", f"plane-{number % 9} kind-{number}", 0) for number in range(400)]
    case = replace(case_with(20, 0), scenario=scenario, choices=tuple((name, 1, False) for name in names))
    kept = set(names[::20])
    tried: list[Case] = []

    def judge(of: Case) -> Case | None:
        tried.append(of)
        there = steps[3] in of.scenario.steps and steps[5] in of.scenario.standing
        return of if there and kept <= of.forced.keys() else None

    shrunk = shrink(case, judge, always)
    assert shrunk.is_done
    assert shrunk.case.forced.keys() == kept
    assert shrunk.case.scenario.steps == (steps[3],)
    assert shrunk.case.scenario.standing == (steps[5],)
    assert shrunk.case.scenario.planes == 1
    large = [of for of in tried if len(of.scenario.steps) > 1 or len(of.scenario.standing) > 1]
    assert len(large) < 30
    assert len(tried) > 2 * len(large)


def test_kinds_of_delays_go_together_where_none_can_go_alone() -> None:
    """What each run has more of than faults is drawn without them too; the rest says how they go."""
    busy = [
        (f"busy {kind}", f"plane-{number} things", nth)
        for kind in range(9)
        for number in range(9)
        for nth in range(9)
    ]
    details = [(f"where {kind}", "", 3) for kind in range(3)]
    case = case_with(9, 0)
    idle = tuple((name, 1, False) for name in (*busy, *details))
    case = replace(case, choices=(*case.choices, *idle))
    needed = {("loss", "3", 0), details[1]}

    def judge(of: Case) -> Case | None:
        left = of.forced.keys() & set(busy)
        return of if len(left) in (0, len(busy)) and needed <= of.forced.keys() else None

    shrunk = shrink(case, judge, always)
    assert shrunk.is_done
    assert shrunk.case.forced.keys() == needed
    assert shrunk.runs < 60


def test_delays_are_made_shorter_when_nothing_can_go_and_many_at_once() -> None:
    steps = tuple(replace(tiny.scenario().steps[0], at_seconds=1.0) for _ in range(4))
    names = [("delay", str(number), 0) for number in range(16)]
    choices = tuple((name, 512, False) for name in names)
    case = Case(replace(tiny.scenario(), steps=steps, planes=1), tiny.FAULTS, choices)
    shorter: list[Case] = []

    def judge(of: Case) -> Case | None:
        if any(value < 512 for value in of.forced.values()):
            shorter.append(of)
        enough = all(of.forced.get(name, 0) >= 8 for name in names)
        return of if enough and steps[2] in of.scenario.steps else None

    shrunk = shrink(case, judge, always)
    assert shrunk.is_done
    assert set(shrunk.case.forced.values()) == {8}
    assert len(shorter[0].scenario.steps) == 1
    assert [set(of.forced.values()) for of in shorter[:6]] == [{256}, {128}, {64}, {32}, {16}, {8}]


def test_a_case_is_looked_at_for_half_as_long_again_as_the_last_one_took_to_break() -> None:
    """Also where faults are over by then, unless it had come to rest: what is to be seen then is seen at the end."""
    runner = tiny.runner(tiny.PLANT)
    run = next(run for seed in range(40) if (run := runner.play(Chance(seed))).violation is not None)
    assert run.violation is not None
    case = case_of(runner.scenario, runner.faults, run)
    long = replace(case.scenario, faults_until_seconds=run.seconds + 0.1, seconds_min=200.0)
    sound = replace(case, choices=(), scenario=long)
    judge = CaseJudge(tiny.PLANT, run.violation, 10 * run.seconds)
    before = judge.play(sound)
    assert before is not None
    assert before.seconds >= 200.0  # nothing is known yet of what breaks it
    assert judge(case) is not None
    after = judge.play(sound)
    assert after is not None
    assert after.violation is None
    assert after.seconds == pytest.approx(run.seconds * 1.5 + 15.0, abs=0.002)


def test_what_breaks_at_rest_is_looked_for_at_the_end() -> None:
    unmet = Expected("pods", (), "default", number=5)
    runner = Runner(replace(tiny.scenario(), expected=(unmet,)), tiny.FAULTS)
    run = runner.play(Chance(0))
    assert run.violation is not None
    assert run.violation.invariant == "ends-as-written"
    case = case_of(runner.scenario, runner.faults, run)
    judge = CaseJudge("", run.violation, run.seconds)
    assert judge(case) is not None
    assert judge(replace(case, choices=())) is not None


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
