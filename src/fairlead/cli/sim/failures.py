"""What `fairlead sim run` tells of a failure: its seed, what led to it on one screen, and the command that shows it
again.

The first failure of each invariant is played once more with its trail, shrunk if asked, and kept as an artifact if
asked; others are one line each.
"""

from __future__ import annotations

import argparse
import sys
import time

from fairlead.cli.sim.artifacts import keep_artifact
from fairlead.sim.account import account
from fairlead.sim.cases import case_of
from fairlead.sim.hunt import shrink_case
from fairlead.sim.player import FoundBy, record, trail_of
from fairlead.sim.run import Failure, Runner
from fairlead.sim.sample import replay_command, world_name
from fairlead.sim.search.contract import SearchAttempt
from fairlead.sim.search.roster import UNIFORM

_NOT_PLAYED = ("process-lives",)  # whoever plays it again dies as well


class FailureReport:
    def __init__(self, runner: Runner, options: argparse.Namespace) -> None:
        self._runner, self._options = runner, options
        self._text = options.output == "text"
        self._explained: set[str] = set()
        self.again: dict[tuple[int, str], str] = {}  # by seed and invariant, the command that shows it again

    def add(self, attempt: SearchAttempt, failure: Failure) -> None:
        if self._text and sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        self._say(f"seed {failure.seed}: {failure.invariant}: {failure.message}")
        if failure.drew:
            self._say(f"  drew      {failure.drew}")
        if failure.trace and self._options.seeds == 1:
            self._say(failure.trace.rstrip("\n"))
        if failure.invariant not in self._explained and failure.invariant not in _NOT_PLAYED:
            self._explained.add(failure.invariant)
            self._explain(attempt, failure)
        else:
            self._note_again(attempt, failure, "")
        self._say(f"  again: {self.again[failure.seed, failure.invariant]}")

    def _say(self, line: str) -> None:
        if self._text:
            print(line, flush=True)

    def _note_again(self, attempt: SearchAttempt, failure: Failure, artifact: str) -> None:
        """Only uniform runs follow from their seed alone: another is played from its artifact, or searched again."""
        options = self._options
        if artifact:
            told = f"fairlead sim replay {artifact}"
        elif options.search == UNIFORM:
            told = replay_command(failure.seed, options.plant, options.world)
        else:
            told = replay_command(options.seed, options.plant, options.world)
            told = told.replace("--seeds 1", f"--seeds {options.seeds} --search {options.search}")
            told += f" --jobs {options.jobs}" if options.jobs > 1 else ""
        self.again[failure.seed, failure.invariant] = told

    def _explain(self, attempt: SearchAttempt, failure: Failure) -> None:
        options = self._options
        self._note_again(attempt, failure, "")
        if not self._text and options.artifacts is None:
            return
        if attempt.told:
            self._say(f"  tried     {attempt.told}")
        run = self._runner.attempt(attempt)
        if run.violation is None:
            self._say(
                "  it does not break when it is played again: the run depends on something that is not chance"
            )
            return
        runner = self._runner.at(attempt.seed)
        case, before = case_of(runner.scenario, attempt.faults or runner.faults, run), 0
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
        world = world_name(options.world)
        found = FoundBy(world, failure.seed, attempt.search or options.search, attempt.told, before)
        artifact = record(case, options.plant, found)
        told = account(trail_of(artifact))
        for line in list(told.lines())[1:] if told is not None else ():
            self._say(line)
        if options.artifacts is not None:
            file = keep_artifact(options.artifacts, f"{world}-{failure.invariant}", artifact)
            self._note_again(attempt, failure, str(file))
