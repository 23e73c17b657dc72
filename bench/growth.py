"""What the size of the world adds to the cost of a change: the same changes in a small and in a large world, in turn.

    python bench/growth.py [--json] [--small 170] [--large 3000] [--nodes 200] [--rounds 12] [--profile ACT]

Both worlds are in one process (`turns.py`: real API, store in memory, all controllers), so that what else the machine
does slows down both alike. In each round ten Deployments are made, touched and scaled to two in either world; `old`
scales ten of those that filled it. For each act and world:

    microseconds   of processor time for one Deployment, everything that follows from it included: median of the rounds
    calls          of functions, C's included, for one Deployment: what a machine that is busy does not change

`times` is the large world's by the small one's. Calls that grow are work that grows; time that grows without them is
memory that no longer fits the caches, or a C function that walks something: `--profile` prints what grew most in both.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from turns import NAMESPACES, Bench

BATCH = 10  # Deployments changed in one go
PROFILED = 3  # further rounds, with calls counted
ACTS = ("create", "touch", "scale", "old")
SETTLE_SECONDS = 3.0  # virtual

Row = tuple[int, int, float, float, dict[Any, Any]]  # of cProfile


class World:
    def __init__(self, deployments: int, nodes: int) -> None:
        self.deployments = deployments
        self.bench = Bench(deployments, nodes, "")
        self.bench.run_each(self.bench.create)
        self.bench.process.settle(120.0)
        self.seconds: dict[str, list[float]] = {act: [] for act in ACTS}
        self.profiles = {act: cProfile.Profile() for act in ACTS}
        self._made = 0
        self._unscaled = iter(self.bench.places)

    @property
    def objects(self) -> int:
        return sum(len(mirror.index) for mirror in self.bench.process.plane.mirrors.values())

    def change(self, act: str, counted: bool) -> None:
        chosen, change = list(self._chosen(act)), self._change(act)
        profile, bench = self.profiles[act], self.bench
        bench.asked = 0.0
        began = time.process_time()
        if counted:
            profile.enable()
        for namespace, name in chosen:
            change(namespace, name)
        bench.process.settle(SETTLE_SECONDS)
        if counted:
            profile.disable()
        else:
            self.seconds[act].append(time.process_time() - began - bench.asked)

    def _chosen(self, act: str) -> Iterator[tuple[str, str]]:
        if act == "old":
            for _ in range(BATCH):
                yield next(self._unscaled)
            return
        if act == "create":
            self._made += BATCH
        for number in range(self._made - BATCH, self._made):
            yield f"team-{number % NAMESPACES}", f"new-{number:05d}"

    def _change(self, act: str) -> Callable[[str, str], None]:
        if act == "create":
            return self.bench.create
        if act == "touch":
            return self.bench.patched({"metadata": {"annotations": {"touched": str(self._made)}}})
        return self.bench.patched({"spec": {"replicas": 2}})

    def microseconds(self, act: str) -> float:
        return statistics.median(self.seconds[act]) / BATCH * 1e6

    def functions(self, act: str) -> dict[tuple[str, int, str], Row]:
        self.profiles[act].create_stats()
        found: dict[tuple[str, int, str], Row] = self.profiles[act].stats
        return found

    def calls(self, act: str) -> float:
        return sum(row[1] for row in self.functions(act).values()) / (PROFILED * BATCH)


def measured(worlds: tuple[World, World], rounds: int) -> dict[str, Any]:
    gc.collect()
    gc.freeze()
    for number in range(rounds + PROFILED):
        for act in ACTS:
            for world in worlds if number % 2 else worlds[::-1]:
                world.change(act, counted=number >= rounds)
    small, large = worlds
    return {
        act: {
            "microseconds": [round(world.microseconds(act)) for world in worlds],
            "times": round(large.microseconds(act) / small.microseconds(act), 2),
            "calls": [round(world.calls(act)) for world in worlds],
            "calls_times": round(large.calls(act) / small.calls(act), 3),
        }
        for act in ACTS
    }


def print_growth(worlds: tuple[World, World], act: str, rows: int = 20) -> None:
    small, large = (world.functions(act) for world in worlds)
    nothing: Row = (0, 0, 0.0, 0.0, {})
    each = PROFILED * BATCH
    for column, title, scale in ((1, "calls", 1.0), (2, "microseconds", 1e6)):
        print(f"{title} of {act} for one Deployment: more, small, large")

        def growth(where: tuple[str, int, str], column: int = column) -> float:
            return float(large[where][column] - small.get(where, nothing)[column])

        for where in sorted(large, key=growth, reverse=True)[:rows]:
            found = [float(world.get(where, nothing)[column]) * scale / each for world in (small, large)]
            name = f"{Path(where[0]).name}:{where[1]} {where[2]}"
            print(f"{found[1] - found[0]:>+12.2f}{found[0]:>12.2f}{found[1]:>12.2f}  {name}")


def main() -> None:
    parser = argparse.ArgumentParser(description="What the size of the world adds to the cost of a change.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--small", type=int, default=170)
    parser.add_argument("--large", type=int, default=3000)
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--profile", default="", metavar="ACT", choices=("", *ACTS))
    options = parser.parse_args()
    if (options.rounds + PROFILED) * BATCH > options.small:
        parser.error("each round scales ten more Deployments of the small world: it has too few")
    gc.set_threshold(50_000, 20, 100)  # as runtime/server/process.py does
    worlds = World(options.small, options.nodes), World(options.large, options.nodes)
    objects = [world.objects for world in worlds]
    acts = measured(worlds, options.rounds)
    out = {"bench": "growth", "deployments": [options.small, options.large], "objects": objects, "acts": acts}
    print(json.dumps(out, indent=None if options.json else 1))
    if options.profile:
        print_growth(worlds, options.profile)


if __name__ == "__main__":
    main()
