"""Who is owned by whom: an index by owner uid over all stored objects, kept up to date from published changes.

Fed by the runtime with every change; read by `garbage.py`. Objects without owners cost one look at their bytes.
"""

from __future__ import annotations

import msgspec

from fairlead.model.catalog import Catalog
from fairlead.store.contract import DELETED, Change, Entry, Key


class Owner(msgspec.Struct, frozen=True, rename="camel"):
    """One ownerReference."""

    kind: str
    name: str
    uid: str
    api_version: str = ""
    block_owner_deletion: bool = False


class Meta(msgspec.Struct, frozen=True, rename="camel"):
    """The part of metadata that deletion is decided on."""

    name: str
    uid: str
    resource_version: str = ""
    namespace: str = ""
    owner_references: tuple[Owner, ...] = ()
    finalizers: tuple[str, ...] = ()
    deletion_timestamp: str = ""


class _Object(msgspec.Struct, frozen=True):
    metadata: Meta


_decode = msgspec.json.Decoder(_Object).decode


def meta_of(entry: Entry) -> Meta:
    return _decode(entry.data).metadata


def is_deleting(entry: Entry) -> bool:
    """Whether its deletion was asked for. The bytes are searched first; a label may be called so as well."""
    return b'"deletionTimestamp"' in entry.data and bool(meta_of(entry).deletion_timestamp)


def owner_key(catalog: Catalog, owner: Owner, namespace: str) -> Key | None:
    """Where the owner of an object in `namespace` must be; None if that cannot be told: its kind is not served
    here, or is in a namespace while the object is in none."""
    group, _, version = owner.api_version.rpartition("/")
    kind = catalog.find_kind(group, version, owner.kind)
    if kind is None or (kind.namespaced and not namespace):
        return None
    return Key(kind.resource, namespace if kind.namespaced else "", owner.name)


class OwnerIndex:
    """Dependents by the uid of their owner."""

    __slots__ = ("_catalog", "_dependents", "_owners")

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._dependents: dict[str, dict[Key, None]] = {}
        self._owners: dict[Key, tuple[Owner, ...]] = {}

    def dependents(self, uid: str) -> tuple[Key, ...]:
        return tuple(self._dependents.get(uid, ()))

    def learn(self, entry: Entry) -> bool:
        """An object as it is now; returns whether its own deletion, or its owners', is something to look into."""
        owned = b'"ownerReferences"' in entry.data
        owners = meta_of(entry).owner_references if owned else ()
        if owners != self._owners.get(entry.key, ()):
            self._replace(entry.key, owners)
        return owned or b'"deletionTimestamp"' in entry.data

    def observe(self, change: Change) -> tuple[Key, ...]:
        """Take a change in; returns the keys that deserve a look because of it."""
        entry, key = change.entry, change.entry.key
        owners = self._owners.get(key, ())
        if change.type == DELETED:
            woken = dict.fromkeys(self.dependents(entry.uid))
            self._replace(key, ())
        else:
            woken = {key: None} if self.learn(entry) else {}
        if owners and owners != self._owners.get(key, ()):
            # An owner that is deleted in the foreground may have waited for this one, and does no more.
            for owner in owners:
                at = owner_key(self._catalog, owner, key.namespace)
                if at is not None:
                    woken[at] = None
        return tuple(woken)

    def _replace(self, key: Key, owners: tuple[Owner, ...]) -> None:
        for owner in self._owners.pop(key, ()):
            remaining = self._dependents.get(owner.uid, {})
            remaining.pop(key, None)
            if not remaining:
                self._dependents.pop(owner.uid, None)
        if owners:
            self._owners[key] = owners
            for owner in owners:
                self._dependents.setdefault(owner.uid, {})[key] = None
