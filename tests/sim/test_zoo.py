"""Every planted bug is found in seeds 0-999 of its world; without a plant the same seeds find nothing.

A search begins near where the plant was first found when this was written and goes round the range: it stays short as
long as that holds, and needs no change when it does not. `bench/soak.py` searches from 0.
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

RANGE = 1000
# Where a search begins, but for those that are found at once.
STARTS = {
    "name_not_uid": 5,
    "stale_scale_down": 4,
    "ghost_resurrection": 10,
    "guard_first": 9,
    "phase_lost": 15,
    "edge_triggered_cleanup": 1,
    "expectation_miscount": 35,
    "assumed_expires": 28,
    "timeout_read_as_failure": 10,
    "bind_timeout_read_as_failure": 87,
    "cache_goes_back": 11,
    "orphan_never_collected": 1,
    "no_read_your_writes": 9,
    "expectations_by_name": 12,
    "swap_on_old_read": 14,
    "order_of_a_list": 17,
    "lease_by_remote_clock": 4,
    "duplicate_reservation": 19,
    "no_resync": 4,
    "deadline_assumed": 4,
    "part_read_as_whole": 32,
    "own_write_hides_others": 25,
    "late_child_kept": 1,
    "unlisted_read_as_empty": 2,
    "lost_pods_keep_quota": 3,
    "suspects_count": 4,
    "original_deleted_unseen": 4,
    "stand_in_unseen": 2,
    "older_list_ignored": 1,
    "full_disk_told_as_done": 1,
    "lag_read_as_absence": 34,
    "deleting_is_gone": 34,
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


@pytest.mark.timeout(900)
@pytest.mark.parametrize("each", SPECIMENS, ids=lambda each: each.name)
def test_a_planted_bug_is_found_and_nothing_without_it(
    each: Specimen, record_property: Callable[[str, object], None]
) -> None:
    name = each.name
    found, tried = search(runner_for(each.world, f"fairlead.sim.zoo.{name}:plant"), STARTS.get(name, 0))
    assert found is not None, f"{name} was not found in {RANGE} seeds"
    assert found.invariant in each.invariants, found
    clean = runner_for(each.world)
    assert [clean.run(seed).failure for seed in tried] == [None] * len(tried)
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
