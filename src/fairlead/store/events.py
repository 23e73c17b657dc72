"""What the store machine is told and what it asks for: its events (past tense) and instructions (imperative).

The driver in `runtime/` (or the simulator) turns instructions into acts: it runs `Append` and `ReadAgain` on
the journal and reports back with an event, hands `Publish` to the watch hub and `Resolve` to whoever waits.
"""

from __future__ import annotations

import msgspec

from fairlead.store.contract import Batch, CommitOutcome, CommittedChange, Recovered, Transaction


class Submitted(msgspec.Struct, frozen=True, gc=False):
    """Someone wants this done. `ticket` comes back in exactly one Resolve."""

    ticket: int
    transaction: Transaction


class Flush(msgspec.Struct, frozen=True, gc=False):
    """The tick in which FlushSoon was asked has ended: what has gathered may go to the journal."""

    now: float


class Appended(msgspec.Struct, frozen=True, gc=False):
    """The append in flight is durable."""


class AppendFailed(msgspec.Struct, frozen=True, gc=False):
    """The append in flight reported an error; whether it is durable is not known, but for StorageFull: it is not."""

    reason: str
    message: str
    left: int = 0  # with StorageFull: what deletions may take of the room that is kept for it


class Reread(msgspec.Struct, frozen=True, gc=False):
    """The journal was read again."""

    recovered: Recovered


class RereadFailed(msgspec.Struct, frozen=True, gc=False):
    """The journal could not be read again; the next submission asks once more."""

    message: str


class FloorsMoved(msgspec.Struct, frozen=True, gc=False):
    """The journal's compaction moved history's floors."""

    floors: dict[str, int]


class RoomFound(msgspec.Struct, frozen=True, gc=False):
    """There is room again, and the reserve is kept: everybody may write."""


class RoomLost(msgspec.Struct, frozen=True, gc=False):
    """There is no more room than what is kept for leases and deletions. Told again as that changes."""

    message: str
    left: int  # bytes that deletions may take of it


Event = (
    Submitted | Flush | Appended | AppendFailed | Reread | RereadFailed | FloorsMoved | RoomFound | RoomLost
)


class FlushSoon(msgspec.Struct, frozen=True, gc=False):
    """Send Flush at the end of this tick, so that what arrives together commits together."""


class Append(msgspec.Struct, frozen=True, gc=False):
    """Make this durable, then send Appended or AppendFailed. At most one is in flight."""

    batch: Batch


class Resolve(msgspec.Struct, frozen=True, gc=False):
    """Tell whoever submitted this ticket."""

    ticket: int
    outcome: CommitOutcome


class Publish(msgspec.Struct, frozen=True, gc=False):
    """These changes are durable and readable now; watchers get them in this order."""

    changes: tuple[CommittedChange, ...]


class ReadAgain(msgspec.Struct, frozen=True, gc=False):
    """Recover the journal, then send Reread or RereadFailed."""


Instruction = FlushSoon | Append | Resolve | Publish | ReadAgain
