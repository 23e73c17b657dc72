"""`fairlead sim run`: seeds of the standard world, in virtual time, judged by every checker.

Seeds are spread over processes; what each brings back is a few numbers. Progress goes to a terminal only. A failure is
told with its seed, the invariant and the command that shows it again; the exit code tells whether there was one.
With `--strict` it also tells whether the seeds met what a sample must meet (`sim/sample.py`).
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from fairlead.cli import options as shared
from fairlead.cli.output import print_json, print_table
from fairlead.cli.sim_check import check
from fairlead.core.errors import UsageError
from fairlead.runtime.seeds import run_in_processes
from fairlead.sim.chance import Chance
from fairlead.sim.generate.runner import NAMES, runner_of
from fairlead.sim.run import Failure, Runner, RunTally
from fairlead.sim.sample import SHARE_MIN, fault_lines, probe_lines, replay_command, report
from fairlead.sim.worlds.roster import STANDARD

_EPILOG = """examples:
  fairlead sim run --seeds 100
  fairlead sim run --seeds 1 --seed 4711            one run again
  fairlead sim run --seeds 1000 --jobs 4 -o json
  fairlead sim run --seeds 50 --world fraud-batch   a workload of three with one unknown binding
  fairlead sim run --seeds 500 --world small        a world of a few objects for each seed
  fairlead sim run --seeds 50 --plant fairlead.sim.zoo.no_read_your_writes:plant
  fairlead sim check --seeds 3                      is a seed the same in every process?

A seed decides every delay, loss, crash and order of a run: the same seed gives the same run, to the last byte.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EPILOG
    actions = parser.add_subparsers(metavar="ACTION", title="actions", required=True, dest="action")
    run = actions.add_parser("run", help="run seeds of a world", allow_abbrev=False)
    _seeds(run, 20)
    run.add_argument("--jobs", type=_count, default=1, metavar="J", help="processes at once (default: 1)")
    run.add_argument(
        "--strict",
        action="store_true",
        help="fail as well if the seeds met too little: a kind of fault in under 1 %% of them, a probe in none",
    )
    shared.add_output(run, "text", "json", "trail")
    run.set_defaults(run=_run)
    twice = actions.add_parser(
        "check", help="run each seed in two fresh processes and show where they part", allow_abbrev=False
    )
    _seeds(twice, 1)
    shared.add_output(twice, "text", "json")
    twice.set_defaults(run=check)


def _seeds(parser: argparse.ArgumentParser, default: int) -> None:
    parser.add_argument(
        "--seeds", type=_count, default=default, metavar="N", help=f"how many (default: {default})"
    )
    parser.add_argument(
        "--seed", type=shared.parse_whole, default=0, metavar="S", help="the first of them (default: 0)"
    )
    parser.add_argument(
        "--world",
        choices=NAMES,
        default=STANDARD,
        help=f"the world they are of (default: {STANDARD})",
    )
    parser.add_argument(
        "--plant",
        default="",
        metavar="PACKAGE.MODULE:NAME",
        help="a function that replaces a part of the plane by a faulty one",
    )


def _count(text: str) -> int:
    number = shared.parse_whole(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1 is needed")
    return number


def _run(options: argparse.Namespace) -> int:
    runner = runner_of(options.world, options.plant)
    if options.output == "trail":
        return _print_trail(runner, options)
    tally = RunTally()
    started = time.monotonic()
    shows = options.output == "text" and sys.stderr.isatty()
    seeds = range(options.seed, options.seed + options.seeds)
    for result in run_in_processes(runner, seeds, options.jobs):
        tally.add(result)
        if shows:
            _progress(tally, options.seeds)
        if result.failure is not None and options.output == "text":
            _tell(result.failure, options)
    if shows:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    told = report(tally, runner.faults, time.monotonic() - started, options.plant, options.world)
    if options.output == "json":
        print_json(told)
    else:
        _summary(told, tally, runner, options.strict)
    return 1 if told["failures"] or (options.strict and told["shortfalls"]) else 0


def _summary(told: dict[str, Any], tally: RunTally, runner: Runner, strict: bool) -> None:
    print(f"{told['seeds']} seeds, {len(told['failures'])} failed; digest {told['digest']}")
    print(
        f"{told['seeds_per_second']} seeds/s, {told['commits_per_second']} commits/s, "
        f"{told['simulated_seconds_per_second']} simulated seconds/s\n"
    )
    lines = fault_lines(tally, runner.faults)
    rows = [(line.kind, line.fired, line.seeds, f"{line.share:.1%}") for line in lines]
    print_table(("FAULT", "FIRED", "SEEDS", "SHARE"), rows)
    print()
    print_table(("PROBE", "HITS"), [(line.probe, line.hits) for line in probe_lines(tally)])
    # Nobody expects everything of a handful of seeds, unless it was asked for.
    if told["shortfalls"] and (strict or tally.seeds * SHARE_MIN >= 1):
        print("\ntoo little was met to prove much:")
        for sentence in told["shortfalls"]:
            print(f"  {sentence}")


def _progress(tally: RunTally, seeds: int) -> None:
    width = 30
    full = width * tally.seeds // seeds
    bar = "#" * full + "." * (width - full)
    failed = f", {len(tally.failures)} failed" if tally.failures else ""
    print(f"\r\033[K[{bar}] {tally.seeds}/{seeds}{failed}", end="", file=sys.stderr, flush=True)


def _tell(failure: Failure, options: argparse.Namespace) -> None:
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    print(f"seed {failure.seed}: {failure.invariant}: {failure.message}")
    if failure.trace and options.seeds == 1:
        print(failure.trace, end="")
    if failure.drew:
        print(f"  drew: {failure.drew}")
    print(f"  again: {replay_command(failure.seed, options.plant, options.world)}", flush=True)


def _print_trail(runner: Runner, options: argparse.Namespace) -> int:
    if options.seeds != 1:
        raise UsageError("a trail is of one seed: add --seeds 1")
    run = runner.play(Chance(options.seed), trail=True)
    for line in run.trail or ():
        print(line)
    print(f"digest {run.digest}")
    return 1 if run.violation else 0
