"""`fairlead overrides`: what people have laid down for a while, on what, by whom, until when."""

from __future__ import annotations

import argparse
import time
from contextlib import closing
from typing import Any

from fairlead.cli import options as shared
from fairlead.cli.client import ApiClient, connect
from fairlead.cli.output import hint, print_json, print_table
from fairlead.cli.override.verb import condition_of, path_of
from fairlead.core.errors import ApiError
from fairlead.core.times import human_duration, parse_time

Json = dict[str, Any]
_HEADER = ("NAMESPACE", "NAME", "TARGET", "CHANGES", "STATE", "OWNER", "ENDS IN", "REASON")
EPILOG = """examples:
  fairlead overrides                     what is active, in all namespaces
  fairlead overrides --ended             with those that have ended, and what they left
  fairlead overrides -n shop -o json
  fairlead overrides --object deployment/web     for each of its fields, whose word counts now, and what was
                                                 written by hand past an override
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ended", action="store_true", help="also those that have ended")
    parser.add_argument(
        "--object",
        metavar="KIND/NAME",
        default="",
        help="for each field of this object, whose word counts now",
    )
    shared.add_namespace(parser, "only this namespace (default: all; of an object: that of the kubeconfig)")
    shared.add_client_options(parser, run, "table", "json")


def run(options: argparse.Namespace) -> int:
    from fairlead.model.kinds.scheduleroverride import changed_fields

    with closing(connect(options.kubeconfig)) as client:
        if options.object:
            from fairlead.cli.authoritative_told import tell

            return tell(client, options)
        items = client.get(path_of(options.namespace or "")).get("items") or []
        leader = _leader(client)
    now = time.time()
    if not options.ended:
        items = [each for each in items if parse_time(each["spec"]["expiresAt"]) > now]
    if options.output == "json":
        print_json({"items": items})
        return 0
    if not items:
        hint("No override is active." if not options.ended else "There are no overrides.")
        return 0
    items.sort(key=lambda each: each["spec"]["expiresAt"])
    rows = [
        (
            each["metadata"]["namespace"],
            each["metadata"]["name"],
            each["spec"]["target"] + (f" in {each['spec']['scope']}" if each["spec"].get("scope") else ""),
            ",".join(changed_fields(each["spec"])),
            _state(each, now, leader),
            each["spec"].get("owner"),
            _ends(each, now),
            each["spec"]["reason"],
        )
        for each in items
    ]
    print_table(_HEADER, rows)
    return 0


def _state(override: Json, now: float, leader: str | None) -> str:
    spec = override["spec"]
    if parse_time(spec["expiresAt"]) <= now:
        residue = condition_of(override, "Residue")
        return "Ended, residue" if residue.get("status") == "True" else "Ended"
    if spec.get("approval") and not condition_of(override, "Approved"):
        return "AwaitingApproval"
    observed = condition_of(override, "SchedulerOverrideObserved")
    if observed.get("status") != "True":
        return f"NotObserved: {observed.get('message') or 'no plane has seen it'}"
    if leader == "":
        return "Active, but no plane leads: nothing acts on it"
    return "Active"


def _ends(override: Json, now: float) -> str:
    left = parse_time(override["spec"]["expiresAt"]) - now
    return human_duration(left) if left > 0 else f"{human_duration(-left)} ago"


def _leader(client: ApiClient) -> str | None:
    """Who leads; "": nobody has renewed for longer than the lease lasts; None: it cannot be read."""
    from fairlead.model.marks import PLANE_LEASE, PLANE_NAMESPACE

    try:
        lease = client.get(f"/apis/coordination.k8s.io/v1/namespaces/{PLANE_NAMESPACE}/leases/{PLANE_LEASE}")
    except ApiError:
        return None
    spec = lease.get("spec") or {}
    renewed = spec.get("renewTime")
    if not renewed or parse_time(renewed) + 2 * (spec.get("leaseDurationSeconds") or 0) < time.time():
        return ""
    return str(spec.get("holderIdentity") or "")
