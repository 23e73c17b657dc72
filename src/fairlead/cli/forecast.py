"""`fairlead forecast`: what a change would lead to, seen by running the plane's own code ahead of time. Nothing is
written.

The state of the plane is read at one revision, and a world is made of it in this process: server, controllers and
scheduler as they are, nodes that behave, virtual time. It is run without the change and with it; what differs is told.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.cli import options as shared
from fairlead.cli.client import connect
from fairlead.cli.output import hint, print_json, print_table
from fairlead.core.errors import UsageError

if TYPE_CHECKING:
    from fairlead.sim.preview.difference import Act, PreviewDifference

_ACTS_SHOWN = 30
EPILOG = """examples:
  fairlead forecast -f edit.yaml                  an edit, as far as the file has fields, or a new object
  fairlead forecast --delete pod/web-0 -n shop    whether somebody makes it again, and when
  fairlead forecast --drain zone/eu-west-a        where its pods would go, and what would wait
  fairlead forecast -f edit.yaml --from state.jsonl   from a state that `fairlead sim from --save` kept
  fairlead forecast -f edit.yaml -o json | jq .fights

Nothing is written. Exit code 0: nobody undoes it and nothing new waits; 1: somebody does, something does, or it would
be refused. New pods are taken to start within a second and to become ready, except those of owners none of whose pods
is ready now; containers of Jobs go on running. Nodes that are not ready stay so. Secrets and Events are not read.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-f", "--filename", metavar="FILE", action="append", default=[],
        help="objects to create, or fields to change of those that exist; - is standard input",
    )  # fmt: skip
    parser.add_argument(
        "--delete", metavar="KIND/NAME", action="append", default=[], help="an object to delete"
    )
    parser.add_argument(
        "--drain", metavar="WHAT", action="append", default=[],
        help="node/NAME, zone/NAME, region/NAME or pool/NAME: cordon, and evict within budgets",
    )  # fmt: skip
    add_until(parser)
    parser.add_argument(
        "--from", dest="state", type=Path, metavar="FILE", help="a state that was saved, instead of now"
    )
    shared.add_namespace(
        parser, "namespace of objects that name none (default: the kubeconfig's, or default)"
    )
    shared.add_client_options(parser, run, "table", "json")


def add_until(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--until", metavar="DURATION", default="10m", help="how far to look ahead at most (default: 10m)"
    )


def parse_until(text: str) -> float:
    from fairlead.core.times import SECOND, parse_duration

    try:
        seconds = parse_duration(text) / SECOND
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 24 * 3600:
        raise UsageError(f'--until "{text}": give a duration up to 24h, such as 90s or 10m')
    return seconds


def run(options: argparse.Namespace) -> int:
    import gc

    gc.disable()  # what is made here lives as long as the command
    from fairlead.cli.changes import change_of
    from fairlead.cli.live_state import load, read_live
    from fairlead.sim.preview.preview import preview

    until, began = parse_until(options.until), time.monotonic()
    with closing(connect(options.kubeconfig)) as client:
        namespace = options.namespace or client.target.namespace
        if options.state is not None:
            state = load(options.state)
        else:
            read = read_live(client)
            state = read.state
            if read.unseen:
                hint(f"you may not list {', '.join(read.unseen)}: what depends on them is not foreseen")
        change = change_of(client, state, options.filename, options.delete, options.drain, namespace)
    found = preview(state, change, until)
    if options.output == "json":
        print_json({**found.as_json(), "took_seconds": round(time.monotonic() - began, 3)})
    else:
        print_difference(found)
        hint(
            f"{len(state.objects)} objects at revision {state.revision}, looked at in {time.monotonic() - began:.1f} s;"
            " nothing was written"
        )
    undone = any(each.verdict != "reacts" for each in found.fights)
    return 1 if undone or found.pending or found.refused else 0


def print_difference(found: PreviewDifference) -> None:
    """Also what the dry run of an override shows."""
    how = (
        f"settles after {found.seconds:g} s"
        if found.settled
        else f"has not settled after {found.seconds:g} s"
    )
    print(f"{found.told}: {how}")
    for refused in found.refused[:5]:
        print(f"would be refused ({refused.status}): {refused.what}: {refused.message}")
    if len(found.refused) > 5:
        print(f"and {len(found.refused) - 5} more would be refused")
    for warning in found.warnings:
        print(f"warning: {warning}")
    if found.fights:
        print("\nwhom it meets:")
        print_table(
            ("EDIT", "CONTROLLER", "SEEN", "WHAT IT WILL DO"),
            [(each.edit, each.controller, _at(each.seconds), each.does) for each in found.fights],
        )
    if found.acts:
        print("\nwhat happens then:")
        rows = [
            (
                each.seconds,
                each.last,
                each.by,
                each.does,
                f"{each.count} {each.kind}",
                _of(each.namespace, each.of),
            )
            for each in found.acts
        ]
        if len(rows) > _ACTS_SHOWN:
            rows = _together(found.acts)
        shown = [(_span(first, last), *rest) for first, last, *rest in rows[:_ACTS_SHOWN]]
        print_table(("AT", "BY", "DOES", "WHAT", "OF"), shown)
        if len(rows) > len(shown):
            print(f"... and {len(rows) - len(shown)} lines more: -o json has all")
    _print_workloads(found)
    if found.room:
        print("\nroom for new pods:")
        print_table(
            ("ZONE", "RESOURCE", "WITHOUT", "WITH"),
            [(each.zone, each.resource, amount(each.resource, each.without), amount(each.resource, each.after))
             for each in found.room],
        )  # fmt: skip
    if not found.acts and not found.fights and not found.refused:
        print("nothing else happens")


def _together(acts: Sequence[Act]) -> list[tuple[float, float, str, str, str, str]]:
    """What one controller does to many workloads, in one line each."""
    groups: dict[tuple[str, str, str], list[Act]] = {}
    for each in acts:
        groups.setdefault((each.by, each.does, each.kind), []).append(each)
    rows = []
    for (by, does, kind), those in groups.items():
        first, last = min(each.seconds for each in those), max(each.last for each in those)
        of = f"{len(those)} workloads" if len(those) > 1 else _of(those[0].namespace, those[0].of)
        rows.append((first, last, by, does, f"{sum(each.count for each in those)} {kind}", of))
    return rows


def _print_workloads(found: PreviewDifference) -> None:
    if not found.workloads:
        return
    print("\nwhat becomes of pods:")
    shown = sorted(found.workloads, key=lambda each: (-each.pending, each.ready_least - each.ready_before))[
        :_ACTS_SHOWN
    ]
    print_table(
        ("WORKLOAD", "MOVED", "FROM", "TO", "READY", "LEAST", "AFTER", "WAITING"),
        [
            (
                _of(each.namespace, each.workload), each.moved, _zones(each.left), _zones(each.joined),
                each.ready_before, f"{each.ready_least} at {_at(each.ready_least_at)}", each.ready_after, each.pending,
            )
            for each in shown
        ],
    )  # fmt: skip
    if len(found.workloads) > len(shown):
        print(f"... and {len(found.workloads) - len(shown)} workloads more: -o json has all")
    for each in shown:
        if each.pending > each.pending_before:
            print(f"{_of(each.namespace, each.workload)} waits: {each.why}")


def _at(seconds: float | None) -> str:
    return "by rule" if seconds is None else f"+{seconds:.1f}s"


def _span(first: float, last: float) -> str:
    return _at(first) if round(first, 1) == round(last, 1) else f"{_at(first)}..{last:.1f}s"


def _of(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


def _zones(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {zone or 'no zone'}" for zone, count in sorted(counts.items()))


def amount(resource: str, value: float) -> str:
    return f"{value / 2**30:.1f}Gi" if resource == "memory" else f"{value:g}"
