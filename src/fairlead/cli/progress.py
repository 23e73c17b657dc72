"""`fairlead progress`: how far a workload's pods have come, what holds them up, whose turn it is; live on a terminal.

Reads `status.progress`, which the plane keeps, and the pods themselves. On a terminal the picture is drawn anew until
all are through or Ctrl-C; in a pipe it is told once.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from fairlead.cli import options as shared
from fairlead.cli.client import Client, connect
from fairlead.cli.objects import Named, exists, missing, named, split
from fairlead.cli.output import aligned, cell, colours, print_json
from fairlead.core.errors import ApiError, UsageError
from fairlead.core.times import human_duration, parse_time
from fairlead.model.stages import ENDED, READY, STAGES, standing_of_object

POLL_SECONDS = 0.5
PODS_SHOWN_MAX = 30
READS_MAX = 5
_BAR = 24
_KINDS = ("deployments.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch")
_ANY = "workload"
_EPILOG = """examples:
  fairlead progress deployment/web            until all of it serves, drawn live on a terminal
  fairlead progress workload/web -n shop      whichever workload has that name
  fairlead progress deploy/web --once         once, as in a pipe
  fairlead progress job/nightly -o json | jq .limit

admitted -> queued -> scheduled -> bound -> starting -> ready -> serving; each number counts the pods that have come at
least so far. Exit code 0 when all are through, 1 when told once before that.
"""

Json = dict[str, Any]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EPILOG
    parser.add_argument(
        "workload", metavar="KIND/NAME", help="deployment/web, sts/db, job/x, or workload/web"
    )
    shared.namespace(parser, "namespace (default: the kubeconfig's, or default)")
    parser.add_argument("--once", action="store_true", help="tell it once, also on a terminal")
    shared.output(parser, "table", "json")
    shared.kubeconfig(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    client = connect(options.kubeconfig)
    try:
        workload = find(client, options.workload, options.namespace)
        namespace = workload.namespace
        if options.output == "json":
            told = _progress(client.get(workload.path))
            print_json(told)
            return 0 if _is_done(told) else 1
        live = sys.stdout.isatty() and not options.once
        drawn = 0
        while True:
            obj, pods = _at_one_time(client, namespace, workload)
            lines = picture(workload, obj, pods, time.time())
            if drawn:
                sys.stdout.write(f"\033[{drawn}A\033[J")
            print("\n".join(lines), flush=True)
            drawn = len(lines)
            done = _is_done(_progress(obj))
            if done or not live:
                return 0 if done else 1
            time.sleep(POLL_SECONDS)
    finally:
        client.close()


def find(client: Client, typed: str, namespace: str | None) -> Named:
    """`workload/NAME` is the first kind that has an object of that name."""
    words = split(typed, namespace)
    whole = f"{words.namespace}/{words.name}" if words.namespace else words.name
    any_kind = words.kind.lower() in (_ANY, f"{_ANY}s")
    kinds = _KINDS if any_kind else (words.kind,)
    if not words.name:
        raise _none(typed)
    wanted = [named(client, f"{each}/{whole}", None) for each in kinds]
    if any(f"{each.resource.plural}.{each.resource.group}" not in _KINDS for each in wanted):
        raise _none(typed)
    for each in wanted:
        if exists(client, each):
            return each
    raise missing(client, wanted, _ANY if any_kind else "")


def _at_one_time(client: Client, namespace: str, workload: Named) -> tuple[Json, list[Json]]:
    """The workload and its pods; the plane tells progress a moment after pods change, so they are asked for again
    until they agree, or for long enough."""
    for left in reversed(range(READS_MAX)):
        obj = client.get(workload.path)
        pods = _pods(client, namespace, obj)
        if not left or _agrees(_progress(obj), pods):
            break
        time.sleep(POLL_SECONDS)
    return obj, pods


def _agrees(told: Json, pods: list[Json]) -> bool:
    """Whether what is told is of these pods: as many are there, and as many are ready. Who sees no pods cannot say."""
    if not pods or not told or "admitted" not in told:
        return True
    standings = [standing_of_object(pod) for pod in pods]
    counted = [each for each in standings if each.reason != "Released"]
    ready = sum(each.stage in (READY, ENDED) for each in counted)
    return bool((told["admitted"], told.get("ready")) == (len(counted), ready))


def _none(typed: str) -> UsageError:
    names = ", ".join(each.partition("s.")[0] for each in _KINDS)
    return UsageError(f"{typed!r} names no workload: use {names} or {_ANY}, as in deployment/web")


def picture(workload: Named, obj: Json, pods: list[Json], now: float) -> list[str]:
    told = _progress(obj)
    title = f"{workload.resource.singular}/{workload.name}"
    if not told:
        return [f"{title}: nothing is known of its progress yet"]
    desired = told.get("desired", 0)
    behind = (obj.get("metadata") or {}).get("generation", 0) - told.get("observedGeneration", 0)
    stale = f"   (of generation {told['observedGeneration']}, {behind} behind)" if behind > 0 else ""
    if not _agrees(told, pods):
        stale += f"   (as of {told.get('updated') or '?'}; the pods below have changed since)"
    lines = [f"{title}   {desired} desired{stale}"]
    lines += [
        f"  {stage:<10}{_bar(told[stage], desired)} {told[stage]}/{desired}"
        for stage in STAGES
        if stage in told
    ]
    for group in told.get("pending") or ():
        reason = f": {group['reason']}" if group.get("reason") else ""
        such = f", such as {group['pod']}" if group.get("pod") else ""
        lines.append(
            cell(
                f"{group['count']} at {group['stage']}{reason}{such}; next step: {group.get('owner') or '?'}"
            )
        )
        if group.get("message"):
            lines.append(f"  {cell(group['message'])}")
    lines += _happened(told, now)
    return lines + _pod_lines(pods)


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


def _pod_lines(pods: list[Json]) -> list[str]:
    rows = []
    for pod in pods[:PODS_SHOWN_MAX]:
        each = standing_of_object(pod)
        node = (pod.get("spec") or {}).get("nodeName")
        rows.append([cell(text) for text in (pod["metadata"]["name"], each.stage, each.reason, node)])
    if not rows:
        return []
    header = ["POD", "STAGE", "REASON", "NODE"]
    widths = [max(len(row[index]) for row in (header, *rows)) for index in range(4)]
    more = [f"... and {len(pods) - PODS_SHOWN_MAX} more"] if len(pods) > PODS_SHOWN_MAX else []
    return ["", *(aligned(row, widths) for row in (header, *rows)), *more]


def _progress(obj: Json) -> Json:
    told: Json = (obj.get("status") or {}).get("progress") or {}
    return told


def _is_done(told: Json) -> bool:
    return bool(told) and not told.get("pending")


def _pods(client: Client, namespace: str, obj: Json) -> list[Json]:
    """Those that its selector matches; a Job's selector is filled in by the server."""
    labels = ((obj.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
    if not labels:
        return []
    selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    try:
        answer = client.get(f"/api/v1/namespaces/{namespace}/pods", {"labelSelector": selector})
    except ApiError:
        return []  # who may not read pods still sees the sum
    return [pod for pod in answer.get("items") or () if not pod["metadata"].get("deletionTimestamp")]
