"""`fairlead progress`: how far a workload's pods have come, what holds them up, whose turn it is; live on a terminal.

The workload and its pods are read, and told as the plane tells it in `status.progress`, by the same function
(`reconcile/progress.py`): the sum and the pods below it are always of the same moment, which what the plane wrote a
moment ago is not. Who may not read pods sees what the plane wrote. On a terminal the picture is drawn anew until all
are through or Ctrl-C; in a pipe it is told once.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from fairlead.cli import options as shared
from fairlead.cli.client import Client, connect
from fairlead.cli.objects import Named, exists, missing, named, split
from fairlead.cli.output import aligned, cell, colours, print_json
from fairlead.core.errors import ApiError, UsageError
from fairlead.core.times import human_duration, parse_time
from fairlead.ledger.progress import standing_of
from fairlead.model.service_views import EndpointSlice, Service
from fairlead.model.stages import STAGES
from fairlead.model.views import DaemonSet, Deployment, Job, LabelSelector, Pod, StatefulSet
from fairlead.reconcile.progress import Workload, selects, served_by, told_of

POLL_SECONDS = 0.5
PODS_SHOWN_MAX = 30
_BAR = 24
_TYPES: dict[str, type[Workload]] = {
    "deployments.apps": Deployment,
    "statefulsets.apps": StatefulSet,
    "daemonsets.apps": DaemonSet,
    "jobs.batch": Job,
}
_KINDS = tuple(_TYPES)
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
        if options.output == "json":
            told = _progress(client.get(workload.path))
            print_json(told)
            return 0 if is_done(told) else 1
        live = sys.stdout.isatty() and not options.once
        drawn = 0
        while True:
            seen = look(client, workload)
            lines = picture(workload, seen, time.time())
            if drawn:
                sys.stdout.write(f"\033[{drawn}A\033[J")
            print("\n".join(lines), flush=True)
            drawn = len(lines)
            done = is_done(seen.told) and not seen.behind
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


class Seen(NamedTuple):
    """A workload at one moment. `behind`: so many changes of it its controller has not seen yet."""

    told: Json
    pods: Sequence[Pod] = ()  # those that are not on their way out
    served: frozenset[str] | None = None
    behind: int = 0


def look(client: Client, workload: Named) -> Seen:
    obj = client.get(workload.path)
    observed = (obj.get("status") or {}).get("observedGeneration")
    behind = 0 if observed is None else (obj.get("metadata") or {}).get("generation", 0) - observed
    view = msgspec.convert(obj, _TYPES[f"{workload.resource.plural}.{workload.resource.group}"])
    try:
        pods = _pods(client, workload.namespace, view)
        served = None if isinstance(view, Job) else _served(client, view)
    except ApiError:
        return Seen(_progress(obj), behind=behind)
    shown = [pod for pod in pods if not pod.metadata.deletion_timestamp]
    return Seen(told_of(view, pods, served), shown, served, behind)


def _none(typed: str) -> UsageError:
    names = ", ".join(each.partition("s.")[0] for each in _KINDS)
    return UsageError(f"{typed!r} names no workload: use {names} or {_ANY}, as in deployment/web")


def picture(workload: Named, seen: Seen, now: float) -> list[str]:
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
    if told.get("hold"):
        lines.append(
            cell(f"on hold: {told['hold']['reason']}; next step: {told['hold'].get('owner') or '?'}")
        )
        lines.append(f"  {cell(told['hold'].get('message') or '')}")
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


def _pod_lines(seen: Seen) -> list[str]:
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
    return ["", *(aligned(row, widths) for row in (header, *rows)), *more]


def _progress(obj: Json) -> Json:
    told: Json = (obj.get("status") or {}).get("progress") or {}
    return told


def is_done(told: Json) -> bool:
    return bool(told) and not told.get("pending") and not told.get("hold")


def _pods(client: Client, namespace: str, workload: Workload) -> list[Pod]:
    """Those that it controls, a Deployment's by its ReplicaSets. Its selector only makes the answer shorter."""
    selector = workload.spec.selector
    labels = (
        selector.match_labels if isinstance(selector, LabelSelector) else selector.get("matchLabels") or {}
    )
    query = (
        {"labelSelector": ",".join(f"{key}={value}" for key, value in sorted(labels.items()))}
        if labels
        else {}
    )
    owners = {workload.metadata.uid}
    if isinstance(workload, Deployment):
        sets = client.get(f"/apis/apps/v1/namespaces/{namespace}/replicasets", query).get("items") or ()
        owners = {each["metadata"]["uid"] for each in sets if _controller(each) in owners}
    pods = client.get(f"/api/v1/namespaces/{namespace}/pods", query).get("items") or ()
    return [msgspec.convert(pod, Pod) for pod in pods if _controller(pod) in owners]


def _controller(obj: Json) -> str:
    owners = obj["metadata"].get("ownerReferences") or ()
    return next((each.get("uid") or "" for each in owners if each.get("controller")), "")


def _served(client: Client, workload: Workload) -> frozenset[str] | None:
    namespace = workload.metadata.namespace
    found = client.get(f"/api/v1/namespaces/{namespace}/services").get("items") or ()
    services = [each for each in (msgspec.convert(one, Service) for one in found) if selects(each, workload)]
    if not services:
        return None
    slices = client.get(f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices").get("items") or ()
    return served_by(services, [msgspec.convert(each, EndpointSlice) for each in slices])
