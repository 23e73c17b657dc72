"""`fairlead override report`: what was done under one override, by the audit log and the records of decisions, what it
cost, what it left, how well it was foreseen."""

from __future__ import annotations

import argparse
from typing import Any

from fairlead.cli.audit import PATH as AUDIT
from fairlead.cli.client import ApiClient
from fairlead.cli.decisions import PATH as DECISIONS
from fairlead.cli.log_lines import LogLines
from fairlead.cli.output import hint, print_json, print_table
from fairlead.cli.override.deeds import Deeds
from fairlead.cli.override.place import place_of
from fairlead.cli.override.removed import Removal, find_removed, left_of
from fairlead.cli.override.score import print_score, score_of
from fairlead.cli.override.verb import condition_of, find, spaces_of
from fairlead.core.errors import Forbidden, NotFound
from fairlead.core.times import human_duration, parse_time

Json = dict[str, Any]
#: bound: plane | writes that a report shows | the first ones
WRITES_SHOWN_MAX = 200
_COSTS = {
    "evicted": "had to leave",
    "displaced": "pushed out by its priority",
    "refused": "kept by a budget or a guard",
    "pending": "without a node because of it",
    "held": "kept waiting",
}
_COST_SHOWN_MAX = 10


def report(client: ApiClient, options: argparse.Namespace) -> int:
    lines = _read(client, AUDIT, "the audit log")
    removal = None
    try:
        override = find(client, options)
    except NotFound:
        removal = find_removed(client, options.name, spaces_of(client, options), lines or ())
        if removal is None:
            raise
        override = removal.override
    return _tell(client, override, removal, lines, options.output)


def _tell(
    client: ApiClient, override: Json, removal: Removal | None, lines: list[Json] | None, form: str
) -> int:
    ended = min(override["spec"]["expiresAt"], removal.time) if removal else override["spec"]["expiresAt"]
    records, is_read = _read(client, DECISIONS, "decisions"), lines is not None
    lines = lines or []
    deeds = Deeds(override, ended, lines, records or (), place_of(client, override, lines))
    writes, cost, edits = deeds.writes(), deeds.cost().as_json(override), deeds.edits()
    unexplained = deeds.unexplained() if records is not None else []
    score = score_of(client, override, lines, ended)
    status = override.get("status") or {}
    left = left_of(client, override) if removal else status.get("residue") or []
    told = {
        "override": override,
        "writes": writes[:WRITES_SHOWN_MAX],
        "cost": cost,
        "unexplained": unexplained[:WRITES_SHOWN_MAX],
        "edits": edits[:WRITES_SHOWN_MAX],
        "residue": left,
        "score": score,
        "removed": {"time": removal.time, "by": removal.user} if removal else None,
    }
    if form == "json":
        print_json(told)
        return 0
    meta, spec = override["metadata"], override["spec"]
    lasts = parse_time(spec["expiresAt"]) - parse_time(meta["creationTimestamp"])
    print(f"{meta['namespace']}/{meta['name']}: {spec['reason']}")
    print(f"  target    {spec['target']}{' in ' + spec['scope'] if spec.get('scope') else ''}")
    print(f"  owner     {spec.get('owner')}, made by {spec.get('requestedBy')}")
    if spec.get("ticket"):
        print(f"  ticket    {spec['ticket']}")
    approved = condition_of(override, "Approved")
    if approved:
        print(f"  approved  {approved.get('message')} at {approved.get('lastTransitionTime')}")
    print(f"  from      {meta['creationTimestamp']} for {human_duration(lasts)}, until {spec['expiresAt']}")
    observed = condition_of(override, "SchedulerOverrideObserved")
    print(f"  observed  {observed.get('status', 'Unknown')}: {observed.get('message', 'by nobody yet')}")
    for each in status.get("held") or ():
        print(
            f"  held      {each['kind']} {each.get('namespace')}/{each['name']} at {each.get('replicas', 0)}"
        )
    for each in status.get("undoPlan") or ():
        print(f"  its end   {each}")
    if removal:
        print(f"  removed   {removal.time} by {removal.user}")
        print(f"  residue   {f'{len(left)} left' if left else 'nothing of it is left'}")
    else:
        residue = condition_of(override, "Residue")
        print(f"  residue   {residue.get('message') or 'looked for when it ends'}")
    for each in left:
        print(f"    {each}")
    _print_cost(cost, is_read and records is not None and not unexplained)
    print_unexplained(unexplained)
    print_score(override, score)
    print_edits(edits)
    print()
    first = ", the first:" if len(writes) > WRITES_SHOWN_MAX else ""
    print(f"{len(writes)} writes to it and its target while it held, reports of status left out{first}")
    if writes:
        rows = [
            (each["time"], each["user"], each["verb"], each["object"], each["decision"], each["changed"])
            for each in writes[:WRITES_SHOWN_MAX]
        ]
        print_table(("TIME", "USER", "VERB", "OBJECT", "DECISION", "CHANGED"), rows)
    return 0


def _read(client: ApiClient, path: str, what: str) -> list[Json] | None:
    """What this person may see of a log; None: nothing. Who approves need not be allowed to read what all others do."""
    try:
        return [item["record"] for item in LogLines(client, path).read()]
    except Forbidden as error:
        hint(f"{what} cannot be read, so that writes and costs are missing: {error}")
        return None


def print_edits(edits: list[Json]) -> None:
    """What people wrote past it; nothing if nobody did."""
    if not edits:
        return
    print()
    many = "s" * (len(edits) != 1)
    print(f"{len(edits)} edit{many} by hand, of what an override holds or past a controller of its target")
    rows = [
        (
            each["time"],
            each["user"],
            each["verb"],
            each["object"],
            each["override"],
            ", ".join(each["held"]) or None,
            each["past"] or None,
        )
        for each in edits[:WRITES_SHOWN_MAX]
    ]
    print_table(("TIME", "USER", "VERB", "OBJECT", "OVERRIDE", "HELD", "PAST"), rows)


def print_unexplained(writes: list[Json]) -> None:
    """What may have been done because of it, and no record says so; nothing if all is explained."""
    if not writes:
        return
    paths = [f"{each['object']} of {each['namespace']} by {each['user']}" for each in writes]
    more = f" and {len(paths) - _COST_SHOWN_MAX} more" if len(paths) > _COST_SHOWN_MAX else ""
    many = "s" * (len(paths) != 1)
    told = f"write{many} while it held, by decisions that are not kept, may be of it"
    print(f"  unsure    {len(paths)} {told}: {', '.join(paths[:_COST_SHOWN_MAX])}{more}")


def _print_cost(cost: Json, is_known: bool) -> None:
    """What is of others first: that is what the one who made it may not have known."""
    told = False
    for field, what in _COSTS.items():
        for own, whose in ((False, "of others"), (True, "of its target")):
            found = [each["object"] for each in cost[field] if each["own"] is own]
            if not found:
                continue
            told = True
            more = f" and {len(found) - _COST_SHOWN_MAX} more" if len(found) > _COST_SHOWN_MAX else ""
            print(f"  cost      {len(found)} {whose} {what}: {', '.join(found[:_COST_SHOWN_MAX])}{more}")
    if not told:
        print(f"  cost      {'none that is recorded' if is_known else 'not known'}")
