"""`fairlead incident`: keep what a plane decided and all that it decided on, to be replayed and reported elsewhere."""

from __future__ import annotations

import argparse
import time
from contextlib import closing
from pathlib import Path

from fairlead.cli import options as shared
from fairlead.cli.incident.report import configure_report
from fairlead.cli.output import print_json

EPILOG = """examples:
  fairlead incident capture --since 15m -o friday.incident
  fairlead incident capture --since 15m --closed -o friday.incident    also for `fairlead replay --closed`
  fairlead incident capture --since "yesterday 14:00" -n shop -o shop.incident
  fairlead replay friday.incident                 every decision again, on this machine, without a server
  fairlead incident report friday.incident        what happened, what held things up and what lifted it
  fairlead incident report friday.incident -o html > friday.html

A capture holds the objects of every namespace as they were at the beginning and every change since, the decisions and
turns of all controllers, what the plane was told, and the audit log. Secrets and tokens in annotations are taken out,
with --redact other values as well; which of them are equal can still be told.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    configure_report(actions)
    capture = actions.add_parser("capture", help="write an incident to a file", allow_abbrev=False)
    capture.add_argument(
        "--since", default="15m", metavar="TIME", help="how far back, as 15m or 14:00 (default: 15m)"
    )
    shared.add_namespace(
        capture, "only decisions about this namespace (default: all); all that they read is kept"
    )
    capture.add_argument(
        "--closed",
        action="store_true",
        help="from the start of the plane on, if that is further back and kept: `fairlead replay --closed` is exact"
        " from there",
    )
    capture.add_argument(
        "--redact",
        action="append",
        default=[],
        choices=("configmaps", "env"),
        help="also take these values out: of ConfigMaps, of environment variables",
    )
    capture.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="where to write it")
    capture.add_argument("--json", action="store_true", help="say what was captured as JSON")
    capture.add_argument(
        "--data-dir",
        type=Path,
        metavar="DIR",
        help="read a data directory instead of asking a server, also one that is in use",
    )
    shared.add_kubeconfig(capture)
    capture.set_defaults(run=_capture)


def _capture(options: argparse.Namespace) -> int:
    from fairlead.cli.client import connect
    from fairlead.cli.incident.origin import ServerOrigin
    from fairlead.cli.moments import parse_moment
    from fairlead.cli.sim.artifacts import write_incident
    from fairlead.control.instructions import DECISIONS, TURNS
    from fairlead.replay.capture import AUDIT, capture, closed_from, start_before

    now = time.time()
    since = parse_moment("--since", options.since, now)
    if options.data_dir is not None:
        from fairlead.runtime.data.incidents import stored_origin  # brings the database library along

        with stored_origin(options.data_dir, options.redact) as origin:
            since = start_before(origin, since) if options.closed else since
            found = capture(origin, since, now, options.namespace or "")
    else:
        with closing(connect(options.kubeconfig)) as client:
            server = ServerOrigin(client, options.redact)
            since = start_before(server, since) if options.closed else since
            found = capture(server, since, now, options.namespace or "")
    size = write_incident(options.output, found)
    counts = {
        stream: sum(line.stream == stream for line in found.lines) for stream in (DECISIONS, TURNS, AUDIT)
    }
    if options.json:
        print_json(
            {
                "file": str(options.output),
                "bytes": size,
                "since": found.head.since,
                "until": found.head.until,
                "objects": len(found.objects),
                "changes": len(found.changes),
                "lines": counts,
                "closed": closed_from(found),
            }
        )
    else:
        print(
            f"wrote {options.output}: {len(found.objects)} objects, {len(found.changes)} changes,"
            f" {counts[DECISIONS]} lines of decisions, {counts[TURNS]} of turns, {counts[AUDIT]} of the audit log"
        )
        print(closed_from(found))
    return 0
