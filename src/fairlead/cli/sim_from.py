"""`fairlead sim from`: a simulated world of a plane that runs, at one revision, and what it does by itself from there.

Nothing of the plane is touched. With `--save` the state is kept in a file, from which `fairlead forecast --from` looks
ahead as well, later or elsewhere: Secrets and Events are not in it, all else is.
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
from fairlead.sim.preview.preview import look_ahead

_ACTS_SHOWN = 30


def configure_from(actions: Any) -> None:
    parser: argparse.ArgumentParser = actions.add_parser(
        "from", help="run a world of a live plane's objects ahead, or of a file of them", allow_abbrev=False
    )
    parser.add_argument(
        "file", type=Path, nargs="?", metavar="FILE", help="a saved state (default: the live plane)"
    )
    parser.add_argument("--save", type=Path, metavar="FILE", help="keep the state that was read")
    add_until(parser)
    shared.add_client_options(parser, _run, "text", "json")


def _run(options: argparse.Namespace) -> int:
    until, began = parse_until(options.until), time.monotonic()
    if options.file is not None:
        state = load(options.file)
    else:
        with closing(connect(options.kubeconfig)) as client:
            read = read_live(client)
        state = read.state
        if read.unseen:
            hint(f"you may not list {', '.join(read.unseen)}: they are not in it")
    if options.save is not None:
        save(state, options.save)
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
