"""The rules over a sample: what must have fired and been hit comes from declarations, not from what happened."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from fairlead.control.requests import request_of
from fairlead.decision.effects import (
    RETRY,
    Bind,
    Change,
    ChangeScale,
    ChangeStatus,
    Create,
    Delete,
    Effect,
    Finalize,
)
from fairlead.sim import probes
from fairlead.sim.faults import CALM, DEFAULT, Faults
from fairlead.sim.probes import CALLS, probe_names, timeout_after_commit
from fairlead.sim.run import Failure, RunTally, SeedResult
from fairlead.sim.sample import fault_kinds, probe_lines, report, shortfalls, tally_of
from tests.sim.quota import PLANT, SAMPLE, quota_line

WHERE = ("identity", "pods", "v1", "pods", "default", "a")
SPECIMENS: tuple[Effect, ...] = (
    Create(*WHERE, body={}),
    Change(*WHERE, uid="u", revision=1, patch={}),
    ChangeStatus(*WHERE, uid="u", revision=1, patch={}),
    ChangeScale(*WHERE, uid="u", revision=1, patch={}),
    Finalize(*WHERE, uid="u", revision=1, patch={}),
    Delete(*WHERE, uid="u", revision=1),
    Bind(*WHERE, uid="u", node="n"),
)


def full(seeds: int = 200) -> RunTally:
    """A sample that met everything, each fault in as few seeds as are allowed."""
    kinds = fault_kinds(DEFAULT)
    least = max(seeds // 100, 1)
    return RunTally(
        seeds=seeds,
        faults=dict.fromkeys(kinds, 3 * least),
        seeds_with_fault=dict.fromkeys(kinds, least),
        probes=dict.fromkeys(probe_names(), 1),
    )


@pytest.mark.parametrize("seeds", [1, 50, 100, 200, 20_000])
def test_a_sample_that_met_everything_falls_short_of_nothing(seeds: int) -> None:
    assert shortfalls(full(seeds), DEFAULT) == ()


def test_every_field_of_the_record_and_every_incident_is_a_kind_of_fault() -> None:
    declared = {each.name for each in fields(Faults)} - {"incident", "incidents", "older_server"}
    assert set(fault_kinds(DEFAULT)) == declared | {name for name, _ in DEFAULT.incidents}
    assert "older_server" in fault_kinds(replace(DEFAULT, older_server=0.1)), "where it can come"
    # One that is never drawn is missed, not forgotten.
    assert fault_kinds(CALM) == fault_kinds(replace(DEFAULT, incidents=CALM.incidents))


@pytest.mark.parametrize("kind", fault_kinds(DEFAULT))
def test_a_kind_of_fault_that_never_fired_is_named(kind: str) -> None:
    tally = full()
    del tally.faults[kind], tally.seeds_with_fault[kind]
    assert shortfalls(tally, DEFAULT) == (f"{kind} fired in 0.00% of the seeds; 1% is asked for",)


def test_a_kind_that_fired_often_but_in_few_seeds_is_named() -> None:
    tally = full(1000)
    tally.faults["reply_lost"], tally.seeds_with_fault["reply_lost"] = 5000, 9
    assert shortfalls(tally, DEFAULT) == ("reply_lost fired in 0.90% of the seeds; 1% is asked for",)


@pytest.mark.parametrize("probe", probe_names())
@pytest.mark.parametrize("gone", [True, False], ids=["absent", "zero"])
def test_a_probe_that_was_never_hit_is_named(probe: str, gone: bool) -> None:
    tally = full()
    tally.probes[probe] = 0
    if gone:
        del tally.probes[probe]
    assert shortfalls(tally, DEFAULT) == (f'"{probe}" was never hit',)


def test_every_effect_of_the_registry_has_a_probe_that_the_network_can_hit() -> None:
    assert {type(effect) for effect in SPECIMENS} == RETRY.keys() == CALLS.keys()
    for effect in SPECIMENS:
        request = request_of(effect)
        assert f"{request.verb} {request.subresource}".rstrip() == CALLS[type(effect)]
    assert len(set(CALLS.values())) == len(CALLS)


def test_a_new_effect_without_a_probe_fails_every_sample() -> None:
    class Evict:
        pass

    missed = [line.short for line in probe_lines(full(), probes.probe_names((*RETRY, Evict)))]
    assert [each for each in missed if each] == [f'"{timeout_after_commit(Evict)}" was never hit']


def result(seed: int, failure: Failure | None = None) -> SeedResult:
    return SeedResult(
        seed=seed,
        digest=f"digest {seed}",
        failure=failure,
        seconds=700.5,
        commits=10,
        faults={"reply_lost": 2},
        probes={"relist after 410": 1},
    )


def tally_over(seeds: range, before: RunTally | None = None) -> RunTally:
    tally = before or RunTally()
    for seed in seeds:
        tally.add(result(seed, Failure(seed, "bound-once", "moved") if seed == 7 else None))
    return tally


def test_a_tally_read_back_from_its_report_goes_on_as_if_it_had_never_ended() -> None:
    whole = tally_over(range(20))
    parts = tally_over(range(12, 20), tally_of(report(tally_over(range(12)), DEFAULT, 3.0)))
    assert report(parts, DEFAULT, 5.0) == report(whole, DEFAULT, 5.0)


def test_the_digest_does_not_depend_on_the_order_in_which_seeds_end_but_on_every_one() -> None:
    whole = tally_over(range(5)).digest
    assert tally_over(range(2), tally_over(range(2, 5))).digest == whole
    assert tally_over(range(4)).digest != whole
    assert tally_over(range(1, 6)).digest != whole


def test_the_report_tells_how_to_see_a_failure_again() -> None:
    told = report(tally_over(range(8)), DEFAULT, 2.0, plant="a.b:c")
    assert told["failures"] == [
        {
            "seed": 7,
            "invariant": "bound-once",
            "message": "moved",
            "again": "fairlead sim run --seeds 1 --seed 7 --plant a.b:c",
        }
    ]
    assert told["seeds_per_second"] == 4.0
    assert told["commits_per_second"] == 40.0
    assert told["simulated_seconds_per_second"] == 2802.0
    assert told["faults"]["reply_lost"] == 16
    assert told["seeds_with_fault"]["reply_lost"] == 8
    assert told["faults"]["list_lost"] == 0


class Reported:
    def __init__(self, *properties: tuple[str, object]) -> None:
        self.user_properties = list(properties)


def test_the_quota_is_told_in_one_line() -> None:
    told = {"world": "std20", "seeds": 300, "failures": 0, "digest": "abc"}
    reports = [
        Reported(),
        object(),
        Reported((PLANT, "a")),
        Reported((SAMPLE, told)),
        Reported((PLANT, "b"), (PLANT, "a")),
    ]
    assert quota_line(reports) == "std20: 300 seeds, 0 failures, digest abc, 2 plants found"
    assert quota_line(reports[:3]) == ""
