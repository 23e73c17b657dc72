"""The long run of the simulator: 20,000 seeds of `std20`, then each plant of the zoo in seeds 0-999. Writes JSON.

Run: .venv/bin/python -m bench.soak [--seeds N] [--jobs J] [--seconds S] [--file FILE] [--afresh]

It goes on where it was interrupted (`pieces.py`): the file is written after every chunk of seeds.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

from bench.pieces import RESULTS, Json, OutOfTimeError, Pieces, arguments, chunks, say

from fairlead.runtime.seeds import run_in_processes
from fairlead.sim import zoo
from fairlead.sim.run import Runner, RunTally
from fairlead.sim.sample import report, tally_of
from fairlead.sim.worlds.roster import WORLDS

RESULT = RESULTS / "sim-std20-soak.json"
SEEDS, PLANT_SEEDS, CHUNK = 20_000, 1_000, 100


class Soak:
    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self.pieces = Pieces(options, {"world": Runner().scenario.name})

    @property
    def told(self) -> Json:
        return self.pieces.told

    def seeds(self) -> None:
        runner = Runner()
        tally = tally_of(self.told) if self.told else RunTally()
        elapsed = self.told.get("elapsed_seconds", 0.0)
        for chunk in chunks(tally.seeds, self._options.seeds, CHUNK):
            self.pieces.check_time()
            started = time.monotonic()
            for result in run_in_processes(runner, chunk, self._options.jobs):
                tally.add(result)
                if result.failure is not None:
                    failure = result.failure
                    say(f"seed {failure.seed}: {failure.invariant}: {failure.message}")
            elapsed += time.monotonic() - started
            found = {"jobs": self._options.jobs, "plants": self.told.get("plants", {})}
            self.pieces.write({**report(tally, runner.faults, elapsed), **found})
            say(
                f"{tally.seeds}/{self._options.seeds} seeds, {len(tally.failures)} failures, "
                f"{self.told['seeds_per_second']} seeds/s"
            )

    def plants(self) -> None:
        for name in zoo.plant_names():
            if name not in self.told["plants"]:
                found = self._search(name)
                self.pieces.write({**self.told, "plants": {**self.told["plants"], name: found}})
                say(f"plant {name}: {found}")

    def _search(self, name: str) -> Json | None:
        """The first seed that finds it, and by which invariant."""
        scenario, faults = WORLDS[zoo.WORLD_OF[name]]
        runner = Runner(scenario(), faults, plant=f"fairlead.sim.zoo.{name}:plant")
        for chunk in chunks(0, PLANT_SEEDS, 4 * self._options.jobs):
            self.pieces.check_time()
            results = run_in_processes(runner, chunk, self._options.jobs)
            failures = {each.seed: each.failure for each in results if each.failure is not None}
            if failures:
                first = failures[min(failures)]
                return {"seed": first.seed, "invariant": first.invariant}
        return None


def main() -> int:
    parser = arguments(__doc__, RESULT)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    soak = Soak(options)
    try:
        soak.seeds()
        soak.plants()
    except OutOfTimeError:
        return soak.pieces.more_to_do()
    told = soak.told
    missed = sorted(name for name, found in told["plants"].items() if found is None)
    for sentence in (*told["shortfalls"], *(f"{name} was not found" for name in missed)):
        say(sentence)
    found = len(told["plants"]) - len(missed)
    print(
        f"{told['world']}: {told['seeds']} seeds, {len(told['failures'])} failures, digest {told['digest']}, "
        f"{found} plants found"
    )
    return 1 if told["failures"] or told["shortfalls"] or missed else 0


if __name__ == "__main__":
    sys.exit(main())
