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


def owner_key(catalog: Catalog, owner: Owner, namespace: str) -> Key | None:
    """Where the owner of an object in `namespace` must be; None if its kind is not served here."""
    group, _, version = owner.api_version.rpartition("/")
    kind = catalog.find_kind(group, version, owner.kind)
    return Key(kind.resource, namespace if kind.namespaced else "", owner.name) if kind is not None else None


class OwnerIndex:
    """Dependents by the uid of their owner."""

    __slots__ = ("_catalog", "_dependents", "_owners")

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._dependents: dict[str, dict[Key, None]] = {}
        self._owners: dict[Key, tuple[str, ...]] = {}

    def dependents(self, uid: str) -> tuple[Key, ...]:
        return tuple(self._dependents.get(uid, ()))

    def learn(self, entry: Entry) -> bool:
        """An object as it is now; returns whether its own deletion, or its owners', is something to look into."""
        owned = b'"ownerReferences"' in entry.data
        owners = tuple(owner.uid for owner in meta_of(entry).owner_references) if owned else ()
        if owners or entry.key in self._owners:
            self._replace(entry.key, owners)
        return owned or b'"deletionTimestamp"' in entry.data

    def observe(self, change: Change) -> tuple[Key, ...]:
        """Take a change in; returns the keys that deserve a look because of it."""
        entry = change.entry
        if change.type != DELETED:
            return (entry.key,) if self.learn(entry) else ()
        woken = dict.fromkeys(self.dependents(entry.uid))
        if entry.key in self._owners:
            # An owner that is deleted in the foreground waits for this one.
            meta = meta_of(entry)
            for owner in meta.owner_references:
                key = owner_key(self._catalog, owner, meta.namespace)
                if key is not None:
                    woken[key] = None
            self._replace(entry.key, ())
        return tuple(woken)

    def _replace(self, key: Key, owners: tuple[str, ...]) -> None:
        for uid in self._owners.pop(key, ()):
            remaining = self._dependents.get(uid, {})
            remaining.pop(key, None)
            if not remaining:
                self._dependents.pop(uid, None)
        if owners:
            self._owners[key] = owners
            for uid in owners:
                self._dependents.setdefault(uid, {})[key] = None
