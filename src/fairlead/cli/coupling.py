"""`fairlead coupling`: who can change the inputs of a controller's decisions without calling it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from fairlead.cli import options as shared
from fairlead.cli.client import ApiClient, connect
from fairlead.cli.output import hint, print_json, print_table
from fairlead.cli.resources import did_you_mean
from fairlead.core.errors import NotFound, UsageError
from fairlead.core.times import timestamp

PATH = "/fairlead/v1/coupling"
QUEUES = "/fairlead/v1/queues"
_SCHEDULER = "scheduler"
_HEADER = ("FORM", "WRITER", "RESOURCE", "FIELDS", "READER", "WRITES", "PER MINUTE", "LAST", "BY", "LAG")
_TIMERS = ("EVERY", "CONTROLLERS", "WHAT", "SPREAD")
_LOOP = ("LOOP", "WRITERS", "OBJECT", "FIELDS", "TURNS", "SINCE")
_PROOF = ("TIME", "WRITER", "FIELD", "VALUE", "DECISION")
_FIELDS_SHOWN, _NAMES_SHOWN = 3, 4

EPILOG = """examples:
  fairlead coupling scheduler               who writes what the scheduler decides on
  fairlead coupling replicaset --observed   only what was seen on this plane
  fairlead coupling                         all controllers
  fairlead coupling --loops                 who undo or outdo each other, and the decisions that prove it
  fairlead coupling scheduler -o svg > scheduler.svg
  fairlead coupling scheduler -o dot | dot -Tpng > scheduler.png
  fairlead coupling scheduler -o json | jq '.couplings[] | select(.form == "overlapping ownership")'

WRITES and PER MINUTE are counted from the audit log, as far as it is looked at; LAST is when, BY who. LAG is how many
objects of that resource are newer than the copy that the reader decides on. Writers are controllers, steps of admission
(admission:NAME), admission policies (policy:NAME), nodes (agent), programs and people by their names; `people` stands
for all who have the right to write.

--loops shows oscillations (writers undo each other), amplification (each raises what the other reacts to), decisions
that come to nothing again and again, and write loops of one controller. DECISION is the id of the record of a decision
(`fairlead decisions`), or of the request of somebody else (`fairlead audit -o json`).
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "controller", nargs="?", default="", metavar="CONTROLLER", help="default: all of them"
    )
    parser.add_argument(
        "--observed", action="store_true", help="only what was written, as far as the audit log tells"
    )
    parser.add_argument(
        "--loops",
        action="store_true",
        help="loops that were found between writers, with the steps that prove them",
    )
    shared.add_client_options(parser, run, "table", "json", "dot", "svg")


def run(options: argparse.Namespace) -> int:
    with closing(connect(options.kubeconfig)) as client:
        answer = _asked(client, options.controller, options.loops)
    if options.loops:
        return _print_loops(answer, options.output)
    if options.observed:
        answer["couplings"] = [each for each in answer["couplings"] if each.get("last")]
    if options.output == "json":
        print_json(answer)
    elif options.output in ("dot", "svg"):
        from fairlead.explain.coupling import drawing  # only for those who ask for a picture

        draw = drawing.dot if options.output == "dot" else drawing.svg
        print(draw(answer["couplings"]), end="")
    else:
        _print(answer)
    return 0


def _asked(client: ApiClient, controller: str, loops: bool) -> dict[str, Any]:
    path = f"{PATH}/{controller}" if controller else PATH
    try:
        answer: dict[str, Any] = client.get(path, {"loops": "true"} if loops else None)
    except NotFound:
        queues = client.get(QUEUES)
        known = [item["controller"] for item in queues["items"]]
        known += [] if queues["scheduler"] is None else [_SCHEDULER]
        near = did_you_mean(controller, known)
        told = ", ".join(sorted(known)) or "none"
        raise UsageError(f'there is no controller "{controller}"{near}: known are {told}') from None
    return answer


def _print(answer: dict[str, Any]) -> None:
    couplings = sorted(
        answer["couplings"], key=lambda each: (each["reader"], each["form"], -each.get("writes", 0))
    )
    print_table(_HEADER, [_row(each) for each in couplings])
    if answer["timers"]:
        print()
        print_table(_TIMERS, list(_timer_rows(answer["timers"])))
    observed = answer["observed"]
    since = f", since {observed['since']}" if observed["since"] else ""
    hint(f"{observed['lines']} audit lines were looked at{since}")
    if observed["hidden"]:
        hint(f"{observed['hidden']} more are about objects that you may not get")


def _print_loops(answer: dict[str, Any], form: str) -> int:
    if form not in ("table", "json"):
        raise UsageError(f"--loops has no form {form}: choose table or json")
    if form == "json":
        print_json(answer)
        return 0
    if not answer["loops"]:
        hint("No loops were found.")
    for number, loop in enumerate(answer["loops"]):
        if number:
            print()
        print_table(_LOOP, [_loop_row(loop)])
        if loop["proof"]:
            print()
            print_table(_PROOF, [_proof_row(step) for step in loop["proof"]])
    return 0


def _loop_row(loop: dict[str, Any]) -> tuple[Any, ...]:
    fields = _short(loop["fields"], _FIELDS_SHOWN)
    return loop["kind"], loop["controller"], loop["object"], fields, loop["writes"], timestamp(loop["since"])


def _proof_row(step: dict[str, Any]) -> tuple[Any, ...]:
    return timestamp(step["seconds"]), step["writer"], step["field"], step["value"], step["decision"]


def _row(each: dict[str, Any]) -> tuple[Any, ...]:
    return (
        each["form"],
        each["writer"],
        each["resource"],
        _short(each["fields"], _FIELDS_SHOWN),
        each["reader"],
        each.get("writes", 0),
        each.get("perMinute", 0.0),
        each.get("last", ""),
        each.get("lastUser", ""),
        each.get("lag", 0),
    )


def _timer_rows(groups: list[list[dict[str, Any]]]) -> Iterator[tuple[Any, ...]]:
    for group in groups:
        what = sorted({each["what"] for each in group})
        spread = max(each["spread"] for each in group)
        controllers = sorted({each["controller"] for each in group})
        yield f"{group[0]['seconds']:g}s", _short(controllers, _NAMES_SHOWN), "; ".join(what), spread


def _short(names: list[str], most: int) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
