"""What every store promises. Read this first.

A store holds objects under keys. Each committed change has its own revision, strictly increasing, never
reused, also inside a transaction; a transaction's changes are contiguous and become visible together.

    submit(Transaction) -> later exactly one of
        Committed(entries)       durable; entries carry the revisions they got
        PreconditionFailed(precondition, current)  nothing changed; `current` is durable by then
        CommitFailed(reason, message)  the journal could not take it; after StorageFailed it is not known whether
                                 it is durable until the store has read its journal again

Preconditions are judged in commit order against pending state (what was submitted before but is not yet
durable). Reads and watches see durable state only. A refusal that rests on pending state is answered only
when that state is durable, so whoever reads after a refusal sees why.

History: any revision from `floor(resource)` on can be read again. Past the floor, reads at a revision and
watches from it raise Compacted.

Damage: an object whose stored bytes decayed is not absent. Its key is taken, its entry is a stand-in (damage.py), no
change of it is published. Revisions that were lost with the journal are never given out again, and cannot be read.

Values are wire JSON. The revision is part of the value (metadata.resourceVersion) but known only at commit,
so an operation carries the bytes before and after it; the store joins them: head + str(revision) + tail.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from fairlead.model.key import Key

#: bound: store | operations of one transaction | collections are deleted in parts
OPERATIONS_MAX = 64

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One version of one object. Shared by store, watches and replies; never changed."""

    key: Key
    uid: str
    revision: int
    data: bytes  # wire JSON, revision included
    previous: int = 0  # revision of the version before; 0 for a new object


class Put(msgspec.Struct, frozen=True, gc=False):
    """Create or replace. The stored bytes are head + str(revision) + tail."""

    key: Key
    uid: str
    head: bytes
    tail: bytes


class Remove(msgspec.Struct, frozen=True, gc=False):
    """Remove. head and tail give the last state, as watchers and history see it. Implies HasUid(key, uid):
    deleting what is not there, or is another object by now, is refused."""

    key: Key
    uid: str
    head: bytes
    tail: bytes


class Absent(msgspec.Struct, frozen=True, gc=False):
    """No object is at this key."""

    key: Key


class AtRevision(msgspec.Struct, frozen=True, gc=False):
    """The object at this key is at exactly this revision. Also how a fence is carried (laws.md 6)."""

    key: Key
    revision: int


class HasUid(msgspec.Struct, frozen=True, gc=False):
    """The object at this key exists and is this very one."""

    key: Key
    uid: str


Precondition = Absent | AtRevision | HasUid
Operation = Put | Remove


class Note(msgspec.Struct, frozen=True, gc=False):
    """A line for one of the bounded logs that ride in the same transaction (`audit`, later `decisions`)."""

    stream: str
    body: bytes  # JSON
    revision: int = 0  # of its transaction's last change; filled in by the store, 0 if it changed nothing


# Who may write when the disk is full, into the room that is kept for it: nobody; what takes something away; runs of
# runbooks; leases and what people lay down for a while.
ORDINARY, FREEING, RUN, LEASE = "", "freeing", "run", "lease"


class Transaction(msgspec.Struct, frozen=True, gc=False):
    """All or nothing, notes included. May hold notes only: those are then kept without a change of state.
    Preconditions only is a question: Committed(()) says that they held and are durable. More than
    OPERATIONS_MAX operations, or two on one key, fail as InvalidTransaction."""

    operations: tuple[Operation, ...] = ()
    preconditions: tuple[Precondition, ...] = ()
    notes: tuple[Note, ...] = ()
    claim: str = ORDINARY


class Committed(msgspec.Struct, frozen=True, gc=False):
    entries: tuple[Entry, ...]  # in the order of the operations


class PreconditionFailed(msgspec.Struct, frozen=True, gc=False):
    precondition: Precondition
    current: Entry | None


class CommitFailed(msgspec.Struct, frozen=True, gc=False):
    # StorageFailed: the append failed. StorageFull: there is no room. Halted: the store is reading its journal again.
    # Overloaded: too much is pending. InvalidTransaction: see Transaction. Damaged: it rests on an object of which only
    # a stand-in is left. All but the first wrote nothing.
    reason: str
    message: str


CommitOutcome = Committed | PreconditionFailed | CommitFailed


class CommittedChange(msgspec.Struct, gc=False):
    """One committed change as watchers get it. Frames are encoded once, on first use, and shared by all who watch:
    `frame` has the whole object (see watch.py), `metadata_frame` its metadata alone (see api/verbs/watch.py)."""

    type: str  # ADDED, MODIFIED, DELETED
    entry: Entry  # for DELETED: the last state, at the revision of the deletion
    before: Entry | None  # the version it replaced
    frame: bytes = b""
    metadata_frame: bytes = b""


class Batch(msgspec.Struct, frozen=True, gc=False):
    """What a journal makes durable in one go: contiguous revisions, in order."""

    changes: tuple[CommittedChange, ...]
    notes: tuple[Note, ...]
    now: float  # seconds since the epoch


class Damaged(msgspec.Struct, frozen=True, gc=False):
    """An object that is there, and whose bytes are not what was written. Its entry is a stand-in: see damage.py."""

    entry: Entry
    why: str
    since: float = 0.0  # when it was first found, in seconds since the epoch


class Lost(msgspec.Struct, frozen=True, gc=False):
    """Revisions between these two, both excluded, may have been given out to changes that are gone."""

    after: int
    until: int
    why: str = ""
    at: float = 0.0

    def check(self, revision: int) -> None:
        """Raises LostRevision for one of these."""
        if self.after < revision < self.until:
            raise LostRevision(revision, self.until, f"changes after {self.after} were lost ({self.why})")


class Recovered(msgspec.Struct, frozen=True, gc=False):
    """What a journal knows when it is opened or read again. `entries` include the stand-ins of `damaged`; `reports`
    are sentences for people about what was found that is neither an object nor a revision."""

    revision: int
    entries: tuple[Entry, ...]
    floors: dict[str, int]
    now: float = 0.0
    damaged: tuple[Damaged, ...] = ()
    lost: tuple[Lost, ...] = ()
    reports: tuple[str, ...] = ()


class Compacted(Exception):
    """The asked revision is older than what history keeps."""

    def __init__(self, asked: int, floor: int) -> None:
        super().__init__(f"revision {asked} is older than {floor}, the oldest kept")
        self.asked, self.floor = asked, floor


class LostRevision(Compacted):
    """The asked revision is not what it was: changes up to it, or what it held, were lost to damage."""

    def __init__(self, asked: int, floor: int, what: str) -> None:
        super().__init__(asked, floor)
        self.args = (f"revision {asked} cannot be read any more: {what}",)


class FutureRevision(Exception):
    """The asked revision has not happened yet."""

    def __init__(self, asked: int, current: int) -> None:
        super().__init__(f"revision {asked} is newer than {current}, the newest there is")
        self.asked, self.current = asked, current


class JournalError(Exception):
    """An append did not succeed. `reason` is StorageFull or StorageFailed."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Retention(msgspec.Struct, frozen=True):
    """How long a kind's history is kept: whichever bound is met first moves its floor."""

    seconds: float = 3600.0
    bytes_max: int = 256 * 1024 * 1024


class JournalReader(Protocol):
    """The half of a journal that reads history. May be newer than the store that asks: an append that has
    finished but has not been reported yet is already in it."""

    def versions(self, revisions: Iterable[int]) -> dict[int, Entry]:
        """The versions with these revisions, as far as they are kept."""
        ...

    def changes_after(self, revision: int, resource: str, limit: int) -> Sequence[CommittedChange]:
        """Up to `limit` changes of one resource (all if "") after a revision, oldest first; `before` filled
        in where it is still kept."""
        ...

    def first_changes_after(self, revision: int, resource: str) -> dict[Key, int]:
        """For each key of the resource changed after the revision: `previous` of its first change since.
        This undoes the present into the past: 0 means the key did not exist at that revision."""
        ...

    def first_change_after(self, revision: int, key: Key) -> int | None:
        """The same for one key; None when it has not changed since."""
        ...

    def written_after(self, revision: int) -> tuple[int, float] | None:
        """The revision of the first change after this one that is still kept, and when it was written."""
        ...


class Journal(JournalReader, Protocol):
    """Makes batches durable and keeps history. Blocking, threadless, called from one thread at a time,
    but for the methods of JournalReader, which may be called from another thread while `append` runs."""

    def recover(self) -> Recovered:
        """Everything that is durable: current objects, newest revision, floors."""
        ...

    def append(self, batch: Batch) -> None:
        """Durable when it returns; JournalError when it did not work."""
        ...

    def compact(self, now: float, retention: dict[str, Retention], budget: int) -> dict[str, int]:
        """Forget superseded versions, at most about `budget` rows; returns the floors now in force.
        `retention` is per resource, with "" for all others. What a floor frees is deleted only by the calls
        after the one that returned it: readers of history must know the new floors before the next call."""
        ...

    def notes(self, stream: str, after: int, limit: int) -> list[tuple[int, float, Note]]:
        """Lines of a bounded log: (sequence, time, note), oldest first."""
        ...

    def notes_before(self, stream: str, before: int, limit: int) -> list[tuple[int, float, Note]]:
        """The last lines before a sequence, or of all if it is 0; oldest first."""
        ...

    def close(self) -> None: ...


class Reader(Protocol):
    """Durable state, as the API reads it. The machine implements it."""

    @property
    def revision(self) -> int:
        """The newest durable revision."""
        ...

    def get(self, key: Key) -> Entry | None: ...

    def newest(self, key: Key) -> Entry | None:
        """The version that a precondition would be judged against now, durable or not. For counters that many
        transactions at once move on, and only together with AtRevision of what it gave."""
        ...

    def list(self, resource: str, namespace: str = "") -> Sequence[Entry]:
        """Entries in (namespace, name) order; namespace "" means all. Must not be changed by the caller."""
        ...

    def get_at(self, key: Key, revision: int) -> Entry | None: ...

    def list_at(self, resource: str, namespace: str, revision: int) -> Sequence[Entry]: ...

    def floor(self, resource: str) -> int: ...

    def changes_after(self, revision: int, resource: str, limit: int) -> Sequence[CommittedChange]: ...

    @property
    def damaged(self) -> Mapping[Key, Damaged]:
        """Objects of which only a stand-in can be read."""
        ...

    @property
    def lost(self) -> Sequence[Lost]:
        """Revisions that cannot be read any more because changes are gone."""
        ...

    @property
    def short(self) -> str:
        """Why there is no room for ordinary writes; "" while there is."""
        ...
