"""`fairlead progress`: how far a workload's pods have come, what holds them up, whose turn it is; live on a terminal.

What is told comes from `workloads.py`. On a terminal the picture is drawn anew until all are through or Ctrl-C; in a
pipe it is told once.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import closing
from typing import Any

import msgspec

from fairlead.cli import options as shared
from fairlead.cli.client import ApiClient, connect
from fairlead.cli.objects import NamedObject
from fairlead.cli.output import align, cell, colours, print_json
from fairlead.cli.progress_places import PlaceCounts, count_by_place, places_of
from fairlead.cli.workloads import WorkloadSight, find, held_up, is_done, observe, read_progress
from fairlead.core.times import human_duration, parse_time
from fairlead.ledger.override import PLACE_LABELS
from fairlead.ledger.progress import standing_of
from fairlead.model.stages import STAGES
from fairlead.model.views import Node

#: bound: plane | `fairlead progress` looks every | -
POLL_SECONDS = 0.5
#: bound: plane | pods shown by `fairlead progress` | the rest is counted
PODS_SHOWN_MAX = 30
_BAR = 24
EPILOG = """examples:
  fairlead progress deployment/web            until all of it serves, drawn live on a terminal
  fairlead progress workload/web -n shop      whichever workload has that name
  fairlead progress deploy/web --once         once, as in a pipe
  fairlead progress deploy/web --by region    and how far in each region; or zone, or pool
  fairlead progress job/nightly -o json | jq .limit
  fairlead progress deploy/web --by zone -o json | jq '.places[] | {name, ready}'

admitted -> queued -> scheduled -> bound -> starting -> ready -> serving; each number counts the pods that have come at
least so far. Exit code 0 when all are through, 1 when told once before that.
"""

Json = dict[str, Any]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "workload", metavar="KIND/NAME", help="deployment/web, sts/db, job/x, or workload/web"
    )
    shared.add_namespace(parser, "namespace (default: the kubeconfig's, or default)")
    parser.add_argument("--once", action="store_true", help="tell it once, also on a terminal")
    parser.add_argument("--by", choices=sorted(PLACE_LABELS), help="also how far in each of these")
    shared.add_client_options(parser, run, "table", "json")


def run(options: argparse.Namespace) -> int:
    with closing(connect(options.kubeconfig)) as client:
        workload = find(client, options.workload, options.namespace)
        if options.output == "json":
            return _tell_json(client, workload, options.by)
        live = sys.stdout.isatty() and not options.once
        drawn = 0
        while True:
            seen = observe(client, workload)
            lines = picture(workload, seen, time.time())
            if options.by:
                lines += _counts(client, seen, options.by).lines(options.by)
            if drawn:
                sys.stdout.write(f"\033[{drawn}A\033[J")
            print("\n".join(lines), flush=True)
            drawn = len(lines)
            done = is_done(seen)
            if done or not live:
                return 0 if done else 1
            time.sleep(POLL_SECONDS)


def _tell_json(client: ApiClient, workload: NamedObject, by: str | None) -> int:
    """What the plane wrote; by places it is counted here as for a table, so that both are of the same moment."""
    if by is None:
        seen = WorkloadSight(read_progress(client.get(workload.path)))
        told = seen.told
    else:
        seen = observe(client, workload)
        told = {**seen.told, "by": by, "places": _counts(client, seen, by).told()}
    print_json(told)
    return 0 if is_done(seen) else 1


def _counts(client: ApiClient, seen: WorkloadSight, by: str) -> PlaceCounts:
    found = client.get("/api/v1/nodes").get("items") or ()
    places = places_of((msgspec.convert(each, Node) for each in found), by)
    return count_by_place(seen.pods, seen.served, places)


def picture(workload: NamedObject, seen: WorkloadSight, now: float) -> list[str]:
    told = seen.told
    title = f"{workload.resource.singular}/{workload.name}"
    if not told:
        return [f"{title}: nothing is known of its progress yet"]
    desired = told.get("desired", 0)
    stale = f"   (its controller has not seen {seen.behind} changes yet)" if seen.behind > 0 else ""
    lines = [f"{title}   {desired} desired{stale}"]
    lines += [
        f"  {stage:<10}{_bar(told[stage], desired)} {told[stage]}/{desired}"
        for stage in STAGES
        if stage in told
    ]
    lines += held_up(told)
    lines += _happened(told, now)
    return lines + _pod_lines(seen)


def _bar(count: int, of: int) -> str:
    if not colours(sys.stdout):
        return ""
    full = _BAR if of <= 0 else min(_BAR, round(_BAR * count / of))
    return "█" * full + "░" * (_BAR - full)


def _happened(told: Json, now: float) -> list[str]:
    lines = []
    for name, title in (("lastAction", "last action"), ("lastError", "last error")):
        each = told.get(name)
        if each:
            ago = f"{human_duration(now - parse_time(each['at']))} ago: " if each.get("at") else ""
            parts = (each.get("reason"), each.get("pod"), each.get("message"))
            lines.append(f"{title}: {ago}{cell(' '.join(part for part in parts if part))}")
    deadline = told.get("deadline")
    if deadline and deadline["state"] != "Met":
        left = f", {human_duration(parse_time(deadline['at']) - now)} left" if deadline.get("at") else ""
        lines.append(f"deadline: {deadline['state']} ({deadline['seconds']}s without progress{left})")
    return lines


def _pod_lines(seen: WorkloadSight) -> list[str]:
    rows, pods = [], seen.pods
    for pod in pods[:PODS_SHOWN_MAX]:
        each = standing_of(pod, seen.served)
        texts = (pod.metadata.name, each.stage, each.reason, pod.spec.node_name)
        rows.append([cell(text) for text in texts])
    if not rows:
        return []
    header = ["POD", "STAGE", "REASON", "NODE"]
    widths = [max(len(row[index]) for row in (header, *rows)) for index in range(4)]
    more = [f"... and {len(pods) - PODS_SHOWN_MAX} more"] if len(pods) > PODS_SHOWN_MAX else []
    return ["", *(align(row, widths) for row in (header, *rows)), *more]
