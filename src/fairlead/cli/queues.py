"""`fairlead queues`: what each controller has before it, how long it waits, and what keeps failing."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import Any

from fairlead.cli import options as shared
from fairlead.cli.client import connect
from fairlead.cli.output import hint, print_json, print_table
from fairlead.core.times import human_duration

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
    "SETTINGS",
)
_SCHEDULER = (
    "SCHEDULER",
    "ACTIVE",
    "BACK-OFF",
    "WAITING",
    "UNDER WAY",
    "OLDEST",
    "ATTEMPTS",
    "PLACED",
    "FLUSHES",
    "NEEDED",
    "POLICY",
)
_RETRIES = (
    "ACTION",
    "ATTEMPTS",
    "BACK-OFF",
    "JITTER",
    "VOID AFTER",
    "SETTINGS",
    "IDENTITY",
    "FRESH READ",
    "REASON",
)
_LOOPS = ("LOOP OF", "OBJECT", "WRITES", "FIELDS")

_EPILOG = """examples:
  fairlead queues                   one line for each controller, and one for the scheduler
  fairlead queues --retries         how each sort of write is tried again, as it is in force
  fairlead queues -o json | jq '.items[] | {controller, mostRetried: .queue.most_retried}'

OLDEST is how long the key that waits longest has been ready. FAILING counts keys whose last turn failed; HOT those
that want turns so often that they are slowed down. SETTINGS names the entry of the PlaneSettings that a queue works
with: its own, default, or none.

The second table is of pods that wait for a node: to be tried next, resting after a refusal, waiting for something that
could help; OLDEST is how long one has been without a node. FLUSHES are tries for no other cause than a long wait; of
them those were NEEDED that found a node: a cause that nobody named. A third table, if there is one, shows write loops:
the same written over and over.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EPILOG
    parser.add_argument(
        "--retries",
        action="store_true",
        help="show instead how each sort of write is tried again: the seven properties that are in force",
    )
    shared.add_client_options(parser, run, "table", "json")


def run(options: argparse.Namespace) -> int:
    with closing(connect(options.kubeconfig)) as client:
        answer = client.get(PATH)
    if options.output == "json":
        print_json(answer["retries"] if options.retries else answer)
        return 0
    if options.retries:
        print_table(_RETRIES, [_retry_row(each) for each in answer["retries"]])
        return 0
    print_table(_HEADER, [_row(item) for item in answer["items"]])
    if answer["scheduler"] is not None:
        print()
        print_table(_SCHEDULER, [_scheduler_row(answer["scheduler"])])
    loops = answer["writeLoops"]
    if loops:
        print()
        print_table(
            _LOOPS,
            [
                (each["controller"], each["object"], each["writes"], ", ".join(each["fields"]))
                for each in loops
            ],
        )
    if by := answer.get("plane"):
        hint(f"these are of {by}, in another process, {answer['toldSecondsAgo']:g} s ago")
    budget = answer["retryBudget"]
    hint(
        f"retries: {budget['left']} of {budget['settings']['burst']} left, {budget['waiting']} waiting, "
        f"{budget['heldBack']} held back so far"
    )
    if answer["breaker"]["open"]:
        hint("the API does not answer: nothing is written for a while")
    dropped = answer["events"]["dropped"]
    if dropped:
        hint(f"{dropped} events for people to read were left out, because there were too many at once")
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
        item["settings"],
    )


def _retry_row(found: dict[str, Any]) -> tuple[Any, ...]:
    return (
        found["action"],
        found["attemptsMax"],
        f"{found['backoffSeconds']:g}s to {found['backoffMaxSeconds']:g}s",
        f"{100 * found['jitter']:g}%",
        f"{found['voidAfterSeconds']:g}s",
        found["settings"],
        found["identity"],
        found["freshRead"],
        found["reason"],
    )


def _scheduler_row(found: dict[str, Any]) -> tuple[Any, ...]:
    return (
        "default-scheduler",
        found["active"],
        found["backoff"],
        found["unschedulable"],
        found["underWay"],
        human_duration(found["oldestSeconds"]),
        found["attempts"],
        found["placed"],
        found["flushes"],
        found["flushesNeeded"],
        "@".join(map(str, found["policy"])),
    )
