"""`fairlead sim from FILE --neighbours N`: incidents like one that was captured, and the share of them that fails."""

from __future__ import annotations

import argparse
from collections import Counter

from fairlead.cli.output import hint, print_json
from fairlead.cli.sim.artifacts import keep_artifact, make_folder
from fairlead.replay.artifact import Artifact
from fairlead.sim.cases import case_of
from fairlead.sim.chance import Chance
from fairlead.sim.incident import NAME, runner_of
from fairlead.sim.player import FoundBy, record


def run_neighbours(incident: Artifact, options: argparse.Namespace) -> int:
    """Each with faults of its own: of as many seeds as --seeds says, one if it says nothing."""
    make_folder(options.artifacts)
    broken: Counter[str] = Counter()
    kept: dict[str, str] = {}
    failures = []
    for number in range(1, options.neighbours + 1):
        runner = runner_of(incident, options.plant, number=number)
        for seed in range(options.seed, options.seed + max(1, options.seeds)):
            failure = runner.run(seed).failure
            if failure is None:
                continue
            broken[failure.invariant] += 1
            failures.append(
                {
                    "neighbour": number,
                    "seed": seed,
                    "invariant": failure.invariant,
                    "message": failure.message,
                }
            )
            if options.output == "text":
                print(f"neighbour {number}, seed {seed}: {failure.invariant}: {failure.message}")
            if options.artifacts is not None and failure.invariant not in kept:
                case = case_of(runner.scenario, runner.faults, runner.play(Chance(seed)))
                made = record(case, options.plant, FoundBy(NAME, seed), runner.backup())
                file = keep_artifact(options.artifacts, f"{NAME}-{failure.invariant}", made)
                kept[failure.invariant] = str(file)
            break
    failed = len(failures)
    share = failed / options.neighbours
    if options.output == "json":
        told = {"neighbours": options.neighbours, "failed": failed, "share": share, "failures": failures}
        print_json({**told, "invariants": dict(sorted(broken.items())), "artifacts": kept})
    else:
        print(f"{failed} of {options.neighbours} neighbours fail ({share:.0%})")
        for artifact in kept.values():
            hint(f"fairlead sim replay {artifact}")
    return 1 if failed else 0
