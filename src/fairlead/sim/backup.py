"""What a run starts from: an empty store, or a standing fleet, restored from a backup.

A fleet that has been standing for a while is made once, by a run without faults and without plant, and every run of the
same scenario starts from what is stored then. Planes come up as after a restart of everything: they list, watch, and
compete for a lease that nobody holds (leases are left out: who held one is long gone). As after any restore, objects
are numbered anew, owners before what they own; there is no history before them.
"""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.core import codec
from fairlead.model.views import LEASES
from fairlead.store.contract import ADDED, CommittedChange, Entry
from fairlead.store.watch import with_revision


@dataclass(frozen=True, slots=True)
class Backup:
    changes: tuple[CommittedChange, ...] = ()  # each object as if it were created now
    requests: int = 0  # how many had been served: identities made from later numbers are new


EMPTY = Backup()


def backup_of(entries: tuple[Entry, ...], requests: int) -> Backup:
    """Of everything that is stored."""
    kept = [entry for entry in entries if entry.key.resource != LEASES.name]
    kept.sort(key=lambda entry: entry.key)
    owners = {entry.uid: _owners(entry) for entry in kept}
    kept.sort(key=lambda entry: _depth(entry.uid, owners))
    changes = []
    for revision, entry in enumerate(kept, start=1):
        data = with_revision(entry.data, revision)
        changes.append(CommittedChange(ADDED, Entry(entry.key, entry.uid, revision, data), None))
    return Backup(tuple(changes), requests)


def _owners(entry: Entry) -> tuple[str, ...]:
    metadata = codec.decode(entry.data)["metadata"]
    return tuple(each["uid"] for each in metadata.get("ownerReferences") or ())


def _depth(uid: str, owners: dict[str, tuple[str, ...]]) -> int:
    return 1 + max((_depth(owner, owners) for owner in owners.get(uid, ())), default=0)
