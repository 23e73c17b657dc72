"""How fast the simulator is: seeds, commits and simulated seconds per second in one process, with faults.

`std20` is counted without its run without faults, which is made once; each seed of `small` has its own, and pays for it.

Run: .venv/bin/python bench/sim.py [--seeds N] [--small N] [--json]
     .venv/bin/python bench/sim.py --grown 20,1000     what a step of `std20` costs with so many nodes

What a step costs is counted in calls of functions, C's included, over the steps of four minutes without faults that
begin when the plane leads. Coming to lead is not among them: whoever does looks at everything. What that costs is told
by one whole seed with faults: its calls, how often somebody looked at everything, and how many turns were taken. The
steps of a seed are as many however many nodes there are; looks cost as much as there is to look at.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import time
from typing import Any

from fairlead.control.controller import Controller
from fairlead.control.plane import Plane
from fairlead.sim.chance import Chance
from fairlead.sim.faults import CALM
from fairlead.sim.generate.runner import runner_of
from fairlead.sim.memory import Memory
from fairlead.sim.purity_guard import raise_fence
from fairlead.sim.run import Runner, run_seeds, stand_up
from fairlead.sim.world import World
from fairlead.sim.worlds import std20

_LED_MS, _UNTIL_MS = 15_000, 240_000


def measure(runner: Runner, seeds: range) -> dict[str, Any]:
    runner.wanted()  # the run without faults is made once and is not counted
    runner.run(seeds[0])
    wall, cpu = time.perf_counter(), time.process_time()
    tally = run_seeds(runner, seeds)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {
        "world": runner.scenario.name,
        "seeds": tally.seeds,
        "failures": len(tally.failures),
        "seeds_per_second": round(tally.seeds / wall, 2),
        "seeds_per_cpu_second": round(tally.seeds / cpu, 2),
        "commits_per_second": round(tally.commits / wall, 1),
        "commits_per_seed": round(tally.commits / tally.seeds, 1),
        "simulated_seconds_per_second": round(tally.seconds / wall, 1),
    }


def grown(nodes: int) -> dict[str, Any]:
    std20.NODES = nodes
    scenario = std20.scenario()
    backup = stand_up(scenario)
    world = World(scenario, Chance(0), CALM, backup=backup, memory=Memory(backup.changes))
    with raise_fence():
        world.begin()
        world.timeline.run_until(_LED_MS)
        before, profile = world.timeline.ran, cProfile.Profile()
        profile.enable()
        world.timeline.run_until(_UNTIL_MS)
        profile.disable()
    steps = world.timeline.ran - before
    calls = sum(each.callcount for each in profile.getstats())
    return {
        "nodes": nodes,
        "steps": steps,
        "calls_per_step": round(calls / steps, 1),
        **_of_a_seed(Runner(scenario)),
    }


def _of_a_seed(runner: Runner) -> dict[str, Any]:
    """What one with faults is made of; the run that it is compared with is made before."""
    runner.wanted()
    runner.run(0)
    profile = cProfile.Profile()
    profile.enable()
    runner.run(1)
    profile.disable()
    counts = {each.code: each.callcount for each in profile.getstats()}
    return {
        "seed_calls": sum(counts.values()),
        "looks_at_everything": counts.get(Plane._resync.__code__, 0),
        "turns": counts.get(Controller._begin.__code__, 0),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="of std20")
    parser.add_argument("--small", type=int, default=200, help="seeds of small worlds")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--grown", default="", metavar="NODES,...", help="count calls for each size instead")
    options = parser.parse_args()
    if options.grown:
        for nodes in map(int, options.grown.split(",")):
            print(json.dumps(grown(nodes)))
        return
    rows = [
        measure(runner_of("std20"), range(options.seeds)),
        measure(runner_of("small"), range(options.small)),
    ]
    if options.json:
        print(json.dumps({row["world"]: row for row in rows}, indent=2))
        return
    for name in rows[0]:
        print(f"{name:30} {rows[0][name]:<12} {rows[1][name]}")


if __name__ == "__main__":
    main()
