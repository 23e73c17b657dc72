"""How small every planted bug becomes: each is hunted once with the default search and shrunk. Writes JSON and a page.

Run: .venv/bin/python -m bench.shrinking [--cpu 60] [--shrink 60] [--jobs J] [--seconds S]

What counts as size is what `sim/shrink.py` counts: choices that are not calm, and steps of people. In pieces
(`pieces.py`): the file is written after every plant, and a later run of the same sources goes on from it. The table in
docs/reference/zoo.md is written anew with what is known so far, each time the run ends.
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
from bench.pieces import RESULTS, Json, OutOfTimeError, Pieces, arguments, chunks, say

from fairlead.runtime.forks import ForkDied, in_forks
from fairlead.sim.generate.runner import runner_of
from fairlead.sim.hunt import HuntLimits, hunt
from fairlead.sim.search.roster import MIXED, SEARCHES
from fairlead.sim.worlds.roster import STANDARD
from fairlead.sim.zoo import WORLD_OF, plant_names

RESULT = RESULTS / "shrinking.json"
SECONDS, WANTED_PERCENT = 60.0, 95.0
_SEED = 0


def _shrink(name: str, cpu: float, shrink: float) -> Iterator[Json]:
    world, plant = WORLD_OF.get(name, STANDARD), f"fairlead.sim.zoo.{name}:plant"
    runner = runner_of(world, plant)
    runner.backup()
    started = time.process_time()
    found = hunt(
        runner, SEARCHES[MIXED](runner, _SEED), world, plant, time.process_time, HuntLimits(cpu, shrink)
    )
    shrunk = found.shrunk
    yield {
        "found": bool(found.invariant),
        "invariant": found.invariant,
        "shrunk_from": shrunk.size_before if shrunk else 0,
        "shrunk_to": shrunk.case.size if shrunk else 0,
        "faults": shrunk.case.faults if shrunk else 0,
        "done": bool(shrunk and shrunk.is_done),
        "runs": shrunk.runs if shrunk else 0,
        "cpu_seconds": round(time.process_time() - started - found.cpu_seconds, 1),
    }


def fill(pieces: Pieces, options: argparse.Namespace) -> None:
    told: Json = dict(pieces.told.get("plants", {}))
    left = [name for name in plant_names() if name not in told]
    for chunk in chunks(0, len(left), options.jobs):
        pieces.check_time(options.cpu)
        names = [left[number] for number in chunk]
        tasks = [partial(_shrink, name, options.cpu, options.shrink) for name in names]
        for number, row in in_forks(tasks, options.jobs):
            if isinstance(row, ForkDied):
                sys.exit(f"the process that shrank {names[number]} ended by {row.how}")
            told[names[number]] = row
            say(f"{names[number]}: {row['shrunk_from']} to {row['shrunk_to']} in {row['cpu_seconds']} s")
        pieces.write({"plants": told})


def percent(row: Json) -> float:
    return 100.0 * (1 - row["shrunk_to"] / row["shrunk_from"]) if row["shrunk_from"] else 0.0


def lines(plants: Json) -> list[str]:
    """The table, and what it comes to."""
    made = [
        "| plant | invariant | from | to | of them faults | smaller by | runs | seconds |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in plant_names():
        row = plants.get(name)
        if row is None:
            continue
        if not row["shrunk_from"]:
            made.append(f"| `{name}` | not found |  |  |  |  |  |  |")
            continue
        rest = "" if row["done"] else ", not at its end"
        made.append(
            f"| `{name}` | {row['invariant']} | {row['shrunk_from']} | {row['shrunk_to']} | {row['faults']}"
            f" | {percent(row):.1f} % | {row['runs']} | {row['cpu_seconds']:.1f}{rest} |"
        )
    shares = [percent(row) for row in plants.values() if row["shrunk_from"]]
    if shares:
        together = 100.0 * (
            1 - sum(r["shrunk_to"] for r in plants.values()) / sum(r["shrunk_from"] for r in plants.values())
        )
        made += [
            "",
            f"- {sum(share >= WANTED_PERCENT for share in shares)} of {len(shares)} became at least"
            f" {WANTED_PERCENT:g} % smaller; the median is {statistics.median(shares):.1f} %, all together"
            f" {together:.1f} %.",
            f"- {sum(row['done'] for row in plants.values())} of {len(shares)} came to their end within"
            f" {SECONDS:g} seconds of processor time, by the median after"
            f" {statistics.median(row['cpu_seconds'] for row in plants.values() if row['shrunk_from']):.1f}.",
        ]
    left = len([name for name in plant_names() if name not in plants])
    if shares and left:
        made.append(f"- {left} plants are not measured yet.")
    return made


def main() -> int:
    parser = arguments(__doc__, RESULT)
    parser.add_argument("--cpu", type=float, default=SECONDS, help="processor seconds of one hunt")
    parser.add_argument(
        "--shrink", type=float, default=SECONDS, help="processor seconds to shrink what it found"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    pieces = Pieces(options, {"cpu": options.cpu, "shrink": options.shrink})
    try:
        fill(pieces, options)
    except OutOfTimeError:
        return pieces.more_to_do()
    finally:
        put_table("shrinking", lines(pieces.told.get("plants", {})))
    return 0


if __name__ == "__main__":
    sys.exit(main())
