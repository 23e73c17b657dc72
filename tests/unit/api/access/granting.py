"""Grants of given roles and bindings, and a Reader of given objects, without a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from fairlead.api.access.rbac.default_roles import default_bindings, default_roles
from fairlead.api.access.rbac.grants import Grants
from fairlead.model.catalog import CATALOG
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.store.contract import ADDED, CommittedChange, Damaged, Entry, Lost


def grants_of(*objects: Json) -> Grants:
    """What these grant, committed in this order."""
    grants = Grants()
    for obj in objects:
        assert grants.observe([change_of(obj)]) == []
    return grants


def change_of(obj: Json, type_: str = ADDED) -> CommittedChange:
    kind = CATALOG.find_kind("rbac.authorization.k8s.io", "v1", obj["kind"])
    assert kind is not None
    metadata = obj["metadata"]
    key = Key(kind.resource, metadata.get("namespace", ""), metadata["name"])
    return CommittedChange(type_, Entry(key, "u", 1, msgspec.json.encode(obj)), None)


def give_defaults(grants: Grants) -> None:
    """What a server grants from its first start on, to one that was assembled without starting."""
    for obj in (*default_roles(CATALOG), *default_bindings()):
        assert grants.observe([change_of(obj)]) == []


def default_grants() -> Grants:
    """What a plane grants that nobody has touched."""
    return grants_of(*default_roles(CATALOG), *default_bindings())


class Objects:
    """A Reader over a few objects."""

    revision = 1
    lost: Sequence[Lost] = ()
    short = ""
    damaged: Mapping[Key, Damaged] = MappingProxyType({})

    def __init__(self, *objects: tuple[str, dict[str, Any]]) -> None:
        self._entries = {}
        for resource, value in objects:
            key = Key(resource, value["metadata"].get("namespace", ""), value["metadata"]["name"])
            self._entries[key] = Entry(key, "u", 1, msgspec.json.encode(value))

    def get(self, key: Key) -> Entry | None:
        return self._entries.get(key)

    newest = get

    def list(self, resource: str, namespace: str = "") -> Sequence[Entry]:
        return [
            e for k, e in self._entries.items() if k.resource == resource and namespace in ("", k.namespace)
        ]

    def get_at(self, key: Key, revision: int) -> Entry | None:
        return self.get(key)

    def list_at(self, resource: str, namespace: str, revision: int) -> Sequence[Entry]:
        return self.list(resource, namespace)

    def floor(self, resource: str) -> int:
        return 0

    def changes_after(self, revision: int, resource: str, limit: int) -> Sequence[CommittedChange]:
        return []
