"""The nodes that an override closes, and the pods that were there when it was made, by the history of the server.

Part of `override report`: a place has no name that the names of its pods begin with.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from fairlead.cli.client import ApiClient
from fairlead.cli.output import hint
from fairlead.cli.override.deeds import PlaceContents
from fairlead.ledger import override as ledger
from fairlead.model.kinds.scheduleroverride import PLACES, split
from fairlead.model.views import Node, Pod, SchedulerOverride

Json = dict[str, Any]
_GONE = 410


class _Nodes(msgspec.Struct):
    items: list[Node] = []


class _Pods(msgspec.Struct):
    items: list[Pod] = []


def place_of(client: ApiClient, override: Json, audit: Iterable[Json]) -> PlaceContents:
    wanted = msgspec.convert(override, SchedulerOverride)
    is_place = split(wanted.spec.target)[0] in PLACES
    if not is_place and not ledger.bears_on_placement(wanted):
        return PlaceContents()
    at = _revision_of(override, audit)
    nodes = msgspec.json.decode(_read(client, "/api/v1/nodes", at), type=_Nodes).items
    names = frozenset(
        each.metadata.name
        for each in nodes
        if ledger.closes(wanted, each.metadata.name, each.metadata.labels)
    )
    if not is_place:
        return PlaceContents(names)  # what runs there stays, and is none of its business
    pods = msgspec.json.decode(_read(client, "/api/v1/pods", at), type=_Pods).items
    there = ((each.metadata.namespace, each.metadata.name) for each in pods if each.spec.node_name in names)
    return PlaceContents(names, frozenset(there))


def _revision_of(override: Json, audit: Iterable[Json]) -> str:
    """At which it was made; "": the log does not reach back so far."""
    meta = override["metadata"]
    for record in audit:
        about = record.get("object") or {}
        if (
            record.get("verb") == "create"
            and about.get("resource") == "scheduleroverrides"
            and (about.get("namespace"), about.get("name")) == (meta["namespace"], meta["name"])
            and about.get("uid", meta["uid"]) == meta["uid"]
            and record.get("revision")
        ):
            return str(record["revision"])
    return ""


def _read(client: ApiClient, path: str, revision: str) -> bytes:
    """At that revision, or as it is now where the history begins later."""
    if revision:
        status, body = client.raw(path, {"resourceVersion": revision, "resourceVersionMatch": "Exact"})
        if status < 400:
            return body
        if status != _GONE:
            hint(f"{path} cannot be read ({status}): writes there may be missing")
            return b"{}"
        hint(f"the history does not reach back to revision {revision}: {path} is read as it is now")
    status, body = client.raw(path)
    return body if status < 400 else b"{}"
