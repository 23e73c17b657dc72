"""Which world `fairlead sim run` and `check` are about: one by its name, or a scenario that somebody wrote as a file.

A file may say its own seed, how many, its plant, and what must come of it; what is said on the command line counts
more. `verdict` tells whether it came as the file expects.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from fairlead.core.errors import UsageError
from fairlead.sim.generate.runner import runner_of, world_names
from fairlead.sim.run import Runner, RunTally
from fairlead.sim.scenarios.parse import WrittenScenario, parse_scenario
from fairlead.sim.worlds.roster import STANDARD


@dataclass(frozen=True, slots=True)
class ChosenWorld:
    runner: Runner
    breaks: str = ""  # the invariant that every seed must break


def add_world(parser: argparse.ArgumentParser, seeds: int) -> None:
    parser.add_argument("file", nargs="?", type=Path, metavar="SCENARIO.yaml", help="a scenario of your own")
    parser.add_argument(
        "--world", choices=world_names(), help=f"the world the seeds are of (default: {STANDARD})"
    )
    parser.add_argument(
        "--plant",
        metavar="PACKAGE.MODULE:NAME",
        help="a function that replaces a part of the plane by a faulty one",
    )
    parser.set_defaults(default_seeds=seeds)


def choose(options: argparse.Namespace) -> ChosenWorld:
    """The world, and in `options` what the file says and nobody else did."""
    if options.file is None:
        options.world = options.world or STANDARD
        _fill(options, options.default_seeds)
        return ChosenWorld(runner_of(options.world, options.plant))
    if options.world is not None:
        raise UsageError("a run has one world: give a file or --world, not both")
    written = read_scenario(options.file)
    options.world = str(options.file)
    usual = 1 if written.seed is not None else options.default_seeds
    _fill(options, written.seeds or usual, written.seed or 0, written.plant)
    return ChosenWorld(Runner(written.scenario, written.faults, options.plant), written.breaks)


def read_scenario(file: Path) -> WrittenScenario:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {(error.strerror or str(error)).lower()}") from None
    try:
        return parse_scenario(file.stem, data)
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from None


def verdict(breaks: str, tally: RunTally) -> tuple[bool, str]:
    """Whether every seed came as expected, and what to tell of it."""
    if not breaks:
        return not tally.failures, ""
    as_expected = sum(failure.invariant == breaks for failure in tally.failures)
    if as_expected == tally.seeds:
        return True, f"as the scenario expects, {breaks} was broken"
    return False, f"the scenario expects {breaks} to be broken: {as_expected} of {tally.seeds} seeds broke it"


def _fill(options: argparse.Namespace, seeds: int, seed: int = 0, plant: str = "") -> None:
    options.seeds = seeds if options.seeds is None else options.seeds
    options.seed = seed if options.seed is None else options.seed
    options.plant = plant if options.plant is None else options.plant
