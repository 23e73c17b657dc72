"""Every planted bug is found in seeds 0-999 of its world; without a plant the same seeds find nothing.

A search begins near where the plant was first found when this was written and goes round the range: it stays short as
long as that holds, and needs no change when it does not. `bench/soak.py` searches from 0.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from functools import cache

import pytest

from fairlead.core.errors import UsageError
from fairlead.sim import zoo
from fairlead.sim.chance import Chance
from fairlead.sim.parts import Parts, Plant, default_parts, load_plant
from fairlead.sim.run import Failure, Runner
from fairlead.sim.world import World
from fairlead.sim.worlds.roster import STANDARD, WORLDS
from fairlead.sim.zoo.budget_overwritten import HalfSightedApi, stubborn
from fairlead.sim.zoo.wrapping import wrap
from tests.sim.quota import PLANT

RANGE = 1000
_UNFINISHED = {"no-orphan", "ends-as-without-faults", "observed-generation", "converges", "quiet-at-rest"}
# Where to begin, and the invariants that may tell it.
PLANTS = {
    "no_read_your_writes": (10, {"live-children", "justified-deletes"}),
    "timeout_read_as_failure": (95, {"live-children"}),
    "name_not_uid": (1, {"justified-deletes"}),
    "guard_first": (9, _UNFINISHED),
    "zombie_leader": (11, {"one-leader"}),
    "edge_triggered_cleanup": (36, {"live-children", *_UNFINISHED}),
    "status_write_loop": (0, _UNFINISHED),
    "decider_raises": (0, {"deciders-do-not-raise"}),
    "no_resync": (65, _UNFINISHED),
    "assumed_expires": (42, {"capacity"}),
    "bind_timeout_read_as_failure": (9, {"capacity"}),
    "budget_from_dead_controller": (1, {"fresh-allowance"}),
    "budget_overwritten": (2, {"disruptions-in-flight"}),
    "duplicate_reservation": (216, {"one-reservation", "ends-as-without-faults"}),
    "preemption_thrash": (9, {"preemption-ends"}),
    "refusal_read_as_stuck": (0, {"refusals-end"}),
    "status_skipped_on_refusal": (0, {"refusals-end"}),
    "observer_partitioned": (0, {"silence-is-real"}),
    "deadline_for_all": (0, {"outlives-the-plane"}),
    "deadline_assumed": (14, {"at-most-one", "silence-is-real"}),
    "judged_by_wall_clock": (2, {"silence-is-real", "events-flow", "led-at-rest", *_UNFINISHED}),
    "frame_skipped": (1, {"mirrors-at-rest", "writers-progress", *_UNFINISHED}),
    "lease_by_remote_clock": (0, {"leases-run-out"}),
    "never_rolls_out": (0, {"templates-reach-pods"}),
    "written_on_old_read": (0, {"writers-progress"}),
    "slot_again": (0, {"slots-run-once"}),
    "flip_back": (0, {"no-stranded-marks", *_UNFINISHED}),
    "phase_lost": (317, {"no-stranded-marks", "repair-goes-on", *_UNFINISHED}),
    "orphan_never_collected": (190, _UNFINISHED),
    "part_read_as_whole": (12, {"placed-at-rest"}),
    "own_write_hides_others": (6, {"truthful-progress", *_UNFINISHED}),
    "lag_read_as_absence": (17, {"collected-justly", "live-children"}),
    "late_child_kept": (2, {"no-orphan"}),
    "lease_of_nobody": (0, {"runs-once"}),
    "deleting_is_gone": (17, {"collected-justly"}),
    "unlisted_read_as_empty": (2, {"collected-justly"}),
    "lost_pods_keep_quota": (2, {"repair-goes-on"}),
    "place_left_open": (0, {"resource-quota-kept"}),
    "silence_unheard": (0, {"fresh-allowance"}),
    "suspects_count": (3, {"sound-capacity"}),
    "original_deleted_unseen": (15, {"originals-kept"}),
    "damage_read_as_absence": (0, {"damaged-is-there", "justified-deletes", "live-children"}),
    "damaged_overwritten": (3, {"damaged-is-there"}),
    "stand_in_unseen": (2, {"damaged-is-there"}),
    "revisions_given_twice": (0, {"revisions-increase"}),
    "lost_revisions_served": (0, {"lost-revisions-are-gone"}),
    "older_list_ignored": (4, {"placed-at-rest", *_UNFINISHED}),
    "no_room_for_claims": (0, {"full-disk-serves"}),
    "deletions_refused_when_full": (0, {"full-disk-serves"}),
    "full_disk_told_as_done": (3, {"acknowledged-is-kept"}),
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
@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_bug_is_found_and_nothing_without_it(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    start, invariants = PLANTS[name]
    world = zoo.WORLD_OF.get(name, STANDARD)
    found, tried = search(runner_for(world, f"fairlead.sim.zoo.{name}:plant"), start)
    assert found is not None, f"{name} was not found in {RANGE} seeds"
    assert found.invariant in invariants, found
    clean = runner_for(world)
    assert [clean.run(seed).failure for seed in tried] == [None] * len(tried)
    record_property(PLANT, name)


@pytest.mark.parametrize("half", [alone_stubborn, alone_half_sighted])
def test_an_allowance_that_is_overwritten_needs_an_eviction_that_believes_it(half: Plant) -> None:
    """Where the two faults of `budget_overwritten` are found together, either alone breaks nothing."""
    clean, (start, _) = runner_for("sched"), PLANTS["budget_overwritten"]
    world = World(clean.scenario, Chance(start), clean.faults, half(default_parts()), backup=clean.backup())
    assert world.run().violation is None


def test_every_plant_of_the_zoo_is_looked_for() -> None:
    files = {module.name for module in pkgutil.iter_modules(zoo.__path__)} - {"wrapping"}
    assert files == PLANTS.keys()


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
