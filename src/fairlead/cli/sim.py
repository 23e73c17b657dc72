"""`fairlead sim run`: seeds of the standard world, in virtual time, judged by every checker.

Seeds are spread over processes; what each brings back is a few numbers. Progress goes to a terminal only. A failure is
told with its seed, the invariant and the command that shows it again; the exit code tells whether there was one.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterator
from typing import Any

from fairlead.cli import options as shared
from fairlead.cli.output import print_json
from fairlead.core.errors import UsageError
from fairlead.sim.run import Failure, Runner, SeedResult, Tally
from fairlead.sim.tape import Tape

_EPILOG = """examples:
  fairlead sim run --seeds 100
  fairlead sim run --seeds 1 --seed 4711            one run again
  fairlead sim run --seeds 1000 --jobs 4 -o json
  fairlead sim run --seeds 50 --plant fairlead.sim.zoo.no_read_your_writes:plant

A seed decides every delay, loss, crash and order of a run: the same seed gives the same run, to the last byte.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EPILOG
    actions = parser.add_subparsers(metavar="ACTION", title="actions", required=True, dest="action")
    run = actions.add_parser("run", help="run seeds of the standard world", allow_abbrev=False)
    run.add_argument("--seeds", type=_count, default=20, metavar="N", help="how many (default: 20)")
    run.add_argument("--seed", type=int, default=0, metavar="S", help="the first of them (default: 0)")
    run.add_argument("--jobs", type=_count, default=1, metavar="J", help="processes at once (default: 1)")
    run.add_argument(
        "--plant",
        default="",
        metavar="PACKAGE.MODULE:NAME",
        help="a function that replaces a part of the plane by a faulty one",
    )
    shared.output(run, "text", "json", "trail")
    run.set_defaults(run=_run)


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1 is needed")
    return number


def _run(options: argparse.Namespace) -> int:
    runner = Runner(plant=options.plant)
    if options.output == "trail":
        return _print_trail(runner, options)
    tally = Tally()
    started = time.monotonic()
    shows = options.output == "text" and sys.stderr.isatty()
    for result in _results(runner, options):
        tally.add(result)
        if shows:
            _progress(tally, options.seeds)
        if result.failure is not None and options.output == "text":
            _tell(result.failure, options.plant)
    if shows:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    report = _report(tally, time.monotonic() - started)
    if options.output == "json":
        print_json(report)
    else:
        _summary(report)
    return 1 if tally.failures else 0


def _results(runner: Runner, options: argparse.Namespace) -> Iterator[SeedResult]:
    seeds = range(options.seed, options.seed + options.seeds)
    if options.jobs == 1:
        yield from map(runner.run, seeds)
        return
    runner.wanted()  # once, before it is copied
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
        yield from pool.imap_unordered(runner.run, seeds, chunksize=1)


def _report(tally: Tally, elapsed: float) -> dict[str, Any]:
    failures = sorted(tally.failures, key=lambda failure: failure.seed)
    return {
        "seeds": tally.seeds,
        "failures": [
            {"seed": each.seed, "invariant": each.invariant, "message": each.message} for each in failures
        ],
        "digest": tally.digest,
        "seeds_per_second": round(tally.seeds / elapsed, 2),
        "commits_per_second": round(tally.commits / elapsed, 1),
        "simulated_seconds_per_second": round(tally.seconds / elapsed, 1),
        "faults": dict(sorted(tally.faults.items())),
        "seeds_with_fault": dict(sorted(tally.seeds_with_fault.items())),
        "probes": dict(sorted(tally.probes.items())),
    }


def _summary(report: dict[str, Any]) -> None:
    failed = len(report["failures"])
    print(f"{report['seeds']} seeds, {failed} failed; digest {report['digest']}")
    print(
        f"{report['seeds_per_second']} seeds/s, {report['commits_per_second']} commits/s, "
        f"{report['simulated_seconds_per_second']} simulated seconds/s"
    )
    print("faults: " + ", ".join(f"{label} {fired}" for label, fired in report["faults"].items()))


def _progress(tally: Tally, seeds: int) -> None:
    width = 30
    full = width * tally.seeds // seeds
    bar = "#" * full + "." * (width - full)
    failed = f", {len(tally.failures)} failed" if tally.failures else ""
    print(f"\r\033[K[{bar}] {tally.seeds}/{seeds}{failed}", end="", file=sys.stderr, flush=True)


def _tell(failure: Failure, plant: str) -> None:
    planted = f" --plant {plant}" if plant else ""
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    print(f"seed {failure.seed}: {failure.invariant}: {failure.message}")
    print(f"  again: fairlead sim run --seeds 1 --seed {failure.seed}{planted}", flush=True)


def _print_trail(runner: Runner, options: argparse.Namespace) -> int:
    if options.seeds != 1:
        raise UsageError("a trail is of one seed: add --seeds 1")
    run = runner.play(Tape(options.seed), trail=True)
    for line in run.trail or ():
        print(line)
    print(f"digest {run.digest}")
    return 1 if run.violation else 0
