"""`fairlead queues`: what each controller has before it, how long it waits, and what keeps failing."""

from __future__ import annotations

import argparse
from typing import Any

from fairlead.cli import options as shared
from fairlead.cli.client import connect
from fairlead.cli.output import hint, print_json, print_table

PATH = "/fairlead/v1/queues"
_HEADER = (
    "CONTROLLER",
    "READY",
    "DELAYED",
    "WORKING",
    "OLDEST",
    "FAILING",
    "HOT",
    "TURNS",
    "RETRIES",
    "STUCK",
)

_EPILOG = """examples:
  fairlead queues                   one line for each controller
  fairlead queues -o json | jq '.items[] | {controller, mostRetried: .queue.most_retried}'

OLDEST is how long the key that waits longest has been ready. FAILING counts keys whose last turn failed; HOT those
that want turns so often that they are slowed down.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EPILOG
    shared.output(parser, "table", "json")
    shared.kubeconfig(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    client = connect(options.kubeconfig)
    try:
        answer = client.get(PATH)
    finally:
        client.close()
    if options.output == "json":
        print_json(answer)
        return 0
    print_table(_HEADER, [_row(item) for item in answer["items"]])
    if not answer["leads"]:
        hint(f"this plane stands by ({answer['phase']}): another one leads, or it has just started")
    return 0


def _row(item: dict[str, Any]) -> tuple[Any, ...]:
    queue = item["queue"]
    return (
        item["controller"],
        queue["ready"],
        queue["delayed"],
        queue["in_progress"],
        f"{queue['oldest_waiting_seconds']:.1f}s",
        queue["failing"],
        queue["held"],
        item["decided"],
        queue["counts"]["retried"],
        item["stuck"],
    )
