"""`fairlead queues`: what each controller has before it, how long it waits, and what keeps failing."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from fairlead.cli import options as shared
from fairlead.cli.client import connect
from fairlead.cli.output import hint, print_json, print_table
from fairlead.core.times import human_duration
from fairlead.model.cells import label_selector_text

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
)
_RETRY_WORDS = (
    ("identity", "identity"),
    ("fresh read", "freshRead"),
    ("reason", "reason"),
    ("owner", "owner"),
)
_COHORTS = ("COHORT", "RESOURCE", "QUOTA", "USED", "BORROWS", "FROM", "LENDS", "LEFT TO LEND")
_WAITING_SHOWN = 5
_LOOPS = ("LOOP OF", "OBJECT", "WRITES", "FIELDS")

EPILOG = """examples:
  fairlead queues                   one line for each controller, and one for the scheduler
  fairlead queues --retries         how each sort of write is tried again, as it is in force
  fairlead queues -o json | jq '.items[] | {controller, mostRetried: .queue.most_retried}'

OLDEST is how long the key that waits longest has been ready. FAILING counts keys whose last turn failed; HOT those
that want turns so often that they are slowed down. SETTINGS names the entry of the PlaneSettings that a queue works
with: its own, default, or none.

The second table is of pods that wait for a node: to be tried next, resting after a refusal, waiting for something that
could help; OLDEST is how long one has been without a node. FLUSHES are tries for no other cause than a long wait; of
them those were NEEDED that found a node: a cause that nobody named. Where PlacementQuotas share a cohort, a table shows
who borrows how much (of what it may) from whom, and which pods wait for it. The last, if there is one, shows write
loops: the same written over and over.
"""


def configure(parser: argparse.ArgumentParser) -> None:
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
        _print_retries(answer["retries"])
        return 0
    print_table(_HEADER, [_row(item) for item in answer["items"]])
    if answer["scheduler"] is not None:
        print()
        print_table(_SCHEDULER, [_scheduler_row(answer["scheduler"])])
    if cohorts := answer.get("cohorts"):
        print()
        print_table(_COHORTS, [row for each in cohorts for row in _cohort_rows(each)])
        for each in cohorts:
            _tell_waiting(each)
    if left_out := answer.get("quotasLeftOut"):
        hint(f"damaged in the store, and not among the quotas of cohorts: {', '.join(left_out)}")
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


def _cohort_rows(cohort: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    for each in cohort["resources"]:
        loans = each["loans"]
        for place, member in enumerate(each["members"]):
            lenders = [
                f"{loan['lender']}: {loan['amount']}" for loan in loans if loan["borrowerMember"] == place
            ]
            lent = [
                f"{loan['borrower']}: {loan['amount']}" for loan in loans if loan["lenderMember"] == place
            ]
            yield (
                _called(cohort),
                each["resource"],
                member["quota"],
                f"{member['used']}/{member['hard']}",
                f"{member['borrowed']}/{member['mayBorrow']}",
                ", ".join(lenders),
                ", ".join(lent),
                each["leftToLend"],
            )


def _called(cohort: dict[str, Any]) -> str:
    """Its name, and of which nodes: another of that name may be about others."""
    selector = cohort["nodeSelector"]
    return f"{cohort['cohort']} ({label_selector_text(selector)})" if selector else str(cohort["cohort"])


def _tell_waiting(cohort: dict[str, Any]) -> None:
    if not cohort["waitingInAll"]:
        return
    named = [f"{each['namespace']}/{each['pod']}" for each in cohort["waiting"][:_WAITING_SHOWN]]
    more = cohort["waitingInAll"] - len(named)
    told = ", ".join(named) + (f" and {more} more" if named and more else f"{more} pods" if more else "")
    print(f"wait for a quota of cohort {_called(cohort)}: {told}")


def _print_retries(rows: list[dict[str, Any]]) -> None:
    """Numbers as a table; what the code does in words, once for all actions of which it is the same."""
    print_table(_RETRIES, [_retry_row(each) for each in rows])
    for title, field in _RETRY_WORDS:
        actions: dict[str, list[str]] = {}
        for each in rows:
            actions.setdefault(each.get(field, ""), []).append(each["action"])
        print(f"\n{title}")
        for text, named in actions.items():
            print(f"  {'all' if len(actions) == 1 else ', '.join(named)}: {text}")


def _retry_row(found: dict[str, Any]) -> tuple[Any, ...]:
    others = "".join(f", {name} {at:g}s" for name, at in found.get("voidAfterBy", {}).items())
    return (
        found["action"],
        found["attemptsMax"],
        f"{found['backoffSeconds']:g}s to {found['backoffMaxSeconds']:g}s",
        f"{100 * found['jitter']:g}%",
        f"{found['voidAfterSeconds']:g}s{others}",
        found["settings"],
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
