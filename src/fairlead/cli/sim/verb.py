"""`fairlead sim run`: seeds of a world or of a scenario file, in virtual time, judged by every checker.

Seeds are spread over processes; what each brings back is a few numbers. Progress goes to a terminal only. A failure is
told with what led to it (`failures.py`), and kept as an artifact where `--artifacts` says; the exit code tells
whether there was one. `--search` chooses how runs are picked, `--shrink` makes a failure as small as can be. With
`--strict` it also tells whether the seeds met what a sample must meet (`sim/sample.py`).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from typing import Any

from fairlead.cli import options as shared
from fairlead.cli.output import print_json, print_table
from fairlead.cli.sim.artifacts import add_folder, make_folder, parse_seconds
from fairlead.cli.sim.check import check
from fairlead.cli.sim.failures import FailureReport
from fairlead.cli.sim.files import configure_files
from fairlead.cli.sim.live import configure_from
from fairlead.cli.sim.scenario import add_world, choose, verdict
from fairlead.cli.sim.zoo import configure_zoo
from fairlead.core.errors import UsageError
from fairlead.runtime.searching import search_in_processes
from fairlead.runtime.seeds import run_in_processes
from fairlead.sim.chance import Chance
from fairlead.sim.run import Runner, RunTally, SeedResult
from fairlead.sim.sample import SHARE_MIN, fault_lines, probe_lines, report
from fairlead.sim.search.contract import SearchAttempt
from fairlead.sim.search.roster import SEARCHES, UNIFORM

EPILOG = """examples:
  fairlead sim run --seeds 100
  fairlead sim run --seeds 1 --seed 4711            one run again
  fairlead sim run --seeds 1000 --jobs 4 -o json
  fairlead sim run --seeds 50 --world fraud-batch   a workload of three with one unknown binding
  fairlead sim run examples/scenarios/seed-82219.yaml   a scenario of your own
  fairlead sim run --seeds 500 --world small        a world of a few objects for each seed
  fairlead sim run --seeds 50 --plant fairlead.sim.zoo.no_read_your_writes:plant
  fairlead sim run --seeds 500 --search planned     crash after each write, freeze views, hide transitions
  fairlead sim run --world refused --plant fairlead.sim.zoo.zombie_leader:plant --shrink --artifacts found
  fairlead sim replay found/refused-one-leader.jsonl    the same run again, to the byte
  fairlead sim show found/refused-one-leader.jsonl --html page.html
  fairlead sim zoo --jobs 2                         is every planted bug found?
  fairlead sim check --seeds 3                      is a seed the same in every process?
  fairlead sim from --save state.jsonl              a world of a plane that runs, and what it does by itself

A seed decides every delay, loss, crash and order of a run: the same seed gives the same run, to the last byte.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", title="actions", required=True, dest="action")
    run = actions.add_parser("run", help="run seeds of a world", allow_abbrev=False)
    _seeds(run, 20)
    run.add_argument("--jobs", type=_count, default=1, metavar="J", help="processes at once (default: 1)")
    run.add_argument(
        "--search",
        choices=sorted(SEARCHES),
        default=UNIFORM,
        help=f"how runs are picked; --seeds is then how many (default: {UNIFORM})",
    )
    run.add_argument(
        "--shrink",
        nargs="?",
        type=parse_seconds,
        const=60.0,
        default=0.0,
        metavar="SECONDS",
        help="make the first failure of each invariant as small as can be, in so much processor time (60)",
    )
    add_folder(run, "invariant's first failure")
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
    configure_files(actions)
    configure_zoo(actions)
    configure_from(actions)


def _seeds(parser: argparse.ArgumentParser, default: int) -> None:
    parser.add_argument("--seeds", type=_count, metavar="N", help=f"how many (default: {default})")
    parser.add_argument("--seed", type=shared.parse_whole, metavar="S", help="the first of them (default: 0)")
    add_world(parser, default)


def _count(text: str) -> int:
    number = shared.parse_whole(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1 is needed")
    return number


def _run(options: argparse.Namespace) -> int:
    chosen = choose(options)
    runner = chosen.runner
    if options.output == "trail":
        return _print_trail(runner, options)
    make_folder(options.artifacts)
    tally = RunTally()
    started = time.monotonic()
    shows = options.output == "text" and sys.stderr.isatty()
    failures = FailureReport(runner, options)
    for attempt, result in _tried(runner, options):
        tally.add(result)
        if shows:
            _progress(tally, options.seeds, time.monotonic() - started)
        if result.failure is not None:
            failures.add(attempt, result.failure)
    if shows:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    told = report(tally, runner.faults, time.monotonic() - started, options.plant, options.world)
    for each in told["failures"]:
        each["again"] = failures.again.get((each["seed"], each["invariant"]), each["again"])
    as_expected, sentence = verdict(chosen.breaks, tally)
    if options.output == "json":
        print_json({**told, "as_expected": as_expected})
    else:
        _summary(told, tally, runner, options)
        if sentence:
            print(f"\n{sentence}")
    return 0 if as_expected and not (options.strict and told["shortfalls"]) else 1


def _tried(runner: Runner, options: argparse.Namespace) -> Iterator[tuple[SearchAttempt, SeedResult]]:
    if options.search != UNIFORM:
        yield from search_in_processes(runner, options.search, options.seed, options.seeds, options.jobs)
        return
    seeds = range(options.seed, options.seed + options.seeds)
    for result in run_in_processes(runner, seeds, options.jobs):
        yield SearchAttempt(result.seed), result


def _summary(told: dict[str, Any], tally: RunTally, runner: Runner, options: argparse.Namespace) -> None:
    print(f"{told['seeds']} seeds, {len(told['failures'])} failed; digest {told['digest']}")
    if tally.seeds < options.seeds:
        print(f"the search has nothing more to try: {tally.seeds} runs were all there are")
    print(
        f"{told['seeds_per_second']} seeds/s, {told['commits_per_second']} commits/s, "
        f"{told['simulated_seconds_per_second']} simulated seconds/s\n"
    )
    if options.file is not None:  # a story of its own, which need not have everything in it
        print_table(("FAULT", "FIRED"), sorted(tally.faults.items()))
        return
    lines = fault_lines(tally, runner.faults)
    rows = [(line.kind, line.fired, line.seeds, f"{line.share:.1%}") for line in lines]
    print_table(("FAULT", "FIRED", "SEEDS", "SHARE"), rows)
    print()
    print_table(("PROBE", "HITS"), [(line.probe, line.hits) for line in probe_lines(tally)])
    # Nobody expects everything of a handful of seeds, unless it was asked for.
    if told["shortfalls"] and (options.strict or tally.seeds * SHARE_MIN >= 1):
        print("\ntoo little was met to prove much:")
        for sentence in told["shortfalls"]:
            print(f"  {sentence}")


def _progress(tally: RunTally, seeds: int, elapsed: float) -> None:
    width = 30
    full = width * tally.seeds // seeds
    bar = "#" * full + "." * (width - full)
    met = [line.hits > 0 for line in probe_lines(tally)]
    told = [f"{tally.seeds}/{seeds}", f"{tally.seeds / max(elapsed, 1e-3):.1f}/s"]
    told += [f"{sum(met)}/{len(met)} probes", f"{len(tally.failures)} failed"]
    print(f"\r\033[K[{bar}] {', '.join(told)}", end="", file=sys.stderr, flush=True)


def _print_trail(runner: Runner, options: argparse.Namespace) -> int:
    if options.seeds != 1:
        raise UsageError("a trail is of one seed: add --seeds 1")
    run = runner.at(options.seed).play(Chance(options.seed), trail=True)
    for line in run.trail or ():
        print(line)
    print(f"digest {run.digest}")
    return 1 if run.violation else 0
