"""Reading for those who decide: an object that is damaged in the store is neither absent nor what its stand-in says.

`Desk.sound` is one; verbs that change or rest on objects read here, and are refused in words that name the object.
Lists for clients read the store itself, and show the stand-ins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairlead.core.errors import StorageReadError, lifted_by
from fairlead.model.key import Key
from fairlead.store.contract import CommittedChange, Damaged, Entry, Lost, Reader
from fairlead.store.damage import describe_damage


class Sound:
    """Implements `Reader`; raises StorageReadError for what is damaged."""

    __slots__ = ("_read",)

    def __init__(self, read: Reader) -> None:
        self._read = read

    @property
    def unjudged(self) -> Reader:
        """What it reads from, stand-ins and all."""
        return self._read

    @property
    def revision(self) -> int:
        return self._read.revision

    @property
    def damaged(self) -> Mapping[Key, Damaged]:
        return self._read.damaged

    @property
    def lost(self) -> Sequence[Lost]:
        return self._read.lost

    @property
    def short(self) -> str:
        return self._read.short

    def get(self, key: Key) -> Entry | None:
        if self._read.damaged and key in self._read.damaged:
            raise damage_error(self._read.damaged[key])
        return self._read.get(key)

    def newest(self, key: Key) -> Entry | None:
        if self._read.damaged and key in self._read.damaged:
            raise damage_error(self._read.damaged[key])
        return self._read.newest(key)

    def list(self, resource: str, namespace: str = "") -> Sequence[Entry]:
        for key, damaged in self._read.damaged.items():
            if key.resource == resource and namespace in ("", key.namespace):
                raise damage_error(damaged)
        return self._read.list(resource, namespace)

    def get_at(self, key: Key, revision: int) -> Entry | None:
        return self._read.get_at(key, revision)

    def list_at(self, resource: str, namespace: str, revision: int) -> Sequence[Entry]:
        return self._read.list_at(resource, namespace, revision)

    def floor(self, resource: str) -> int:
        return self._read.floor(resource)

    def changes_after(self, revision: int, resource: str, limit: int) -> Sequence[CommittedChange]:
        return self._read.changes_after(revision, resource, limit)


def sound_entries(read: Reader, resource: str, namespace: str = "") -> Sequence[Entry]:
    """Those that are not damaged, for who goes on without the others, as all do that learn as a server starts."""
    entries = (read.unjudged if isinstance(read, Sound) else read).list(resource, namespace)
    damaged = read.damaged
    return [each for each in entries if each.key not in damaged] if damaged else entries


def damage_error(damaged: Damaged) -> StorageReadError:
    key = damaged.entry.key
    causes = (lifted_by(key.resource, key.namespace, key.name, "it is damaged in the store"),)
    return StorageReadError(describe_damage(damaged), name=key.name, causes=causes)
