"""What `fairlead sim run` tells of a failure: its seed, what led to it on one screen, and the command that shows it
again.

The first failure of each invariant is played once more with its trail, shrunk if asked, and kept as an artifact if
asked; others are one line each.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from fairlead.replay.artifact import Artifact, write_artifact
from fairlead.sim.account import account
from fairlead.sim.cases import case_of
from fairlead.sim.hunt import shrink_case
from fairlead.sim.player import FoundBy, record, trail_of
from fairlead.sim.run import Failure, Runner
from fairlead.sim.sample import replay_command
from fairlead.sim.search.contract import Attempt
from fairlead.sim.search.roster import UNIFORM

_NOT_PLAYED = ("process-lives",)  # whoever plays it again dies as well


class FailureReport:
    def __init__(self, runner: Runner, options: argparse.Namespace) -> None:
        self._runner, self._options = runner, options
        self._text = options.output == "text"
        self._explained: set[str] = set()

    def add(self, attempt: Attempt, failure: Failure) -> None:
        if self._text and sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        self._say(f"seed {failure.seed}: {failure.invariant}: {failure.message}")
        if failure.trace and self._options.seeds == 1:
            self._say(failure.trace.rstrip("\n"))
        if failure.invariant not in self._explained and failure.invariant not in _NOT_PLAYED:
            self._explained.add(failure.invariant)
            self._explain(attempt, failure)
        self._say(f"  again: {self._again(attempt, failure)}")

    def _say(self, line: str) -> None:
        if self._text:
            print(line, flush=True)

    def _again(self, attempt: Attempt, failure: Failure) -> str:
        options = self._options
        if options.search == UNIFORM:
            return replay_command(failure.seed, options.plant, options.world)
        return f"{attempt.told}; keep it with --artifacts DIR, and play it with fairlead sim replay"

    def _explain(self, attempt: Attempt, failure: Failure) -> None:
        options = self._options
        if not self._text and options.artifacts is None:
            return
        run = self._runner.attempt(attempt)
        if run.violation is None:
            self._say(
                "  it does not break when it is played again: the run depends on something that is not chance"
            )
            return
        case, before = case_of(self._runner.scenario, attempt.faults or self._runner.faults, run), 0
        shrunk = (
            shrink_case(case, options.plant, run, time.process_time, options.shrink)
            if options.shrink
            else None
        )
        if shrunk is not None:
            case, before = shrunk.case, shrunk.size_before
            self._say(
                f"  shrunk    from {before} choices and steps to {case.size}, {case.faults} of them faults"
            )
        found = FoundBy(options.world, failure.seed, options.search, attempt.told, before)
        artifact = record(case, options.plant, found)
        told = account(trail_of(artifact))
        for line in list(told.lines())[1:] if told is not None else ():
            self._say(line)
        if options.artifacts is not None:
            self._keep(options.artifacts, f"{options.world}-{failure.invariant}.jsonl", artifact)

    def _keep(self, folder: Path, name: str, artifact: Artifact) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(write_artifact(artifact))
        self._say(f"  artifact  {folder / name}")
