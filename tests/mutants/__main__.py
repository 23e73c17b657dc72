"""`python -m tests.mutants [--point N] [--file PART]`: every mutant, whether its tests notice it, and in how long."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.mutants.mutant import PROMISES
from tests.mutants.runner import Copy
from tests.mutants.table import MUTANTS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument(
        "--point", type=int, action="append", choices=sorted(PROMISES), help="only mutants of this promise"
    )
    parser.add_argument("--file", default="", help="only mutants of files whose path has this in it")
    options = parser.parse_args()
    chosen = [
        each
        for each in MUTANTS
        if (options.point is None or each.point in options.point) and options.file in each.file
    ]
    survivors = 0
    with tempfile.TemporaryDirectory(prefix="fairlead-mutants-") as directory:
        copy = Copy(Path(directory))
        point = 0
        for mutant in chosen:
            if mutant.point != point:
                point = mutant.point
                print(f"\n{point}. {PROMISES[point]}", flush=True)
            verdict = copy.try_mutant(mutant)
            survivors += not verdict.killed
            mark = "killed  " if verdict.killed else "SURVIVED"
            print(f"  {mark} {verdict.seconds:5.1f} s  {mutant.broken}", flush=True)
            print(f"                    {mutant.file}: {verdict.why}", flush=True)
    print(f"\n{len(chosen)} mutants, {len(chosen) - survivors} killed, {survivors} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
