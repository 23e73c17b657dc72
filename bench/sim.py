"""How fast the simulator is: seeds, commits and simulated seconds per second in one process, in `std20` with faults.

Run: .venv/bin/python bench/sim.py [--seeds N] [--json]
"""

from __future__ import annotations

import argparse
import json
import time

from fairlead.sim.run import Runner, run_seeds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    runner = Runner()
    runner.wanted()  # the run without faults is made once and is not counted
    wall, cpu = time.perf_counter(), time.process_time()
    tally = run_seeds(runner, range(options.seeds))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    result = {
        "world": runner.scenario.name,
        "seeds": tally.seeds,
        "failures": len(tally.failures),
        "seeds_per_second": round(tally.seeds / wall, 2),
        "seeds_per_cpu_second": round(tally.seeds / cpu, 2),
        "commits_per_second": round(tally.commits / wall, 1),
        "commits_per_seed": round(tally.commits / tally.seeds, 1),
        "simulated_seconds_per_second": round(tally.seconds / wall, 1),
    }
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        for name, value in result.items():
            print(f"{name:30} {value}")


if __name__ == "__main__":
    main()
