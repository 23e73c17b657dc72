"""`fairlead timeline`: what happened to an object, its owners and what it owns, who did it and why, in order.

The server makes the lines (`explain/timeline/telling.py`); here they are asked for and printed.
"""

from __future__ import annotations

import argparse
import time
from contextlib import closing
from typing import Any

from fairlead.cli import options as shared
from fairlead.cli.client import ApiClient, connect
from fairlead.cli.moments import parse_moment
from fairlead.cli.objects import NamedObject, not_found, resolve_object
from fairlead.cli.output import cell, hint, print_json, print_table
from fairlead.core.errors import NotFound
from fairlead.core.times import microtime, parse_time

PATH = "/fairlead/v1/timeline"
_HEADER = ("TIME", "WHO", "DECISION", "OBJECT", "WHAT")
_NAMES_SHOWN = 3
EPILOG = """examples:
  fairlead timeline deployment/risk-api               itself, its ReplicaSets and its pods
  fairlead timeline pod/web-0 --since 10m
  fairlead timeline pod/web-7d9-x2k4f                 also of a pod that is gone: ends in why
  fairlead timeline deployment/risk-api --at 14:05    as far as it had come then; also a revision
  fairlead timeline deployment/risk-api -o html > page.html   lanes per controller, arrows from cause to effect, zoom
  fairlead timeline pod/web-0 -o json | jq '.moments[].reads'

It is joined from the audit log, the records of decisions, the store's history and Events, by object, revision and
decision; `fairlead decisions` and `fairlead explain` show one decision in full. What is alike is told once ("x7").
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("object", metavar="KIND/NAME", help="any object, also one that is gone")
    shared.add_namespace(parser, "namespace (default: the kubeconfig's, or default)")
    parser.add_argument(
        "--since", metavar="TIME", help="leave out what is older, as in 10m or 14:00 (default: all)"
    )
    parser.add_argument(
        "--at", metavar="TIME|REVISION", help="leave out what is younger: a time, or a revision of the store"
    )
    shared.add_client_options(parser, run, "text", "json", "html")


def run(options: argparse.Namespace) -> int:
    now = time.time()
    query = {}
    if options.since is not None:
        query["since"] = microtime(parse_moment("--since", options.since, now))
    if options.at is not None:
        at = options.at
        query["at"] = at if at.isdecimal() else microtime(parse_moment("--at", at, now))
    with closing(connect(options.kubeconfig)) as client:
        answer = ask_about(client, PATH, resolve_object(client, options.object, options.namespace), query)
    if options.output == "json":
        print_json(answer)
    elif options.output == "html":
        print(page_of(answer))
    else:
        _print(answer)
    return 0


def ask_about(client: ApiClient, path: str, found: NamedObject, query: dict[str, str]) -> dict[str, Any]:
    resource = found.resource
    name = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
    try:
        return client.get(f"{path}/{name}/{found.namespace or '-'}/{found.name}", query)
    except NotFound as error:
        if query.get("at", "").isdecimal():
            raise
        raise not_found(client, [found]) from error


def short(text: str) -> str:
    """`pods/default/web-0` as `pods/web-0`: the namespace is that of the timeline."""
    resource, _, rest = text.partition("/")
    return f"{resource.partition('.')[0]}/{rest.rpartition('/')[2]}"


def _print(answer: dict[str, Any]) -> None:
    moments = answer["moments"]
    there = f"generation {answer['generation']}" if answer["exists"] else "it no longer exists"
    day = f"; {moments[0]['time'][:10]}, times are UTC" if moments else ""
    print(f"{answer['object']}, {there}{day}")
    print_table(_HEADER, [_row(each) for each in moments])
    why = answer["why"]
    decided = f" [{', '.join(why['decisions'])}]" if why["decisions"] else ""
    print(f"\nwhy: {cell(why['sentence'])}{decided}")
    for text in answer["unread"]:
        print(f"could not read: {cell(text)}")
    for name, text in (
        ("leftOut", "older lines are left out"),
        ("hidden", "lines are about objects you may not read"),
    ):
        if answer[name]:
            hint(f"{answer[name]} {text}.")


def _row(told: dict[str, Any]) -> tuple[str, ...]:
    names = [short(each) for each in told["about"]]
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    again = f" x{told['count']} until {told['last'][11:19]}" if told.get("count", 1) > 1 else ""
    return (
        told["time"][11:23],
        told["who"],
        told.get("decision", "-"),
        ", ".join(names[:_NAMES_SHOWN]) + more,
        f"{told['what']}{again}",
    )


def page_of(answer: dict[str, Any]) -> str:
    """One page that needs nothing else: a lane for everybody who acted."""
    from fairlead.replay.page import timeline_page  # only for those who want a page

    moments = answer["moments"]
    start = parse_time(moments[0]["time"]) if moments else 0.0
    steps = [
        (
            round((parse_time(each["time"]) - start) * 1000),
            each["who"],
            each["kind"],
            " ".join([", ".join(map(short, each["about"])), each["what"]]),
            _data(each),
            each.get("cause", -1),
        )
        for each in moments
    ]
    account = [
        f"{len(moments)} moments since {moments[0]['time'] if moments else 'never'}",
        f"why: {answer['why']['sentence']}",
        *(f"could not read: {text}" for text in answer["unread"]),
    ]
    return timeline_page(f"Timeline of {answer['object']}", account, steps)


def _data(told: dict[str, Any]) -> str:
    import json

    return json.dumps(
        {name: told[name] for name in ("time", "decision", "revision", "count", "reads") if name in told}
    )
