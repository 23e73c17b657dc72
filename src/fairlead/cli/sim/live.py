"""`fairlead sim from`: a simulated world of a plane that runs, at one revision, and what it does by itself from there.

Nothing of the plane is touched. With `--save` the state is kept in a file, from which `fairlead forecast --from` looks
ahead as well, later or elsewhere: Secrets and Events are not in it, all else is.

Of a captured incident: the world as it was at its beginning; with `--seeds` what people did is done again, under faults
(`sim/incident.py`).
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fairlead.cli import options as shared
from fairlead.cli.client import connect
from fairlead.cli.forecast import add_until, parse_until
from fairlead.cli.live_state import load, read_live, save
from fairlead.cli.output import hint, print_json, print_table
from fairlead.cli.sim.artifacts import add_folder, keep_artifact, load_artifact, make_folder
from fairlead.cli.sim.neighbours import run_neighbours
from fairlead.core.errors import UsageError
from fairlead.replay.artifact import LIVE, Artifact
from fairlead.sim.cases import case_of
from fairlead.sim.chance import Chance
from fairlead.sim.incident import NAME, runner_of, state_of
from fairlead.sim.player import FoundBy, record
from fairlead.sim.preview.preview import look_ahead
from fairlead.sim.preview.state import LiveState
from fairlead.sim.run import RunTally

_ACTS_SHOWN = 30
_HEAD = b'{"head":'


def configure_from(actions: Any) -> None:
    parser: argparse.ArgumentParser = actions.add_parser(
        "from", help="run a world of a live plane's objects ahead, or of a file of them", allow_abbrev=False
    )
    parser.add_argument(
        "file",
        type=Path,
        nargs="?",
        metavar="FILE",
        help="a saved state, or an incident that was captured (default: the live plane)",
    )
    parser.add_argument(
        "--seeds",
        type=shared.parse_whole,
        default=0,
        metavar="N",
        help="of an incident: what people did again, so many times, with faults (default: none, look ahead)",
    )
    parser.add_argument(
        "--neighbours",
        type=shared.parse_whole,
        default=0,
        metavar="N",
        help="of an incident: so many like it, with other tenants, zones and times, and how many of them fail",
    )
    parser.add_argument(
        "--seed", type=shared.parse_whole, default=0, metavar="S", help="the first of them (default: 0)"
    )
    parser.add_argument(
        "--plant",
        default="",
        metavar="PACKAGE.MODULE:NAME",
        help="run them with a part of the plane replaced",
    )
    add_folder(parser, "invariant's first failure")
    parser.add_argument("--save", type=Path, metavar="FILE", help="keep the state that was read")
    add_until(parser)
    shared.add_client_options(parser, _run, "text", "json")


def _run(options: argparse.Namespace) -> int:
    until, began = parse_until(options.until), time.monotonic()
    incident = _incident(options.file) if options.file is not None else None
    if (options.seeds or options.neighbours) and incident is None:
        raise UsageError(
            "--seeds and --neighbours are for an incident: capture one with `fairlead incident capture`"
        )
    if options.neighbours and incident is not None:
        return run_neighbours(incident, options)
    if options.seeds and incident is not None:
        return _run_seeds(incident, options)
    if incident is not None:
        state = state_of(incident)
    elif options.file is not None:
        state = load(options.file)
    else:
        with closing(connect(options.kubeconfig)) as client:
            read = read_live(client)
        state = read.state
        if read.unseen:
            hint(f"you may not list {', '.join(read.unseen)}: they are not in it")
    if options.save is not None:
        save(state, options.save)
    return _look_ahead(state, until, began, options)


def _look_ahead(state: LiveState, until: float, began: float, options: argparse.Namespace) -> int:
    ahead = look_ahead(state, until)
    counts = Counter(key.resource for key, _ in state.objects)
    if options.output == "json":
        print_json({"revision": state.revision, "objects": dict(sorted(counts.items())), **asdict(ahead)})
        return 0
    print(f"{len(state.objects)} objects at revision {state.revision}")
    if not ahead.acts:
        print("at rest: nothing happens by itself")
    else:
        how = (
            f"settles after {ahead.seconds:g} s"
            if ahead.settled
            else f"has not settled after {ahead.seconds:g} s"
        )
        print(f"{how}; what happens by itself:")
        rows = [
            (f"+{each.seconds:.1f}s", each.by, each.does, f"{each.count} {each.kind}", each.of)
            for each in ahead.acts[:_ACTS_SHOWN]
        ]
        print_table(("AT", "BY", "DOES", "WHAT", "OF"), rows)
        if len(ahead.acts) > _ACTS_SHOWN:
            print(f"... and {len(ahead.acts) - _ACTS_SHOWN} lines more: -o json has all")
    hint(f"looked at in {time.monotonic() - began:.1f} s")
    return 0


def _incident(file: Path) -> Artifact | None:
    """None: it is a saved state, or nothing that can be read, which is said later."""
    try:
        with file.open("rb") as opened:
            if not opened.read(len(_HEAD)).startswith(_HEAD):
                return None
    except OSError:
        return None
    found = load_artifact(file)
    if found.head.origin != LIVE:
        raise UsageError(f"{file} is of the simulator: `fairlead sim replay` plays it again")
    return found


def _run_seeds(incident: Artifact, options: argparse.Namespace) -> int:
    make_folder(options.artifacts)
    runner, tally, kept = runner_of(incident, options.plant), RunTally(), dict[str, str]()
    for seed in range(options.seed, options.seed + options.seeds):
        result = runner.run(seed)
        tally.add(result)
        failure = result.failure
        if failure is None:
            continue
        if options.output == "text":
            print(f"seed {seed}: {failure.invariant}: {failure.message}")
        if options.artifacts is not None and failure.invariant not in kept:
            case = case_of(runner.scenario, runner.faults, runner.play(Chance(seed)))
            made = record(case, options.plant, FoundBy(NAME, seed), runner.backup())
            kept[failure.invariant] = str(
                keep_artifact(options.artifacts, f"{NAME}-{failure.invariant}", made)
            )
    steps = len(runner.scenario.steps)
    if options.output == "json":
        failures = [
            {
                "seed": each.seed,
                "invariant": each.invariant,
                "message": each.message,
                "artifact": kept.get(each.invariant),
            }
            for each in tally.failures
        ]
        told = {"seeds": tally.seeds, "steps": steps, "failures": failures, "faults": tally.faults}
        print_json({**told, "commits": tally.commits, "digest": tally.digest})
    else:
        print(
            f"{tally.seeds} seeds of the incident ({steps} things that people did), {len(tally.failures)} failed;"
            f" digest {tally.digest}"
        )
        print_table(("FAULT", "FIRED"), sorted(tally.faults.items()))
        for file in kept.values():
            hint(f"fairlead sim replay {file}")
    return 1 if tally.failures else 0
