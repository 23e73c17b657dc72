"""`fairlead explain` of what any controller decided about an object, now or at a moment of the past; and what made a
decision another than the one before (`--diff`).
"""

from __future__ import annotations

import argparse
import re
import time
from typing import Any

from fairlead.cli.client import ApiClient
from fairlead.cli.moments import parse_moment
from fairlead.cli.objects import NamedObject, not_found, resolve_object
from fairlead.cli.output import cell, hint, print_json, print_table
from fairlead.cli.workloads import is_workload
from fairlead.core.errors import NotFound, UsageError
from fairlead.core.times import microtime

PATH = "/fairlead/v1/decided"
PREVIOUS = "previous"
_ID = re.compile(r"[0-9a-f]{8}-\d+")
_DECISIVE = {None: "-", True: "yes", False: "no"}


def is_other(typed: str, client: ApiClient, namespace: str | None) -> bool:
    """Neither a pod nor a workload: all there is to explain is what was decided about it."""
    if "/" not in typed or is_workload(client, typed, namespace):
        return False
    return resolve_object(client, typed, namespace, "pod").resource.plural != "pods"


def explain_decided(client: ApiClient, options: argparse.Namespace) -> int:
    found = resolve_object(client, options.pod, options.namespace, "pod")
    query = {}
    if _ID.fullmatch(options.at):
        query["id"] = options.at
    elif options.at:
        query["at"] = microtime(parse_moment("--at", options.at, time.time()))
    if options.controller:
        query["controller"] = options.controller
    if options.diff:
        query["diff"] = "true"
        if options.diff != PREVIOUS:
            if not _ID.fullmatch(options.diff):
                raise UsageError(
                    f"--diff takes the id of a decision, such as 4f1c22ab-7, not {options.diff!r}"
                )
            query["against"] = options.diff
    answer = _ask(client, found, query)
    if options.output == "json":
        print_json(answer)
        return 0
    for place, each in enumerate(answer["decisions"]):
        if place:
            print()
        _print(each, is_diff=bool(options.diff))
    if answer["others"]:
        hint(f"also decided about it: {', '.join(answer['others'])} (--controller NAME)")
    return 0


def _ask(client: ApiClient, found: NamedObject, query: dict[str, str]) -> dict[str, Any]:
    resource = found.resource
    name = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
    try:
        return client.get(f"{PATH}/{name}/{found.namespace or '-'}/{found.name}", query)
    except NotFound as error:
        if query.get("id") or query.get("controller") or "no decision about" in str(error):
            raise
        raise not_found(client, [found]) from error


def _print(told: dict[str, Any], *, is_diff: bool) -> None:
    head = f"{told['controller']} on {told['object']}, {told['time']} ({told['id']})"
    print(f"{head}: {verdict_told(told)}")
    if told.get("cause"):
        print(f"because of: {told['cause']}, after {told.get('waited', 0.0):.3f}s in the queue")
    for each in told.get("effects") or ():
        print(f"effect: {each}")
    for each in told["outcomes"]:
        print(f"outcome: {each['outcome']} {cell(each.get('trouble') or each.get('message') or '')}".rstrip())
    print(f"read: {', '.join(map(_read, told['reads'])) or 'nothing'}")
    print(f"run again: {_again(told['again'])}")
    if is_diff:
        _print_diff(told.get("diff"))


def verdict_told(told: dict[str, Any]) -> str:
    if told.get("node"):
        return f"Placed on {told['node']}"
    reason, message = told.get("reason", ""), told.get("message", "")
    words = ": ".join(part for part in (reason, cell(message) if message else "") if part)
    return f"{told['verdict']} ({words})" if words else str(told["verdict"])


def _read(read: dict[str, Any]) -> str:
    behind = read["behind"]
    stale = f" (stale by {behind}: {read['newest']} was there)" if behind else ""
    return f"{read['resource']}@{read['used']}{stale}"


def _again(again: dict[str, Any]) -> str:
    if again["agrees"] is None:
        return f"not possible, {again['why']}; this is the record alone"
    if again["agrees"]:
        return "agrees"
    now = again.get("decision")
    return f"differs: {again['why'] or (verdict_told(now) if now else 'it comes to nothing')}"


def _print_diff(diff: dict[str, Any] | None) -> None:
    if diff is None:
        print("before: there is no earlier decision of it in the log")
        return
    against = diff["against"]
    print(f"\nagainst {against['id']}, {against['time']}: {verdict_told(against)}")
    flipped = diff["verdict"]
    print(f"verdict: {'the same' if flipped is None else _flip(flipped)}")
    for word, effects in (("no longer", diff["effects"]["gone"]), ("new", diff["effects"]["new"])):
        for each in effects:
            print(f"effect, {word}: {each}")
    for when, word in (("before", "was"), ("after", "is")):
        if diff["held"][when]:
            print(f"{word} held back by a refusal: {cell(diff['held'][when])}")
    for each in diff.get("filters") or ():
        print(f"filter {each['filter']}: left {each['before']} nodes, then {each['after']}")
    if diff.get("unread"):
        print(f"inputs: could not be compared, {diff['unread']}")
    if diff.get("byTime"):
        print("decisive: the time that had passed")
    if diff.get("inputs"):
        rows = [
            (
                each["object"],
                _revisions(each),
                _DECISIVE[each["decisive"]],
                each["what"],
            )
            for each in diff["inputs"]
        ]
        print_table(("INPUT THAT CHANGED", "REVISION", "DECISIVE", "WHAT"), rows)
    elif not diff.get("unread"):
        print("inputs: none that it was shown changed")
    for name, words in (("hidden", "that you may not read"), ("leftOut", "more")):
        if diff.get(name):
            hint(f"{diff[name]} changed inputs {words}")


def _revisions(each: dict[str, Any]) -> str:
    return f"{each['before'] or '-'} -> {each['after'] or '-'}"


def _flip(flipped: dict[str, Any]) -> str:
    return " -> ".join(
        " ".join(str(part[name]) for name in ("verdict", "reason", "node") if part.get(name))
        for part in (flipped["before"], flipped["after"])
    )
