"""`fairlead sim check`: each seed twice, in fresh processes that hash differently; told is the first step that differs.

What can make two runs of one seed differ is what a process has of its own: the order of sets, addresses, leftovers of
an earlier run. So each run gets a process and a PYTHONHASHSEED of its own and writes its trail into a file; the trails
are compared. Part of `fairlead sim`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fairlead.cli.output import print_json
from fairlead.cli.sim.scenario import choose
from fairlead.core.errors import OperatorError
from fairlead.sim.divergence import Divergence, first_divergence
from fairlead.sim.parts import load_plant
from fairlead.sim.sample import is_file
from fairlead.sim.worlds.roster import STANDARD

HASH_SEEDS = ("1", "2")
_MAIN = "import sys; from fairlead.cli.main import main; sys.exit(main())"
_RAN = (0, 1)  # it came to an end, without a failure or with one


def check(options: argparse.Namespace) -> int:
    choose(options)
    if options.plant:
        load_plant(options.plant)  # told here rather than by two processes
    differences: list[dict[str, Any]] = []
    for seed in range(options.seed, options.seed + options.seeds):
        parted = parts_at(seed, options.plant, options.world)
        if parted is not None:
            differences.append({"seed": seed, "step": parted.step, "one": parted.one, "other": parted.other})
        if options.output == "text":
            print(f"seed {seed}: {parted or 'the same'}", flush=True)
    if options.output == "json":
        print_json({"seeds": options.seeds, "differences": differences})
    return 1 if differences else 0


def parts_at(seed: int, plant: str = "", world: str = STANDARD) -> Divergence | None:
    """Where two fresh processes part on this seed; None if they do the same to the last byte."""
    with TemporaryDirectory(prefix="fairlead-trails-") as folder:
        files = [Path(folder) / hash_seed for hash_seed in HASH_SEEDS]
        processes = [_start(seed, plant, world, file) for file in files]
        for process, complaint in [(each, each.communicate()[1]) for each in processes]:
            if process.returncode not in _RAN or complaint:
                raise OperatorError(f"seed {seed} cannot be run in a process of its own: {complaint.strip()}")
        with files[0].open(encoding="utf-8") as one, files[1].open(encoding="utf-8") as other:
            return first_divergence(_lines(one), _lines(other))


def _start(seed: int, plant: str, world: str, file: Path) -> subprocess.Popen[str]:
    """A fresh process that writes its trail into this file, whose name is its hash seed."""
    words = [
        "sim",
        "run",
        *([world] if is_file(world) else ["--world", world]),
        "--seeds",
        "1",
        "-o",
        "trail",
    ]
    command = [sys.executable, "-P", "-c", _MAIN, *words, "--seed", str(seed)]
    # A plant is found there where it is found here.
    environment = {**os.environ, "PYTHONHASHSEED": file.name, "PYTHONPATH": os.pathsep.join(sys.path)}
    with file.open("wb") as trail:
        return subprocess.Popen(
            [*command, "--plant", plant] if plant else command,
            env=environment,
            stdout=trail,
            stderr=subprocess.PIPE,
            text=True,
        )


def _lines(file: Iterator[str]) -> Iterator[str]:
    return (line.rstrip("\n") for line in file)
