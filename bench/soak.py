"""The long run of the simulator: 20,000 seeds of `std20`. Writes JSON.

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
from fairlead.sim.run import Runner, RunTally
from fairlead.sim.sample import report, tally_of

RESULT = RESULTS / "sim-std20-soak.json"
SEEDS, CHUNK = 20_000, 100


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
            self.pieces.write({**report(tally, runner.faults, elapsed), "jobs": self._options.jobs})
            say(
                f"{tally.seeds}/{self._options.seeds} seeds, {len(tally.failures)} failures, "
                f"{self.told['seeds_per_second']} seeds/s"
            )


def main() -> int:
    parser = arguments(__doc__, RESULT)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    soak = Soak(options)
    try:
        soak.seeds()
    except OutOfTimeError:
        return soak.pieces.more_to_do()
    told = soak.told
    for sentence in told["shortfalls"]:
        say(sentence)
    print(
        f"{told['world']}: {told['seeds']} seeds, {len(told['failures'])} failures, digest {told['digest']}"
    )
    return 1 if told["failures"] or told["shortfalls"] else 0


if __name__ == "__main__":
    sys.exit(main())
