"""`fairlead sim zoo`: hunts every planted bug, shrinks what it finds, and tells what each cost.

A simulator that finds nothing proves nothing until it is seen to find. Plants are hunted side by side in processes of
their own; seconds are of processor time, so that they mean the same on a machine that is busy.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from fairlead.cli import options as shared
from fairlead.cli.output import print_json, print_table
from fairlead.cli.sim.artifacts import add_folder, keep_artifact, make_folder, parse_seconds
from fairlead.core.errors import OperatorError, UsageError
from fairlead.runtime.forks import ForkDied, in_forks
from fairlead.sim.generate.runner import runner_of
from fairlead.sim.hunt import Hunted, HuntLimits, hunt
from fairlead.sim.search.roster import MIXED, SEARCHES
from fairlead.sim.worlds.roster import STANDARD
from fairlead.sim.zoo import WORLD_OF, plant_names

_SECONDS = 60.0

Row = dict[str, Any]


def configure_zoo(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    zoo = actions.add_parser(
        "zoo", help="hunt every planted bug, and shrink what is found", allow_abbrev=False
    )
    zoo.add_argument("names", nargs="*", metavar="NAME", help="which (default: all)")
    zoo.add_argument(
        "--cpu",
        type=parse_seconds,
        default=_SECONDS,
        metavar="SECONDS",
        help="processor time for each hunt (default: 60)",
    )
    zoo.add_argument("--search", choices=sorted(SEARCHES), default=MIXED, help=f"how (default: {MIXED})")
    zoo.add_argument(
        "--seed", type=shared.parse_whole, default=0, metavar="S", help="where to begin (default: 0)"
    )
    zoo.add_argument(
        "--jobs", type=shared.parse_whole, default=1, metavar="J", help="processes at once (default: 1)"
    )
    zoo.add_argument("--no-shrink", action="store_true", help="only find")
    add_folder(zoo, "find")
    shared.add_output(zoo, "text", "json")
    zoo.set_defaults(run=_zoo)


def _zoo(options: argparse.Namespace) -> int:
    names = list(dict.fromkeys(options.names)) or list(plant_names())
    for name in names:
        if name not in plant_names():
            raise UsageError(f'no plant is called "{name}"; there are: {", ".join(plant_names())}')
    make_folder(options.artifacts)
    rows: dict[str, Row] = {}
    for row in _hunted(names, options):
        rows[row["name"]] = row
        if sys.stderr.isatty():
            print(f"\r\033[K{len(rows)}/{len(names)} {row['name']}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    told = [rows[name] for name in names]
    if options.output == "json":
        print_json(told)
    else:
        _table(told)
    return 0 if all(row["found"] for row in told) else 1


def _table(told: list[Row]) -> None:
    columns = ("PLANT", "WORLD", "FOUND", "CPU S", "RUNS", "INVARIANT", "FROM", "TO", "FAULTS")
    keys = (
        "name",
        "world",
        "found",
        "cpu_seconds",
        "seeds",
        "invariant",
        "shrunk_from",
        "shrunk_to",
        "faults",
    )
    print_table(columns, [tuple(row[key] for key in keys) for row in told])
    print(f"\n{sum(row['found'] for row in told)} of {len(told)} found")


def _hunted(names: list[str], options: argparse.Namespace) -> Iterator[Row]:
    tasks = [partial(_hunt, name, options) for name in names]
    if options.jobs <= 1:
        for task in tasks:
            yield from task()
        return
    for number, row in in_forks(tasks, options.jobs):
        if isinstance(row, ForkDied):
            raise OperatorError(f"the process that hunted {names[number]} ended by {row.how}")
        yield row


def _hunt(name: str, options: argparse.Namespace) -> Iterator[Row]:
    """One row."""
    world, plant = WORLD_OF.get(name, STANDARD), f"fairlead.sim.zoo.{name}:plant"
    runner = runner_of(world, plant)
    runner.backup()
    limits = HuntLimits(options.cpu, 0.0 if options.no_shrink else _SECONDS)
    search = SEARCHES[options.search](runner, options.seed)
    found = hunt(runner, search, world, plant, time.process_time, limits)
    if options.artifacts is not None and found.artifact is not None:
        keep_artifact(options.artifacts, name, found.artifact)
    yield _row(name, world, found)


def _row(name: str, world: str, found: Hunted) -> Row:
    shrunk = found.shrunk
    return {
        "name": name,
        "world": world,
        "found": bool(found.invariant),
        "cpu_seconds": round(found.cpu_seconds, 2),
        "seeds": found.attempts,
        "invariant": found.invariant,
        "message": found.message,
        "tried": found.told,
        "shrunk_from": shrunk.size_before if shrunk else 0,
        "shrunk_to": shrunk.case.size if shrunk else 0,
        "faults": shrunk.case.faults if shrunk else 0,
        "shrink_runs": shrunk.runs if shrunk else 0,
    }
