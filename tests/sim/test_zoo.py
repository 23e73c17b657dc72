"""Every planted bug is found within a few seeds of the standard world; without a plant the same seeds find nothing."""

from __future__ import annotations

import os
import pkgutil

import pytest

from fairlead.core.errors import UsageError
from fairlead.sim import zoo
from fairlead.sim.parts import default_parts, load_plant
from fairlead.sim.run import Failure, Runner

SOAK = bool(os.environ.get("FAIRLEAD_SOAK"))

# How many seeds may be needed; and the invariants that may tell it.
PLANTS = {
    "no_read_your_writes": (10, {"live-children"}),
    "timeout_read_as_failure": (10, {"live-children"}),
    "name_not_uid": (40, {"justified-deletes"}),
    "guard_first": (10, {"ends-as-without-faults", "observed-generation", "converges", "quiet-at-rest"}),
    "zombie_leader": (200, {"one-leader"}),
    "edge_triggered_cleanup": (20, {"no-orphan", "live-children", "ends-as-without-faults"}),
    "status_write_loop": (3, {"converges", "quiet-at-rest", "ends-as-without-faults"}),
    "no_resync": (
        300,
        {"no-orphan", "ends-as-without-faults", "observed-generation", "converges", "quiet-at-rest"},
    ),
}
QUICK = ("no_read_your_writes", "timeout_read_as_failure", "guard_first")


def first_found(name: str, seeds: int) -> Failure | None:
    runner = Runner(plant=f"fairlead.sim.zoo.{name}:plant")
    return next((found for seed in range(seeds) if (found := runner.run(seed).failure)), None)


@pytest.mark.parametrize("name", PLANTS if SOAK else QUICK)
def test_a_planted_bug_is_found(name: str) -> None:
    seeds, invariants = PLANTS[name]
    found = first_found(name, seeds)
    assert found is not None, f"{name} was not found in {seeds} seeds"
    assert found.invariant in invariants, found


def test_every_plant_of_the_zoo_is_looked_for() -> None:
    files = {module.name for module in pkgutil.iter_modules(zoo.__path__)} - {"wrapping"}
    assert files == PLANTS.keys()


def test_without_a_plant_nothing_is_found() -> None:
    runner = Runner()
    assert [runner.run(seed).failure for seed in range(200 if SOAK else 6)] == [None] * (200 if SOAK else 6)


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
