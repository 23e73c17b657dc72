"""The state of a live plane as it was taken at one revision, and what a world of it starts from.

`cli/live_state.py` reads it over the API, `world.py` restores it. Left out is what tells of the life of processes and
not of what is wanted: leases (nobody renews them in virtual time, and a node without one is not judged by its silence),
Events, and Secrets, which nobody should carry about to look ahead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from fairlead.model.key import Key
from fairlead.model.views import LEASES, Anything
from fairlead.sim.backup import Backup
from fairlead.store.contract import ADDED, CommittedChange, Entry

# What is measured is no object of the store.
LEFT_OUT = frozenset(
    {
        LEASES.name,
        "events",
        "events.events.k8s.io",
        "secrets",
        "nodes.metrics.k8s.io",
        "pods.metrics.k8s.io",
    }
)
_HEAD = msgspec.json.Decoder(Anything)
_PARTS = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass(frozen=True, slots=True)
class LiveState:
    """`now`: seconds since the epoch, when it was taken."""

    revision: int
    now: float
    objects: tuple[tuple[Key, bytes], ...]


def live_state(objects: Iterable[tuple[str, bytes]], now: float, revision: int = 0) -> LiveState:
    """`objects`: of which resource each is, and its JSON."""
    found = []
    for resource, data in objects:
        if resource not in LEFT_OUT:
            meta = _HEAD.decode(data).metadata
            found.append((Key(resource, meta.namespace, meta.name), data))
    return LiveState(revision, now, tuple(found))


def backup_of_state(state: LiveState) -> Backup:
    """Numbered anew, owners before what they own, as after any restore."""
    heads = {key: _HEAD.decode(data).metadata for key, data in state.objects}
    owners = {head.uid: tuple(each.uid for each in head.owner_references) for head in heads.values()}
    depths: dict[str, int] = {}
    ordered = sorted(state.objects, key=lambda each: (_depth(heads[each[0]].uid, owners, depths), each[0]))
    changes = []
    for revision, (key, data) in enumerate(ordered, start=1):
        entry = Entry(key, heads[key].uid, revision, _numbered(data, revision))
        changes.append(CommittedChange(ADDED, entry, None))
    return Backup(tuple(changes), len(changes))


def _numbered(data: bytes, revision: int) -> bytes:
    """With this revision, and without managedFields, which are half of an object and read by nobody here."""
    top = _PARTS.decode(data)
    metadata = _PARTS.decode(top["metadata"])
    metadata.pop("managedFields", None)
    metadata["resourceVersion"] = msgspec.Raw(b'"%d"' % revision)
    top["metadata"] = msgspec.Raw(msgspec.json.encode(metadata))
    return msgspec.json.encode(top)


def _depth(uid: str, owners: dict[str, tuple[str, ...]], known: dict[str, int]) -> int:
    if uid not in known:
        known[uid] = 0  # whoever owns itself in the end is nobody's child
        known[uid] = 1 + max((_depth(each, owners, known) for each in owners.get(uid, ())), default=0)
    return known[uid]
