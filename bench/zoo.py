"""How long each search takes to find each planted bug: a table of processor seconds and runs. Writes JSON and a page.

Run: .venv/bin/python -m bench.zoo [--tries 5] [--cpu 60] [--jobs J] [--seconds S]

Every plant is hunted with the default search and with the uniform one; where the uniform one needs more than a few runs,
with those that plan as well. Each hunt begins at seeds of its own, so that the median of several tries means something. In
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

from bench.pieces import RESULTS, ROOT, Json, OutOfTimeError, Pieces, arguments, say

from fairlead.runtime.forks import ForkDied, in_forks
from fairlead.sim.generate.runner import runner_of
from fairlead.sim.hunt import HuntLimits, hunt
from fairlead.sim.search.roster import MIXED, SEARCHES, UNIFORM
from fairlead.sim.worlds.roster import STANDARD
from fairlead.sim.zoo import WORLD_OF, plant_names

RESULT = RESULTS / "zoo.json"
PAGE = ROOT / "docs" / "reference" / "zoo.md"
PLANNING = ("planned", "lineage")
MODES = (MIXED, UNIFORM, *PLANNING)
EASY_RUNS = 20  # what the uniform search finds in so many needs no plan
TRIES, CPU_SECONDS, APART = 5, 60.0, 1_000_000
_BEGIN, _END = "<!-- table -->", "<!-- end of table -->"


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


class ZooTable:
    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self.pieces = Pieces(options, {"tries": options.tries, "cpu": options.cpu})

    def fill(self) -> None:
        told: Json = dict(self.pieces.told.get("hunts", {}))
        for mode in MODES:
            for name in plant_names():
                if f"{name} {mode}" in told or (mode in PLANNING and _is_easy(told[f"{name} {UNIFORM}"])):
                    continue
                self.pieces.check_time(self._options.cpu)
                told[f"{name} {mode}"] = self._tries(name, mode)
                self.pieces.write({"hunts": told})
                say(f"{name} {mode}: {_cell(told[f'{name} {mode}'])}")

    def _tries(self, name: str, mode: str) -> list[Json]:
        options = self._options
        tasks = [partial(_hunt, name, mode, number, options.cpu) for number in range(options.tries)]
        found: list[Json] = []
        for number, told in in_forks(tasks, options.jobs):
            if isinstance(told, ForkDied):
                sys.exit(f"try {number} of {name} by {mode} ended by {told.how}")
            found.append(told)
        return found

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
            cells = " | ".join(map(_cell, tries))
            lines.append(
                f"| `{name}` | {WORLD_OF.get(name, STANDARD)} | {', '.join(told) or 'none'} | {cells} |"
            )
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(_BEGIN)
        after = rest.partition(_END)[2]
        text = "\n".join((*lines, "", *map(self._sentence, PLANNING)))
        PAGE.write_text(f"{before}{_BEGIN}\n{text}\n{_END}{after}", encoding="utf-8")

    def _sentence(self, mode: str) -> str:
        hunts = self.pieces.told["hunts"]
        hard = [name for name in plant_names() if f"{name} {mode}" in hunts]
        fewer = [_runs(hunts[f"{name} {UNIFORM}"]) / _runs(hunts[f"{name} {mode}"]) for name in hard]
        mean = statistics.geometric_mean(fewer) if fewer else 1.0
        return f"- `{mode}` needed {mean:.1f} times fewer runs than `{UNIFORM}` over these {len(hard)} plants (geometric mean)."


def _runs(tries: list[Json]) -> float:
    """By the median of all tries; of one that found nothing, as many as it made."""
    return statistics.median(each["runs"] for each in tries)


def _is_easy(tries: list[Json]) -> bool:
    return _runs(tries) <= EASY_RUNS


def _cell(tries: list[Json]) -> str:
    """Seconds and runs by the median; how many found it, if not all."""
    if not tries:
        return ""
    found = sum(each["found"] for each in tries)
    seconds = statistics.median(each["cpu_seconds"] for each in tries)
    short = f" ({found} of {len(tries)})" if found < len(tries) else ""
    return f"{seconds:.1f} s, {_runs(tries):g}{short}"


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
