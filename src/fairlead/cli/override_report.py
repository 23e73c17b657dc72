"""`fairlead override report`: what was done under one override, by the audit log, what it left, how well it was
foreseen."""

from __future__ import annotations

import argparse
from typing import Any

from fairlead.cli.audit import PATH as AUDIT
from fairlead.cli.client import ApiClient
from fairlead.cli.log_lines import LogLines
from fairlead.cli.output import print_json, print_table
from fairlead.cli.override import condition_of, find, spaces_of
from fairlead.cli.override_removed import Removal, find_removed, left_of
from fairlead.cli.override_score import print_score, score_of
from fairlead.core.errors import NotFound
from fairlead.core.times import human_duration, parse_time

Json = dict[str, Any]
#: bound: plane | writes that a report shows | the first ones
WRITES_SHOWN_MAX = 200
_READS = ("get", "list", "watch")


def report(client: ApiClient, options: argparse.Namespace) -> int:
    lines = [item["record"] for item in LogLines(client, AUDIT, "").read()]
    removal = None
    try:
        override = find(client, options)
    except NotFound:
        removal = find_removed(client, options.name, spaces_of(client, options), lines)
        if removal is None:
            raise
        override = removal.override
    return _tell(client, override, removal, lines, options.output)


def _tell(client: ApiClient, override: Json, removal: Removal | None, lines: list[Json], form: str) -> int:
    ended = min(override["spec"]["expiresAt"], removal.time) if removal else override["spec"]["expiresAt"]
    writes = _writes(lines, override, ended)
    score = score_of(client, override, lines, ended)
    status = override.get("status") or {}
    left = left_of(client, override) if removal else status.get("residue") or []
    told = {
        "override": override,
        "writes": writes[:WRITES_SHOWN_MAX],
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
    print_score(override, score)
    print()
    first = ", the first:" if len(writes) > WRITES_SHOWN_MAX else ""
    print(f"{len(writes)} writes to it and its target while it held, reports of status left out{first}")
    if writes:
        rows = [
            (each["time"], each["user"], each["verb"], each["object"], each["changed"]) for each in writes
        ]
        print_table(("TIME", "USER", "VERB", "OBJECT", "CHANGED"), rows[:WRITES_SHOWN_MAX])
    return 0


def _writes(lines: list[Json], override: Json, ended: str) -> list[Json]:
    """To the override itself, its target, and what belongs to that, by their names."""
    meta, spec = override["metadata"], override["spec"]
    begun = meta["creationTimestamp"]
    space, target = meta["namespace"], spec["target"].partition("/")[2]
    found = []
    for record in lines:
        about = record.get("object") or {}
        if record.get("verb") in _READS or not begun <= record.get("time", "")[:19] + "Z" <= ended:
            continue
        if about.get("subresource") == "status":
            continue  # what became of things, not what was done
        name = about.get("name") or ""
        is_own = about.get("resource") == "scheduleroverrides" and name == meta["name"]
        in_target = bool(target) and (name == target or name.startswith(f"{target}-"))
        in_target |= spec["target"] == f"namespace/{about.get('namespace')}"
        if is_own or (in_target and about.get("namespace") in (space, target)):
            path = "/".join(part for part in (about.get("resource"), name, about.get("subresource")) if part)
            changed = ",".join((record.get("changed") or [])[:3])
            found.append(
                {
                    "time": record.get("time"),
                    "user": record.get("user"),
                    "verb": record.get("verb"),
                    "object": path,
                    "changed": changed or record.get("reason") or "",
                }
            )
    return found
