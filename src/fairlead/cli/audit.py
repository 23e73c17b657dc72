"""`fairlead audit`: reads the audit log of a server: who, when, which object, which fields.

The server keeps the log in order and bounded; this reads it page by page and filters on this side.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from fairlead.cli import options as shared
from fairlead.cli.client import Client, connect
from fairlead.cli.output import aligned, cell, hint, print_json, print_table
from fairlead.core.errors import UsageError
from fairlead.core.times import timestamp

PATH = "/fairlead/v1/audit"
_PAGE = 1000
_POLL_SECONDS = 1.0
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_HEADER = ("TIME", "USER", "VERB", "NAMESPACE", "OBJECT", "CODE", "REVISION", "DETAIL")
_CHANGED_SHOWN = 4

_EPILOG = """examples:
  fairlead audit                               the last 100 records
  fairlead audit --object pods/web -n default  everything done to one pod
  fairlead audit --user system:node:node-1 --since 10m
  fairlead audit -f                            show records as they come; Ctrl-C ends it
  fairlead audit -o json | jq .items[].record.changed

Reads of Secrets are recorded, other reads, lease renewals and heartbeats are not. Values never are.
"""


class Wanted(NamedTuple):
    """The filter. Empty strings mean any."""

    user: str
    resource: str
    name: str
    namespace: str
    since: str  # timestamp

    def accepts(self, record: dict[str, Any]) -> bool:
        about = record.get("object") or {}
        return (
            (not self.user or self.user in (record.get("user"), record.get("impersonatedUser")))
            and (not self.resource or self.resource in _resource_names(about))
            and (not self.name or about.get("name") == self.name)
            and (not self.namespace or about.get("namespace") == self.namespace)
            and (not self.since or record.get("time", "") >= self.since)
        )


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EPILOG
    parser.add_argument(
        "--user", metavar="U", default="", help="only what this user did, or another as this user"
    )
    parser.add_argument(
        "--object", metavar="RESOURCE/NAME", default="", help="only this object, or only RESOURCE"
    )
    shared.namespace(parser, "only this namespace (default: all)")
    parser.add_argument("--since", metavar="AGE", default="", help="only what is younger: 30s, 10m, 2h, 1d")
    parser.add_argument(
        "--limit", type=shared.whole, default=100, metavar="N", help="the last N records (default: 100)"
    )
    parser.add_argument(
        "--strangers", action="store_true", help="refusals of those who are not signed in: a log of their own"
    )
    parser.add_argument("-f", "--follow", action="store_true", help="go on and show new records as they come")
    shared.output(parser, "table", "json")
    shared.kubeconfig(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.limit < 1:
        raise UsageError("--limit takes a number greater than 0")
    wanted = _wanted(options, time.time())
    client = connect(options.kubeconfig)
    try:
        last: deque[dict[str, Any]] = deque(maxlen=options.limit)
        after = 0
        stream = "strangers" if options.strangers else ""
        for item in _records(client, stream, after):
            after = item["sequence"]
            if wanted.accepts(item["record"]):
                last.append(item)
        if options.follow:
            _follow(client, stream, wanted, list(last), after, options.output)
        elif options.output == "json":
            print_json({"items": list(last)})
        elif last:
            print_table(_HEADER, [_row(item["record"]) for item in last])
        else:
            hint("No audit records match.")
    finally:
        client.close()
    return 0


def _wanted(options: argparse.Namespace, now: float) -> Wanted:
    resource, _, name = options.object.partition("/")
    since = ""
    if options.since:
        matched = re.fullmatch(r"(\d{1,9})([smhd])", options.since)
        if matched is None:
            raise UsageError(f"--since {options.since!r} is no age: write 30s, 10m, 2h or 1d")
        since = timestamp(max(0.0, now - int(matched[1]) * _UNITS[matched[2]]))
    return Wanted(options.user, resource.lower(), name, options.namespace or "", since)


def _resource_names(about: dict[str, Any]) -> tuple[str, str]:
    resource, group = about.get("resource", ""), about.get("group", "")
    return resource, f"{resource}.{group}"


def _records(client: Client, stream: str, after: int) -> Iterator[dict[str, Any]]:
    while True:
        items = (
            client.get(PATH, {"stream": stream, "after": str(after), "limit": str(_PAGE)}).get("items") or []
        )
        yield from items
        if len(items) < _PAGE:
            return
        after = items[-1]["sequence"]


def _follow(
    client: Client, stream: str, wanted: Wanted, first: list[dict[str, Any]], after: int, form: str
) -> None:
    """First what is there, then what comes; JSON records one to a line, so that a pipe can read along."""
    widths = [max(len(title), 12) for title in _HEADER]
    if form == "table":
        widths = print_table(_HEADER, [_row(item["record"]) for item in first])
    else:
        _print_lines(first)
    while True:
        sys.stdout.flush()
        time.sleep(_POLL_SECONDS)
        for item in _records(client, stream, after):
            after = item["sequence"]
            if not wanted.accepts(item["record"]):
                continue
            if form == "table":
                print(aligned([cell(value) for value in _row(item["record"])], widths))
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
