"""Every planted bug is found in seeds 0-999 of its world; without a plant the same seeds find nothing.

A search begins near where the plant was first found when this was written and goes round the range: it stays short as
long as that holds, and needs no change when it does not. `bench/zoo.py` searches anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from fairlead.core.errors import UsageError
from fairlead.sim import zoo
from fairlead.sim.chance import Chance
from fairlead.sim.parts import Parts, Plant, default_parts, load_plant
from fairlead.sim.run import Failure, Runner
from fairlead.sim.world import World
from fairlead.sim.worlds.roster import WORLDS
from fairlead.sim.zoo.budget_overwritten import HalfSightedApi, stubborn
from fairlead.sim.zoo.roster import KNOWN_BUGS, SPECIMENS, Specimen
from fairlead.sim.zoo.wrapping import wrap
from tests.sim.quota import PLANT
from tests.sim.sampled import sampled

RANGE = 1000
# Where a search begins, but for those that are found at once.
STARTS = {
    "name_not_uid": 7,
    "ghost_resurrection": 7,
    "stale_scale_down": 9,
    "guard_first": 8,
    "phase_lost": 20,
    "edge_triggered_cleanup": 1,
    "expectation_miscount": 71,
    "assumed_expires": 9,
    "timeout_read_as_failure": 7,
    "bind_timeout_read_as_failure": 60,
    "cache_goes_back": 11,
    "budget_from_dead_controller": 1,
    "budget_overwritten": 1,
    "gathers_for_itself": 8,
    "grants_once_held": 1,
    "orphan_never_collected": 1,
    "zombie_leader": 1,
    "expectations_by_name": 13,
    "wakeup_lost": 2,
    "swap_on_old_read": 75,
    "order_of_a_list": 17,
    "lease_by_remote_clock": 8,
    "duplicate_reservation": 78,
    "no_resync": 5,
    "pause_remembered": 1,
    "raised_by_own_clock": 1,
    "deadline_assumed": 7,
    "part_read_as_whole": 29,
    "own_write_hides_others": 3,
    "lag_read_as_absence": 89,
    "deleting_is_gone": 17,
    "unlisted_read_as_empty": 2,
    "place_left_open": 1,
    "original_deleted_unseen": 4,
    "stand_in_unseen": 2,
    "frame_skipped": 1,
    "full_disk_told_as_done": 1,
    "contradicted_at_once": 1,
    "late_mark_kept": 3,
    "run_overwritten": 11,
}


def alone_stubborn(parts: Parts) -> Parts:
    return wrap(parts, "disruption", stubborn)


def alone_half_sighted(parts: Parts) -> Parts:
    return {**parts, "api": HalfSightedApi}


@cache
def runner_for(world: str, plant: str = "") -> Runner:
    scenario, faults = WORLDS[world]
    return Runner(scenario(), faults, plant=plant)


def search(runner: Runner, start: int) -> tuple[Failure | None, list[int]]:
    """The first failure from `start` on, round the range, and the seeds that were run for it."""
    tried: list[int] = []
    for seed in (*range(start, RANGE), *range(start)):
        tried.append(seed)
        if (found := runner.run(seed).failure) is not None:
            return found, tried
    return None, tried


def every_fifth(specimens: tuple[Specimen, ...]) -> list[object]:
    """Every fifth in `make test`, all of them in `make soak`."""
    return [
        pytest.param(each, id=each.name, marks=pytest.mark.soak if place % 5 else ())
        for place, each in enumerate(specimens)
    ]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("each", every_fifth(SPECIMENS))
def test_a_planted_bug_is_found_and_nothing_without_it(
    each: Specimen, record_property: Callable[[str, object], None]
) -> None:
    name = each.name
    found, tried = search(runner_for(each.world, f"fairlead.sim.zoo.{name}:plant"), STARTS.get(name, 0))
    assert found is not None, f"{name} was not found in {RANGE} seeds"
    assert found.invariant in each.invariants, found
    sampled(each.world, tried)
    record_property(PLANT, name)


@pytest.mark.parametrize("half", [alone_stubborn, alone_half_sighted])
def test_an_allowance_that_is_overwritten_needs_an_eviction_that_believes_it(half: Plant) -> None:
    """Where the two faults of `budget_overwritten` are found together, either alone breaks nothing."""
    clean = runner_for("sched")
    world = World(clean.scenario, Chance(0), clean.faults, half(default_parts()), backup=clean.backup())
    assert world.run().violation is None


def test_a_choice_by_the_order_of_a_list_is_what_breaks_where_lists_come_in_any_order() -> None:
    """Deletions without premises are part of `order_of_a_list`; by themselves they do no harm there."""
    start = STARTS["order_of_a_list"]
    loose = runner_for("shrink", "fairlead.sim.zoo.stale_scale_down:plant")
    assert loose.run(start).failure is None


def test_a_lease_that_is_judged_by_a_remote_clock_is_found_where_no_fence_saves_it() -> None:
    """In `seesaw` the fence does, and it is found all the same."""
    found = runner_for("grow-kubernetes", "fairlead.sim.zoo.lease_by_remote_clock:plant").run(4).failure
    assert found is not None
    assert found.invariant in ("leases-run-out", "one-leader")


def test_every_plant_of_the_zoo_is_looked_for_and_every_known_bug_has_one() -> None:
    assert zoo.plant_names() == sorted(each.name for each in SPECIMENS)
    assert {each.number for each in SPECIMENS} == set(range(KNOWN_BUGS + 1))
    assert {each.world for each in SPECIMENS} <= WORLDS.keys()


@pytest.mark.parametrize(
    "path", ["nonsense", "fairlead.sim.zoo:", "fairlead.nowhere:plant", "fairlead.sim.zoo:nothing"]
)
def test_a_plant_that_cannot_be_loaded_is_wrong_usage(path: str) -> None:
    with pytest.raises(UsageError):
        load_plant(path)


def test_a_plant_replaces_only_what_it_names() -> None:
    parts = default_parts()
    planted = load_plant("fairlead.sim.zoo.zombie_leader:plant")(parts)
    assert {name for name in parts if planted[name] is not parts[name]} == {"plane"}
