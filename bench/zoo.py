"""How long each search takes to find each planted bug: a table of processor seconds and runs. Writes JSON and a page.

Run: .venv/bin/python -m bench.zoo [--tries 5] [--cpu 60] [--jobs J] [--seconds S]

Every plant is hunted with the default search and with the uniform one; `planning.py` tries those that plan where the
uniform one needs many runs, `shrinking.py` makes small what is found. Each hunt begins at seeds of its own, so that the median of several tries means something. In
pieces (`pieces.py`): the file is written after every plant and mode, and a later run of the same sources goes on from it.
When all is done, the table in docs/reference/zoo.md is written anew.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Iterator
from functools import partial

from bench.pages import put_table
from bench.pieces import RESULTS, Json, OutOfTimeError, Pieces, arguments, say

from fairlead.runtime.forks import ForkDied, in_forks
from fairlead.sim.generate.runner import runner_of
from fairlead.sim.hunt import HuntLimits, hunt
from fairlead.sim.search.roster import MIXED, SEARCHES, UNIFORM
from fairlead.sim.worlds.roster import STANDARD
from fairlead.sim.zoo import WORLD_OF, plant_names

RESULT = RESULTS / "zoo.json"
MODES = (MIXED, UNIFORM)
TRIES, CPU_SECONDS, APART = 5, 60.0, 1_000_000


def _hunt(name: str, mode: str, number: int, seconds: float) -> Iterator[Json]:
    world, plant = WORLD_OF.get(name, STANDARD), f"fairlead.sim.zoo.{name}:plant"
    runner = runner_of(world, plant)
    runner.backup()
    search = SEARCHES[mode](runner, number * APART)
    found = hunt(runner, search, world, plant, time.process_time, HuntLimits(seconds, 0.0))
    yield {
        "found": bool(found.invariant),
        "cpu_seconds": round(found.cpu_seconds, 2),
        "runs": found.attempts,
        "invariant": found.invariant,
    }


def hunts_of(name: str, mode: str, tries: range, cpu: float, jobs: int) -> list[Json]:
    """Those with these numbers, side by side, each in a process of its own."""
    tasks = [partial(_hunt, name, mode, number, cpu) for number in tries]
    found: list[Json] = []
    for number, told in in_forks(tasks, jobs):
        if isinstance(told, ForkDied):
            sys.exit(f"try {number} of {name} by {mode} ended by {told.how}")
        found.append(told)
    return found


class ZooTable:
    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self.pieces = Pieces(options, {"tries": options.tries, "cpu": options.cpu})

    def fill(self) -> None:
        told: Json = dict(self.pieces.told.get("hunts", {}))
        for mode in MODES:
            for name in plant_names():
                if f"{name} {mode}" in told:
                    continue
                options = self._options
                self.pieces.check_time(options.cpu)
                told[f"{name} {mode}"] = hunts_of(name, mode, range(options.tries), options.cpu, options.jobs)
                self.pieces.write({"hunts": told})
                say(f"{name} {mode}: {cell(told[f'{name} {mode}'])}")

    def missed(self) -> list[str]:
        """Plants that the default search did not find in most tries."""
        hunts: Json = self.pieces.told["hunts"]
        return [
            name
            for name in plant_names()
            if sum(each["found"] for each in hunts.get(f"{name} {MIXED}", ())) * 2 <= self._options.tries
        ]

    def write_page(self) -> None:
        hunts = self.pieces.told["hunts"]
        lines = [
            f"| plant | world | invariant | {' | '.join(MODES)} |",
            f"| --- | --- | --- | {' | '.join('---' for _ in MODES)} |",
        ]
        for name in plant_names():
            tries = [hunts.get(f"{name} {mode}", []) for mode in MODES]
            told = sorted({each["invariant"] for hunt in tries for each in hunt if each["invariant"]})
            cells = " | ".join(map(cell, tries))
            lines.append(
                f"| `{name}` | {WORLD_OF.get(name, STANDARD)} | {', '.join(told) or 'none'} | {cells} |"
            )
        put_table("hunts", lines)


def runs_of(tries: list[Json]) -> float:
    """By the median of all tries; of one that found nothing, as many as it made."""
    return statistics.median(each["runs"] for each in tries)


def cell(tries: list[Json]) -> str:
    """Seconds and runs by the median; how many found it, if not all."""
    if not tries:
        return ""
    found = sum(each["found"] for each in tries)
    seconds = statistics.median(each["cpu_seconds"] for each in tries)
    short = f" ({found} of {len(tries)})" if found < len(tries) else ""
    return f"{seconds:.1f} s, {runs_of(tries):g}{short}"


def main() -> int:
    parser = arguments(__doc__, RESULT)
    parser.add_argument("--tries", type=int, default=TRIES)
    parser.add_argument("--cpu", type=float, default=CPU_SECONDS, help="processor seconds of one hunt")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    table = ZooTable(options)
    try:
        table.fill()
    except OutOfTimeError:
        return table.pieces.more_to_do()
    table.write_page()
    for name in table.missed():
        say(f"{name} was not found")
    return 1 if table.missed() else 0


if __name__ == "__main__":
    sys.exit(main())
