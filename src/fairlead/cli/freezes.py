"""`fairlead freezes`: which freezes forbid what, now or at any time that is asked about, also one that is to come.

The windows are computed here by the same function that the server asks (`model/freeze_times.py`).
"""

from __future__ import annotations

import argparse
import re
import time
from contextlib import closing
from datetime import datetime
from typing import Any

from fairlead.cli import options as shared
from fairlead.cli.client import connect
from fairlead.cli.output import hint, print_json, print_table
from fairlead.core.errors import UsageError
from fairlead.core.times import SECOND, parse_duration, timestamp
from fairlead.model.freeze_times import next_window, window_at

PATH = "/apis/fairlead.dev/v1/changefreezes"
_SHORT = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2}(?::\d{2})?))?([Zz]|[+-]\d{2}:\d{2})?")
_HEADER = ("NAME", "IN FORCE", "FROM", "UNTIL", "NEXT", "NAMESPACES", "FORBIDS", "REASON")
EPILOG = """examples:
  fairlead freezes                                    now
  fairlead freezes --at 2026-12-24T18:00Z -n shop     may I roll out in shop on Christmas Eve?
  fairlead freezes --at +48h

Exit code 1 if a freeze is in force at that time, so that a script can ask before it changes anything.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--at",
        metavar="WHEN",
        default="",
        help="this time instead of now: 2026-12-24T18:00Z, a day, or from now on as +48h; local without a zone",
    )
    shared.add_namespace(parser, "only what is about this namespace (default: all)")
    shared.add_client_options(parser, run, "table", "json")


def run(options: argparse.Namespace) -> int:
    at = parse_at(options.at, time.time())
    with closing(connect(options.kubeconfig)) as client:
        freezes = client.get(PATH)["items"]
    about = [each for each in freezes if _is_about(each["spec"], options.namespace)]
    told = [_told(each, at) for each in about]
    in_force = [each for each in told if each["inForce"]]
    if options.output == "json":
        print_json({"at": timestamp(at), "frozen": bool(in_force), "items": told})
    elif told:
        print_table(_HEADER, [_row(each) for each in told])
    if options.output == "table":
        where = f" in {options.namespace}" if options.namespace else ""
        names = ", ".join(each["name"] for each in in_force)
        hint(f"At {timestamp(at)}{where}: {f'frozen by {names}' if names else 'no freeze is in force'}.")
    return 1 if in_force else 0


def parse_at(text: str, now: float) -> float:
    """Seconds since the epoch of a time that may be to come."""
    if not text:
        return now
    try:
        if text.startswith("+"):
            return now + parse_duration(text[1:]) / SECOND
        found = _SHORT.fullmatch(text)
        if found is None:
            raise ValueError(text)
        day, clock, zone = found.groups()
        written = f"{day}T{clock or '00:00'}{(zone or '').upper().replace('Z', '+00:00')}"
        return datetime.fromisoformat(written).timestamp()
    except (ValueError, OverflowError):
        raise UsageError(f"--at {text!r} is no time: write 2026-12-24T18:00Z, 2026-12-24 or +48h") from None


def _is_about(spec: dict[str, Any], namespace: str | None) -> bool:
    spaces = spec.get("namespaces") or ()
    return not namespace or not spaces or namespace in spaces


def _told(freeze: dict[str, Any], at: float) -> dict[str, Any]:
    spec = freeze["spec"]
    window, following = window_at(spec, at), next_window(spec, at)
    return {
        "name": freeze["metadata"]["name"],
        "inForce": window is not None,
        "from": timestamp(window.start) if window else None,
        "until": timestamp(window.end) if window else None,
        "next": timestamp(following.start) if following else None,
        "namespaces": spec.get("namespaces") or [],
        "forbids": spec.get("forbids") or [],
        "reason": spec.get("reason"),
    }


def _row(told: dict[str, Any]) -> tuple[Any, ...]:
    return (
        told["name"],
        "yes" if told["inForce"] else "no",
        told["from"],
        told["until"],
        told["next"],
        ",".join(told["namespaces"]) or "all",
        ",".join(told["forbids"]),
        told["reason"],
    )
