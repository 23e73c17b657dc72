"""What was foreseen of an override next to what happened, read from the server's history. Part of `override report`.

What happened is the difference between the state from which was looked ahead and the one at the override's end, or now
if it still holds. Both are listed at their revisions; a history that does not reach back so far is told.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import msgspec

from fairlead.cli.client import ApiClient
from fairlead.cli.output import print_table
from fairlead.core.errors import ApiError
from fairlead.core.times import parse_time
from fairlead.model.kinds import override_preview as kept

Json = dict[str, Any]
_ROWS_SHOWN = 30
# Who is where, who waits, and to whom pods belong.
_READ = {
    "pods": "/api/v1/pods",
    "nodes": "/api/v1/nodes",
    "replicasets.apps": "/apis/apps/v1/replicasets",
    "jobs.batch": "/apis/batch/v1/jobs",
    "scheduleroverrides.fairlead.dev": "/apis/fairlead.dev/v1/scheduleroverrides",
}


class _List(msgspec.Struct):
    items: list[msgspec.Raw] = []


_LISTS = msgspec.json.Decoder(_List)


def score_of(client: ApiClient, override: Json, audit: Iterable[Json], ended: str) -> Json:
    """The score, or {"unscored": why}. `audit`: the records of the audit log, oldest first. `ended`: when it ended, or
    will."""
    from fairlead.sim.preview.scoring import score, what_happened

    preview = override["spec"].get("preview") or kept.skipped()
    if preview.get("outcome") != kept.MADE:
        return {"unscored": f"nothing was foreseen ({kept.told(preview)})"}
    ends, now = parse_time(ended), time.time()
    is_over = now >= ends
    at = _revision_at(audit, ends) if is_over else ""
    try:
        # The instant before its end, at which it still closes nodes.
        before = _state(client, preview.get("revision") or "0", min(now, ends) - 1.0)
        after = _state(client, at, min(now, ends) - 1.0)
    except ApiError as error:
        return {"unscored": f"the server's history cannot be read: {error}"}
    return {"over": is_over, **score(preview, what_happened(before, after)).as_json()}


def print_score(override: Json, found: Json) -> None:
    preview = override["spec"].get("preview") or kept.skipped()
    print(f"  foreseen  {kept.told(preview)}")
    if "unscored" in found:
        if preview.get("outcome") == kept.MADE:
            print(f"  scored    not: {found['unscored']}")
        return
    when = "at its end" if found["over"] else "so far"
    print(f"  scored    {found['right']:.0%} right {when}, by pods that were to move or wait, or did")
    rows = [
        (
            f"{each['namespace']}/{each['workload']}",
            each["moved_foreseen"],
            each["moved"],
            each["pending_foreseen"],
            each["pending"],
        )
        for each in found["workloads"]
    ]
    if rows:
        print()
        print_table(("WORKLOAD", "TO MOVE", "MOVED", "TO WAIT", "WAIT"), rows[:_ROWS_SHOWN])
    from fairlead.cli.forecast import amount

    room = [
        (
            each["zone"],
            each["resource"],
            amount(each["resource"], each["foreseen"]),
            amount(each["resource"], each["happened"]),
        )
        for each in found["room"]
    ]
    if room:
        print()
        print_table(("ZONE", "RESOURCE", "ROOM FORESEEN", "ROOM"), room)


def _revision_at(audit: Iterable[Json], ends: float) -> str:
    """Of the last write before that instant."""
    last = 0
    for record in audit:
        if record.get("revision") and parse_time(record["time"]) < ends:
            last = max(last, int(record["revision"]))
    return str(last)


def _state(client: ApiClient, revision: str, now: float) -> Any:
    """`revision`: "" for the newest."""
    from fairlead.sim.preview.state import live_state

    objects: list[tuple[str, bytes]] = []
    at = {"resourceVersion": revision, "resourceVersionMatch": "Exact"} if revision else {}
    for resource, path in _READ.items():
        status, body = client.raw(path, at)
        if status == 410:
            raise ApiError(f"it does not reach back to revision {revision} any more")
        if status >= 400:
            raise ApiError(f"{resource} cannot be listed ({status})")
        objects += [(resource, bytes(each)) for each in _LISTS.decode(body).items]
    return live_state(objects, now)
