"""The long run of the simulator: 20,000 seeds of `std20`, then each plant of the zoo in seeds 0-999. Writes JSON.

Run: .venv/bin/python bench/soak.py [--seeds N] [--jobs J] [--seconds S] [--file FILE] [--afresh]

The file is written after every chunk of seeds, and a later run of the same sources goes on where it ends: interrupt it
whenever you like, or let it stop by itself with --seconds (exit code 75: there is more to do). Whether sources are the
same is told by a hash over them, so a commit in between that changes none of them does no harm.
"""

from __future__ import annotations

import argparse
import json
import os
import pkgutil
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import fairlead
from fairlead.runtime.seeds import run_in_processes
from fairlead.sim import zoo
from fairlead.sim.run import Runner, Tally
from fairlead.sim.sample import report, tally_of
from fairlead.sim.worlds.roster import STANDARD, WORLDS

ROOT = Path(__file__).parent.parent
RESULT = ROOT / "bench" / "results" / "sim-std20-soak.json"
SEEDS, PLANT_SEEDS, CHUNK = 20_000, 1_000, 100
MORE_TO_DO = 75

Json = dict[str, Any]


class OutOfTimeError(Exception):
    """The seconds of this run are over."""


class Soak:
    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._until = time.monotonic() + options.seconds if options.seconds else float("inf")
        self._sources = sources()
        self._world = Runner().scenario.name
        self.told = self._begun()

    def _begun(self) -> Json:
        """What a former run of the same sources left, or nothing."""
        if self._options.file.exists() and not self._options.afresh:
            told: Json = json.loads(self._options.file.read_text())
            if told["sources"] == self._sources:
                return told
        return {}

    def seeds(self) -> None:
        runner = Runner()
        tally = tally_of(self.told) if self.told else Tally()
        elapsed = self.told.get("elapsed_seconds", 0.0)
        for chunk in chunks(tally.seeds, self._options.seeds, CHUNK):
            self._check_time()
            started = time.monotonic()
            for result in run_in_processes(runner, chunk, self._options.jobs):
                tally.add(result)
                if result.failure is not None:
                    failure = result.failure
                    say(f"seed {failure.seed}: {failure.invariant}: {failure.message}")
            elapsed += time.monotonic() - started
            self._write({**report(tally, runner.faults, elapsed), "plants": self.told.get("plants", {})})
            say(
                f"{tally.seeds}/{self._options.seeds} seeds, {len(tally.failures)} failures, "
                f"{self.told['seeds_per_second']} seeds/s"
            )

    def plants(self) -> None:
        for name in sorted({module.name for module in pkgutil.iter_modules(zoo.__path__)} - {"wrapping"}):
            if name not in self.told["plants"]:
                found = self._search(name)
                self._write({**self.told, "plants": {**self.told["plants"], name: found}})
                say(f"plant {name}: {found}")

    def _search(self, name: str) -> Json | None:
        """The first seed that finds it, and by which invariant."""
        scenario, faults = WORLDS[zoo.WORLD_OF.get(name, STANDARD)]
        runner = Runner(scenario(), faults, plant=f"fairlead.sim.zoo.{name}:plant")
        for chunk in chunks(0, PLANT_SEEDS, 4 * self._options.jobs):
            self._check_time()
            results = run_in_processes(runner, chunk, self._options.jobs)
            failures = {each.seed: each.failure for each in results if each.failure is not None}
            if failures:
                first = failures[min(failures)]
                return {"seed": first.seed, "invariant": first.invariant}
        return None

    def _check_time(self) -> None:
        if time.monotonic() > self._until:
            raise OutOfTimeError

    def _write(self, told: Json) -> None:
        head = {
            "world": self._world,
            "commit": commit(),
            "sources": self._sources,
            "python": platform.python_version(),
            "jobs": self._options.jobs,
        }
        self.told = {**head, **{name: value for name, value in told.items() if name not in head}}
        file = self._options.file
        file.parent.mkdir(parents=True, exist_ok=True)
        beside = file.with_suffix(".new")
        beside.write_text(json.dumps(self.told, indent=2) + "\n")
        beside.replace(file)


def chunks(start: int, end: int, size: int) -> Iterator[range]:
    for first in range(start, end, size):
        yield range(first, min(first + size, end))


def sources() -> str:
    """A hash over everything that a run depends on."""
    package = Path(fairlead.__file__).parent
    files = sorted(each for each in package.rglob("*") if each.is_file() and "__pycache__" not in each.parts)
    total = blake2b(digest_size=16)
    for each in files:
        total.update(f"{each.relative_to(package)}\0".encode() + blake2b(each.read_bytes()).digest())
    return total.hexdigest()


def commit() -> str:
    """Of the checkout, with a mark if the sources are not as committed."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--", "src")
    return git("rev-parse", "HEAD") + (" with changes" if changed else "")


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--seconds", type=float, default=0.0, help="stop after this long; 0: when all is done"
    )
    parser.add_argument("--file", type=Path, default=RESULT)
    parser.add_argument("--afresh", action="store_true", help="do not go on with what the file holds")
    options = parser.parse_args()
    soak = Soak(options)
    try:
        soak.seeds()
        soak.plants()
    except OutOfTimeError:
        say(f"there is more to do: run this again; so far: {options.file}")
        return MORE_TO_DO
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
