"""Two hours of processor time of generated worlds on the code as it is: nothing may break. Writes JSON.

Run: .venv/bin/python -m bench.swarm [--cpu 7200] [--first 0] [--jobs J] [--seconds S] [--file FILE] [--afresh]

Seeds of the world `small`, each a world of its own, from `--first` on. In pieces (`pieces.py`), with the digest over all
seeds. A failure is told with its seed and what the seed drew, and the exit code is 1.
"""

from __future__ import annotations

import os
import resource
import sys

from bench.pieces import RESULTS, Json, OutOfTimeError, Pieces, arguments, say

from fairlead.runtime.seeds import run_in_processes
from fairlead.sim.generate.runner import runner_of
from fairlead.sim.generate.world import NAME
from fairlead.sim.run import RunTally

RESULT = RESULTS / "swarm.json"
CPU_SECONDS, CHUNK = 7_200.0, 200


def _cpu() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def run(pieces: Pieces, cpu: float, first_of_all: int, jobs: int) -> Json:
    told: Json = pieces.told or {"seeds": 0, "cpu_seconds": 0.0, "fingerprint": "0", "failures": []}
    runner = runner_of(NAME)
    while told["cpu_seconds"] < cpu:
        pieces.check_time()
        started, first = _cpu(), first_of_all + told["seeds"]
        tally = RunTally(fingerprint=int(told["fingerprint"], 16))
        for result in run_in_processes(runner, range(first, first + CHUNK), jobs):
            tally.add(result)
        failures = [f"seed {each.seed}: {each.invariant}: {each.message}" for each in tally.failures]
        for line in failures:
            say(line)
        told = {
            "seeds": told["seeds"] + CHUNK,
            "cpu_seconds": round(told["cpu_seconds"] + _cpu() - started, 1),
            "fingerprint": tally.digest,
            "failures": [*told["failures"], *failures],
        }
        pieces.write(told)
        rate = told["seeds"] / max(told["cpu_seconds"], 1e-9)
        spent = f"{told['cpu_seconds']:.0f} CPU s, {rate:.1f} seeds/CPU s"
        say(f"{told['seeds']} seeds, {spent}, {len(told['failures'])} failed")
    return told


def main() -> int:
    parser = arguments(__doc__, RESULT)
    parser.add_argument("--cpu", type=float, default=CPU_SECONDS, help="seconds of processor time in all")
    parser.add_argument("--first", type=int, default=0, help="the first seed, to run others than before")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    pieces = Pieces(options, {"world": NAME, "first": options.first})
    try:
        told = run(pieces, options.cpu, options.first, options.jobs)
    except OutOfTimeError:
        return pieces.more_to_do()
    return 1 if told["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
