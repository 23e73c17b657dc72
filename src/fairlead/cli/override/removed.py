"""An override that somebody removed, as `fairlead override report` still finds it: by its audit line and the history.

Its last version is listed at the revision before it was removed; what it left is looked for among what is there now,
by the same code as the controller's (`reconcile/overrides/residue.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from fairlead.cli.client import ApiClient
from fairlead.core.errors import ApiError, NotFound
from fairlead.model.key import Key
from fairlead.model.views import OVERRIDES, PODS, RESERVATIONS, Resource, View

Json = dict[str, Any]
T = TypeVar("T", bound=View)
_PATHS = {
    RESERVATIONS.name: "/apis/fairlead.dev/v1{}/reservations",
    PODS.name: "/api/v1{}/pods",
    OVERRIDES.name: "/apis/fairlead.dev/v1{}/scheduleroverrides",
}


class Removal(NamedTuple):
    """When, by whom, and the object as it was."""

    time: str
    user: str
    override: Json


def find_removed(
    client: ApiClient, name: str, spaces: Iterable[str], audit: Iterable[Json]
) -> Removal | None:
    """The last of that name that was removed; None: there is no such line, or the history begins later."""
    wanted, line = set(spaces), None
    for record in audit:
        about = record.get("object") or {}
        if (
            record.get("verb") == "delete"
            and about.get("resource") == "scheduleroverrides"
            and about.get("name") == name
            and about.get("namespace") in wanted
            and record.get("revisionBefore")
        ):
            line = record
    if line is None:
        return None
    space = line["object"]["namespace"]
    at = {"resourceVersion": str(line["revisionBefore"]), "resourceVersionMatch": "Exact"}
    try:
        page = client.get(_PATHS[OVERRIDES.name].format(f"/namespaces/{space}"), at)
    except ApiError:
        return None
    head = {"apiVersion": OVERRIDES.api_version, "kind": OVERRIDES.kind}
    for each in page.get("items") or ():
        if each["metadata"]["name"] == name:
            return Removal(line["time"], line.get("user") or "", {**head, **each})
    return None


def left_of(client: ApiClient, override: Json) -> list[str]:
    from fairlead.reconcile.overrides.residue import residue_of

    meta = override["metadata"]
    return list(residue_of(_Now(client), Key(OVERRIDES.name, meta["namespace"], meta["name"])))


class _Now:
    """What is there, read through the API."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    def get(self, resource: Resource[T], namespace: str, name: str) -> T | None:
        try:
            path = _PATHS[resource.name].format(f"/namespaces/{namespace}")
            return msgspec.convert(self._client.get(f"{path}/{name}"), resource.type)
        except NotFound:
            return None

    def list(self, resource: Resource[T], namespace: str = "") -> Sequence[T]:
        page = self._client.get(_PATHS[resource.name].format(f"/namespaces/{namespace}" if namespace else ""))
        return [msgspec.convert(each, resource.type) for each in page.get("items") or ()]
