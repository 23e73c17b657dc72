"""`fairlead grants`: who was given what for an incident, until when, and which of it waits for a review."""

from __future__ import annotations

import argparse
import time
from contextlib import closing
from typing import Any

from fairlead.cli import options as shared
from fairlead.cli.client import connect
from fairlead.cli.grant import PATH
from fairlead.cli.output import hint, print_json, print_table
from fairlead.model.kinds.accessgrant import KIND, phase_of

EPILOG = """examples:
  fairlead grants                 those that wait for approval, hold, or wait for their review
  fairlead grants --all           also those that were denied, or whose review is closed

`fairlead grant` asks for, approves and reviews them.
"""
_HEADER = ("NAME", "SUBJECT", "ROLE", "WHERE", "PHASE", "UNTIL", "BY", "WRITES", "REVIEW", "REASON")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="also those that nothing is to be done about")
    shared.add_client_options(parser, run, "table", "json")


def run(options: argparse.Namespace) -> int:
    now = time.time()
    with closing(connect(options.kubeconfig)) as client:
        grants = client.get(PATH)["items"]
    shown = [each for each in grants if options.all or is_open(each, now)]
    if options.output == "json":
        print_json({"items": shown})
    elif shown:
        print_table(_HEADER, [_row(each, now) for each in shown])
    else:
        hint("No grant waits, holds or is to be reviewed.")
    return 0


def is_open(grant: dict[str, Any], now: float) -> bool:
    """Whether somebody has to do something about it, or it holds."""
    status = grant.get("status") or {}
    if (status.get("review") or {}).get("state") == "Closed":
        return False
    return phase_of(grant, now) in ("Pending", "Active") or bool(status.get("expiresAt"))


def _row(grant: dict[str, Any], now: float) -> tuple[Any, ...]:
    cells = {column.name: column.cell(grant, now) for column in KIND.columns}
    status, spec = grant.get("status") or {}, grant["spec"]
    return (
        grant["metadata"]["name"],
        cells["Subject"],
        cells["Role"],
        cells["Where"],
        cells["Phase"],
        status.get("expiresAt"),
        status.get("decidedBy"),
        status.get("writes"),
        (status.get("review") or {}).get("state"),
        spec.get("reason"),
    )
