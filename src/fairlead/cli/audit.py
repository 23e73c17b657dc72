"""`fairlead audit`: reads the audit log of a server: who, when, which object, which fields.

The server keeps the log in order and bounded; this reads it page by page and filters on this side.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import deque
from contextlib import closing
from typing import Any, NamedTuple

from fairlead.cli import audit_verify
from fairlead.cli import options as shared
from fairlead.cli.about import About, asked_about
from fairlead.cli.client import connect
from fairlead.cli.log_lines import LogLines
from fairlead.cli.moments import parse_moment
from fairlead.cli.output import align, cell, hint, print_json, print_table
from fairlead.core.errors import UsageError
from fairlead.core.times import timestamp

PATH = "/fairlead/v1/audit"
_PAGE = 1000
_POLL_SECONDS = 1.0
_MACHINE = "system:"  # what the names of nodes, controllers, service accounts and strangers begin with
_PAST = "fairlead.dev/past"  # as `api/admission/fights.py` marks what people wrote past a controller
_HEADER = ("TIME", "USER", "VERB", "NAMESPACE", "OBJECT", "CODE", "REVISION", "DETAIL")
_CHANGED_SHOWN = 4

EPILOG = """examples:
  fairlead audit                               the last 100 records
  fairlead audit --object pod/web -n default   everything done to one pod
  fairlead audit --user system:node:node-1 --since 10m
  fairlead audit --people --since "yesterday 14:00"
  fairlead audit --past --since 1h             who wrote past which controller
  fairlead audit -f                            show records as they come; Ctrl-C ends it
  fairlead audit -o json | jq .items[].record.changed
  fairlead audit verify                        whether a line was removed, changed or added

Reads of Secrets are recorded, other reads, lease renewals and heartbeats are not. Values never are.
"""


class AuditFilter(NamedTuple):
    """The filter. Empty strings mean any."""

    user: str
    since: str  # timestamp
    about: About
    people: bool = False
    past: bool = False  # only writes past a controller

    def accepts(self, record: dict[str, Any]) -> bool:
        user = str(record.get("user", ""))
        return (
            (not self.user or self.user in (user, record.get("impersonatedUser")))
            and (not self.since or record.get("time", "") >= self.since)
            and not (self.people and user.startswith(_MACHINE))
            and not (self.past and _PAST not in (record.get("annotations") or {}))
        )


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--user", metavar="U", default="", help="only what this user did, or another as this user"
    )
    parser.add_argument(
        "--object", metavar="KIND/NAME", default="", help="only this object; KIND alone: all of them"
    )
    shared.add_namespace(parser, "only this namespace (default: all)")
    parser.add_argument(
        "--people", action="store_true", help="only what people did: no nodes, no controllers"
    )
    parser.add_argument(
        "--past", action="store_true", help="only what people wrote past a controller, which is named"
    )
    parser.add_argument(
        "--since", metavar="WHEN", default="", help="only what came after: 10m, yesterday 14:00, RFC 3339"
    )
    parser.add_argument(
        "--limit", type=shared.parse_whole, default=100, metavar="N", help="the last N records (default: 100)"
    )
    parser.add_argument(
        "--strangers", action="store_true", help="refusals of those who are not signed in: a log of their own"
    )
    parser.add_argument("-f", "--follow", action="store_true", help="go on and show new records as they come")
    shared.add_client_options(parser, run, "table", "json")
    actions = parser.add_subparsers(metavar="ACTION", title="actions", dest="action")
    audit_verify.configure(
        actions.add_parser(
            "verify",
            help="follow the chain of the log in a data directory",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
    )


def run(options: argparse.Namespace) -> int:
    if options.limit < 1:
        raise UsageError("--limit takes a number greater than 0")
    since = timestamp(parse_moment("--since", options.since, time.time())) if options.since else ""
    with closing(connect(options.kubeconfig)) as client:
        about = asked_about(client, options.object, options.namespace)
        wanted = AuditFilter(options.user, since, about, options.people, options.past)
        last: deque[dict[str, Any]] = deque(maxlen=options.limit)
        known = False
        lines = LogLines(client, PATH, "strangers" if options.strangers else "")
        for item in lines.read():
            if not about.matches(*_object(item["record"])):
                continue
            known = True
            if wanted.accepts(item["record"]):
                last.append(item)
        if not known:
            about.check(client)
        if options.follow:
            _follow(lines, wanted, list(last), options.output)
        elif options.output == "json":
            print_json({"items": list(last)})
        elif last:
            print_table(_HEADER, [_row(item["record"]) for item in last])
        else:
            hint("No audit records match.")
        lines.tell_hidden()
    return 0


def _object(record: dict[str, Any]) -> tuple[str, str, str]:
    about = record.get("object") or {}
    group, resource = about.get("group", ""), about.get("resource", "")
    whole = f"{resource}.{group}" if group else resource
    return whole, about.get("namespace", ""), about.get("name", "")


def _follow(lines: LogLines, wanted: AuditFilter, first: list[dict[str, Any]], form: str) -> None:
    """First what is there, then what comes; JSON records one to a line, so that a pipe can read along."""
    widths = [max(len(title), 12) for title in _HEADER]
    if form == "table":
        widths = print_table(_HEADER, [_row(item["record"]) for item in first])
    else:
        _print_lines(first)
    while True:
        sys.stdout.flush()
        time.sleep(_POLL_SECONDS)
        for item in lines.read():
            if not wanted.about.matches(*_object(item["record"])) or not wanted.accepts(item["record"]):
                continue
            if form == "table":
                print(align([cell(value) for value in _row(item["record"])], widths))
            else:
                _print_lines([item])


def _print_lines(items: list[dict[str, Any]]) -> None:
    for item in items:
        print(json.dumps(item, ensure_ascii=False))


def _who(record: dict[str, Any]) -> str:
    taken_for = record.get("impersonatedUser")
    return f"{record.get('user')} as {taken_for}" if taken_for else str(record.get("user"))


def _row(record: dict[str, Any]) -> tuple[Any, ...]:
    about = record.get("object") or {}
    target = about.get("path") or "/".join(
        part for part in (about.get("resource"), about.get("name"), about.get("subresource")) if part
    )
    changed = record.get("changed") or []
    shown = ",".join(changed[:_CHANGED_SHOWN])
    more = len(changed) - _CHANGED_SHOWN
    if more > 0:
        shown += " and many more" if changed[-1] == "..." else f" and {more} more"
    if past := (record.get("annotations") or {}).get(_PAST):
        shown += f" (past {past})" if shown else f"past {past}"
    return (
        record.get("time"),
        _who(record),
        record.get("verb"),
        about.get("namespace"),
        target,
        record.get("code"),
        record.get("revision"),
        shown or record.get("reason"),
    )
