"""How many runs the searches that plan need where the uniform one needs many. Writes JSON and a page.

Run: .venv/bin/python -m bench.planning [PLANT ...] [--tries 5] [--cpu 60] [--jobs J] [--seconds S]

Each plant, or each that is named, is hunted with the uniform search in its world; where that needs more than 20 runs by
the median, with `planned` and `lineage` in the same world as well. In pieces (`pieces.py`): the file is written after
every plant and mode, and a later run of the same sources goes on from it, also with other plants and with more tries.
The table in docs/reference/zoo.md is written anew with what is known so far, each time the run ends.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys

from bench.pages import put_table
from bench.pieces import RESULTS, Json, OutOfTimeError, Pieces, arguments, say
from bench.zoo import CPU_SECONDS, TRIES, cell, hunts_of, runs_of

from fairlead.sim.search.roster import UNIFORM
from fairlead.sim.worlds.roster import STANDARD
from fairlead.sim.zoo import WORLD_OF, plant_names

RESULT = RESULTS / "planning.json"
PLANNING = ("planned", "lineage")
EASY_RUNS = 20  # what the uniform search finds in so many needs no plan


def fill(pieces: Pieces, options: argparse.Namespace) -> None:
    told: Json = dict(pieces.told.get("hunts", {}))
    for name in options.plants or plant_names():
        for mode in (UNIFORM, *PLANNING):
            found = told.get(f"{name} {mode}", [])
            if len(found) >= options.tries or (mode != UNIFORM and not _is_hard(told[f"{name} {UNIFORM}"])):
                continue
            pieces.check_time(options.cpu)
            left = range(len(found), options.tries)
            told[f"{name} {mode}"] = [*found, *hunts_of(name, mode, left, options.cpu, options.jobs)]
            pieces.write({"hunts": told})
            say(f"{name} {mode}: {cell(told[f'{name} {mode}'])}")


def lines(hunts: Json, cpu: float) -> list[str]:
    made = [
        f"| plant | world | {UNIFORM} | {' | '.join(PLANNING)} | fewer runs |",
        f"| --- | --- | --- | {' | '.join('---' for _ in PLANNING)} | --- |",
    ]
    hard = [name for name in plant_names() if _is_hard(hunts.get(f"{name} {UNIFORM}", []))]
    for name in hard:
        tries = [hunts.get(f"{name} {mode}", []) for mode in (UNIFORM, *PLANNING)]
        fewer = ", ".join(
            f"{_fewer(hunts, name, mode):.1f}" for mode in PLANNING if hunts.get(f"{name} {mode}")
        )
        made.append(
            f"| `{name}` | {WORLD_OF.get(name, STANDARD)} | {' | '.join(map(cell, tries))} | {fewer} |"
        )
    tries = sorted({len(hunts[f"{name} {UNIFORM}"]) for name in hard})
    told = " or ".join(map(str, tries))
    made += ["", f"- By the median of {told} tries, of {cpu:g} seconds of processor time each."]
    for mode in PLANNING:
        ratios = [_fewer(hunts, name, mode) for name in hard if hunts.get(f"{name} {mode}")]
        if ratios:
            mean = statistics.geometric_mean(ratios)
            made.append(
                f"- `{mode}` needed {mean:.1f} times fewer runs than `{UNIFORM}` over these {len(ratios)} plants"
                " (geometric mean)."
            )
    return made


def _fewer(hunts: Json, name: str, mode: str) -> float:
    return runs_of(hunts[f"{name} {UNIFORM}"]) / runs_of(hunts[f"{name} {mode}"])


def _is_hard(tries: list[Json]) -> bool:
    return bool(tries) and runs_of(tries) > EASY_RUNS


def main() -> int:
    parser = arguments(__doc__, RESULT)
    parser.add_argument("plants", nargs="*", metavar="PLANT", help="which (default: all)")
    parser.add_argument("--tries", type=int, default=TRIES)
    parser.add_argument("--cpu", type=float, default=CPU_SECONDS, help="processor seconds of one hunt")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    pieces = Pieces(options, {"cpu": options.cpu})
    try:
        fill(pieces, options)
    except OutOfTimeError:
        return pieces.more_to_do()
    finally:
        put_table("planning", lines(pieces.told.get("hunts", {}), options.cpu))
    return 0


if __name__ == "__main__":
    sys.exit(main())
