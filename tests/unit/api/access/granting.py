"""Grants of given roles and bindings, without a store."""

from __future__ import annotations

import msgspec

from fairlead.api.access.rbac.default_roles import default_bindings, default_roles
from fairlead.api.access.rbac.grants import Grants
from fairlead.model.catalog import CATALOG
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.store.contract import ADDED, CommittedChange, Entry


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
