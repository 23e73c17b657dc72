"""Every search proposes what it says and finds a planted bug in the tiny world; what it forces is what it names."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from itertools import islice

import pytest

from fairlead.core.errors import OperatorError
from fairlead.runtime.searching import search_in_processes
from fairlead.sim.chance import Chance
from fairlead.sim.faults import Faults
from fairlead.sim.parts import Parts
from fairlead.sim.run import Runner
from fairlead.sim.search.bends import DelayBend, PctBend, swarm
from fairlead.sim.search.contract import Search, SearchAttempt, unlikely
from fairlead.sim.search.coverage import CoverageSearch
from fairlead.sim.search.exhaustive import ExhaustiveSearch
from fairlead.sim.search.lineage import LineageSearch, cuts_by_stretch
from fairlead.sim.search.planned import PlannedSearch, by_turns, plans, stretches
from fairlead.sim.search.points import FaultPoint, clean_run, single_faults
from fairlead.sim.search.roster import SEARCHES, MixedSearch
from fairlead.sim.search.support import Lineage
from fairlead.sim.world import Run
from fairlead.sim.worlds.roster import WORLDS
from tests.sim import tiny
from tests.sim.plants import _doing

ATTEMPTS_MAX = 150
# Those that plan on a run without faults need no luck.
FEW_ATTEMPTS = {"planned": 25, "lineage": 15}


def dying(parts: Parts) -> Parts:
    return _doing(lambda: os.kill(os.getpid(), signal.SIGKILL))(parts)


def found(runner: Runner, search: Search, most: int = ATTEMPTS_MAX) -> tuple[SearchAttempt, Run] | None:
    for _ in range(most):
        attempt = search.propose()
        if attempt is None:
            return None
        run = runner.attempt(attempt)
        if run.violation is not None:
            return attempt, run
        search.learn(attempt, run)
    return None


def point(label: str, actor: str, nth: int) -> FaultPoint:
    return FaultPoint(0, label, actor, nth)


@pytest.mark.parametrize(
    "mode",
    [
        pytest.param(
            each, marks=pytest.mark.soak if each in ("coverage", "delay", "exhaustive", "mixed") else ()
        )
        for each in sorted(SEARCHES)
    ],
)
def test_a_search_finds_the_plant(mode: str) -> None:
    runner = tiny.runner(tiny.PLANT)
    what = found(runner, SEARCHES[mode](runner, 0), FEW_ATTEMPTS.get(mode, ATTEMPTS_MAX))
    assert what is not None
    attempt, run = what
    assert run.violation is not None
    assert run.violation.invariant == tiny.BROKEN
    again = runner.attempt(attempt)
    assert again.digest == run.digest


def test_planned_search_puts_its_patterns_where_the_clean_run_had_writes_and_deliveries() -> None:
    runner = tiny.runner()
    _, points = clean_run(runner, 0)
    known = {(each.label, each.what, each.nth) for each in points}
    a_while = {(each.label, each.what, each.nth + more) for each in points for more in (1, 2)}
    proposed = list(islice(iter(PlannedSearch(runner, 0).propose, None), 49))
    assert proposed[0].told == "no fault"
    faults = {each.label for each in points}
    forced = {name for attempt in proposed for name, _ in attempt.forced if name[0] in faults}
    assert {(label, actor.partition(" ")[2], nth) for label, actor, nth in forced} <= known | a_while
    told = " | ".join(attempt.told for attempt in proposed)
    writes = {each.actor for each in points if each.label == "crash_at_write" and " pods" in each.actor}
    assert writes
    assert all(f"crash after the write: {actor} " in told for actor in writes)
    assert "reply lost: plane-" in told
    assert "; view frozen: plane-" in told
    assert "| replicasets.apps late; " in told
    assert "watch broken: " in told


def test_planned_search_kills_first_where_something_is_done_and_hides_everything_first() -> None:
    said = [attempt.told for attempt in islice(iter(PlannedSearch(tiny.runner(), 0).propose, None), 8)]
    assert said[1].startswith("all late; ")
    killing = [told for told in said[1:] if "crash " in told]
    assert killing
    assert " late; " not in killing[0]
    killed = [part for part in killing[0].split("; ") if part.startswith("crash after the write: ")]
    assert any("create pods/binding " in part for part in killed)
    assert not any(" events " in part or " leases " in part for part in killed)


def test_planned_search_means_whichever_plane_leads() -> None:
    attempts = islice(iter(PlannedSearch(tiny.runner(), 0).propose, None), 1, 20)
    for attempt in attempts:
        names = {name for name, _ in attempt.forced if name[1].startswith("plane-")}
        for label, actor, nth in names:
            other = (
                actor.replace("plane-0", "plane-1")
                if "plane-0" in actor
                else actor.replace("plane-1", "plane-0")
            )
            assert (label, other, nth) in names


def test_planned_search_parts_a_run_by_what_is_done_and_not_by_time() -> None:
    """By time three of four stretches of this run would have renewals of leases alone."""
    _, points = clean_run(tiny.runner(), 0)
    parted = stretches(points)
    assert [each for here in parted for each in here] == list(points)
    acting = [sum(not each.tells for each in here) for here in parted]
    assert max(acting) - min(acting) <= 1


def test_who_is_to_lead_is_disturbed_last() -> None:
    """As long as nobody leads nothing is done that a fault could break."""
    _, points = clean_run(tiny.runner(), 0)
    calls = [each for each in points if each.label == "call" and each.writes]
    assert calls[0].what == "leadership create leases"
    acting = sum(not each.tells for each in calls)
    assert not any(each.what.startswith("leadership ") for each in list(by_turns(calls))[:acting])


def test_lineage_search_takes_away_what_is_written_before_what_is_told() -> None:
    faults = replace(tiny.FAULTS, incident=0.0, crash_after_write=0.1, watch_expired=0.1)
    run, points = clean_run(Runner(tiny.scenario(), faults), 0)
    written = {f"{each.actor} {each.nth}" for each in points if each.writes and not each.tells}
    begun = 0
    for cuts in cuts_by_stretch(run):
        places = [told.partition(": ")[2] for told, _ in cuts]
        if written & set(places):
            begun += 1
            assert places[0] in written
    assert begun


def test_planned_search_lets_everybody_live_until_a_later_stretch_by_turns() -> None:
    """Who dies at once takes with him what is planned for later: the first death is in each of four stretches."""
    _, points = clean_run(tiny.runner(), 0)
    stretch = {each.name: number for number, here in enumerate(stretches(points)) for each in here}
    begins = set()
    for _, forced in islice(plans(points), 48):
        killed = [stretch[name] for name, _ in forced if name[0] == "crash_at_write" and name in stretch]
        if killed:
            begins.add(min(killed))
    assert begins == {0, 1, 2, 3}


def test_planned_search_goes_on_with_another_view_on_the_next_run() -> None:
    _, points = clean_run(tiny.runner(), 0)
    first, next_run = ([told for told, _ in islice(plans(points, asked), 12)] for asked in (0, 1))
    assert first[0].startswith("all late; ")
    assert next_run[0].split("; ")[1:] == first[0].split("; ")[1:]
    assert not next_run[0].startswith("all late; ")


def test_lineage_search_means_whichever_plane_leads() -> None:
    search = LineageSearch(tiny.runner(), 0)
    attempts = [attempt for attempt in islice(iter(search.propose, None), 8) if attempt.forced]
    assert attempts
    for attempt in attempts:
        names = {name for name, _ in attempt.forced if name[1].startswith("plane-")}
        swapped = {(label, f"plane-{1 - int(actor[6])}{actor[7:]}", nth) for label, actor, nth in names}
        assert swapped == names


def test_planned_search_hides_what_comes_and_goes_where_watches_expire() -> None:
    faults = replace(tiny.FAULTS, watch_expired=0.01)
    runner = Runner(tiny.scenario(), faults)
    proposed = islice(iter(PlannedSearch(runner, 0).propose, None), 20)
    hidden = [attempt for attempt in proposed if "watch expired: " in attempt.told]
    assert hidden
    for attempt in hidden:
        forced = dict(attempt.forced)
        expired = [name for name in forced if name[0] == "watch_expired"]
        assert all(forced["watch_lag", actor, nth] == 1 for _, actor, nth in expired)


def test_a_place_is_where_a_fault_of_the_world_can_be() -> None:
    faults = Faults(reply_lost=0.1, throttled=0.1)
    _, points = clean_run(Runner(tiny.scenario(), faults), 0)
    assert {each.label for each in points} == {"call"}
    writes = [each for each in points if each.writes]
    assert {told for each in writes for told, _ in single_faults(each)} == {"reply lost", "throttled"}


def test_what_is_forced_is_what_happens() -> None:
    runner = tiny.runner()
    _, points = clean_run(runner, 0)
    for place in points[::29]:
        for told, forced in single_faults(place)[:2]:
            run = runner.attempt(SearchAttempt(0, forced, faults=unlikely(runner.faults)))
            made = {each[:3]: each[4] for each in run.chance.choices}
            assert {name: made.get(name) for name, _ in forced} == dict(forced), f"{told} {place}"


def test_two_faults_of_one_stream_go_as_each_is_forced() -> None:
    runner = tiny.runner()
    _, points = clean_run(runner, 0)
    lags = [each for each in points if each.label == "watch_lag"]
    busy = max(lags, key=lambda each: each.nth).actor
    first = point("watch_lag", busy, 1)
    second = point("watch_lag", first.actor, first.nth + 1)
    forced = tuple(choice for each in (first, second) for choice in single_faults(each)[0][1])
    run = runner.attempt(SearchAttempt(0, forced, faults=unlikely(runner.faults)))
    made = {each[:3]: each[4] for each in run.chance.choices if each[0] == "watch.lag"}
    assert made == {("watch.lag", first.actor, each.nth): 11_999 for each in (first, second)}


def test_exhaustive_search_ends_when_it_has_tried_every_fault_and_every_pair() -> None:
    runner = tiny.runner()
    _, points = clean_run(runner, 0)
    each_place = [len(single_faults(each)) for each in points]
    singles = sum(each_place)
    pairs = (singles * singles - sum(count * count for count in each_place)) // 2
    one = list(iter(ExhaustiveSearch(runner, 0, faults_max=1).propose, None))
    assert len(one) == 1 + singles
    assert len({attempt.forced for attempt in one}) == len(one)
    two = sum(1 for _ in iter(ExhaustiveSearch(runner, 0, faults_max=2).propose, None))
    assert two == 1 + singles + pairs


def test_lineage_leads_from_the_last_changes_to_the_calls_and_deliveries_behind_them() -> None:
    run, points = clean_run(tiny.runner(), 0)
    behind = {each.name for each in Lineage(run).supports()}
    assert behind <= {each.name for each in points}
    words = {(label, actor.partition(" ")[2]) for label, actor, _ in behind}
    assert ("call", "replicaset create pods") in words
    assert ("crash_at_write", "scheduler create pods/binding") in words
    assert ("watch_lag", "replicasets.apps") in words
    assert ("watch_broken", "pods") in words


def test_lineage_names_the_calls_of_a_run_in_which_one_was_never_sent() -> None:
    runner = tiny.runner()
    _, points = clean_run(runner, 0)
    crash = next(each for each in points if each.label == "crash_at_write" and "create pods" in each.actor)
    forced = dict(single_faults(crash))["crash before the write"]
    run = runner.attempt(SearchAttempt(0, forced, faults=unlikely(runner.faults), watched=True))
    calls = [each for each in Lineage(run).supports() if each.label == "call" and "create pods" in each.actor]
    assert calls
    again = runner.attempt(
        SearchAttempt(0, forced + single_faults(calls[0])[0][1], faults=unlikely(runner.faults))
    )
    assert again.faults == {"crash_at_write": 1, "reply_lost": 1}


def test_lineage_knows_the_ways_of_agents_too() -> None:
    scenario, faults = WORLDS["twins"]
    run, _ = clean_run(Runner(scenario(), replace(faults, reply_lost=0.1)), 0)
    nodes = {each.name for each in scenario().nodes}
    labels = {each.label for each in Lineage(run).supports() if each.process in nodes}
    assert {"call", "watch_lag"} <= labels


def test_lineage_goes_on_from_a_run_that_found_another_way() -> None:
    runner = tiny.runner()
    search = LineageSearch(runner, 0, rounds_max=2)
    first = next(attempt for attempt in iter(search.propose, None) if attempt.forced)
    search.learn(first, runner.attempt(first))
    later = [attempt for attempt in islice(iter(search.propose, None), 3000) if attempt.seed == 0]
    assert any(attempt.told.startswith(f"{first.told}; ") for attempt in later)


def test_pct_is_as_early_or_as_late_as_can_be_and_delay_mostly_early() -> None:
    drawn = Chance(1, bend=PctBend(1)).stream("call.delay", "x")
    values = [drawn.choose(256) for _ in range(200)]
    assert all(value < 32 or value >= 224 for value in values)
    assert any(value < 32 for value in values)
    assert any(value >= 224 for value in values)
    chance = Chance(1, bend=DelayBend(1, 8))
    values = [chance.stream("call.delay", str(number)).choose(256) for number in range(3000)]
    assert set(values) == {0, 255}
    assert 4 <= values.count(255) <= 40


def test_a_swarm_has_a_part_of_the_faults_and_says_which() -> None:
    drawn = [swarm(tiny.FAULTS, seed) for seed in range(12)]
    assert len(set(drawn)) == len(drawn)
    assert all(0.0 <= each.reply_lost <= 0.5 for each in drawn)
    assert {each.reply_lost for each in drawn} >= {0.0}
    told = [SEARCHES["swarm"](tiny.runner(), seed).propose() for seed in range(12)]
    assert all(attempt is not None and attempt.told for attempt in told)


def test_coverage_makes_runs_of_those_that_met_something_new() -> None:
    runner = tiny.runner()
    search = CoverageSearch(1)
    for _ in range(4):
        attempt = search.propose()
        search.learn(attempt, runner.attempt(attempt))
    known = search.words
    assert known > 10
    attempt = search.propose()
    assert attempt.told.startswith("descends from seed ")
    search.learn(attempt, runner.attempt(attempt))
    assert search.words >= known


def test_searches_that_take_turns_learn_from_their_own_runs() -> None:
    runner = tiny.runner()
    mixed = MixedSearch(runner, 0)
    proposed = [mixed.propose() for _ in range(8)]
    whose = [attempt.search for attempt in proposed if attempt is not None]
    assert whose == ["planned", "uniform", "lineage", "swarm"] * 2
    last = proposed[6]
    assert last is not None
    mixed.learn(last, runner.attempt(last))  # of lineage
    with pytest.raises(KeyError):
        mixed.learn(SearchAttempt(0), runner.attempt(SearchAttempt(0)))


def test_a_search_in_processes_brings_as_many_runs_as_asked() -> None:
    tried = list(search_in_processes(tiny.runner(), "lineage", 0, 7, jobs=3))
    assert len(tried) == 7
    assert {attempt.seed for attempt, _ in tried} == {0, 100_000, 200_000}
    broken = list(search_in_processes(tiny.runner(tiny.PLANT), "uniform", 0, 40, jobs=2))
    failed = [(attempt, result) for attempt, result in broken if result.failure is not None]
    assert failed
    again = tiny.runner(tiny.PLANT).attempt(failed[0][0])
    assert again.digest == failed[0][1].digest


def test_a_process_that_dies_is_told_with_what_it_was_at() -> None:
    runner = tiny.runner("tests.sim.test_searches:dying")
    with pytest.raises(OperatorError, match=r"signal 9 at seed \d+ \(no fault\)"):
        list(search_in_processes(runner, "exhaustive", 0, 4, jobs=2))
