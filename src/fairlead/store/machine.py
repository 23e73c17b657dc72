"""The store machine: judges transactions in order, gathers them into batches, answers when they are durable.

Between `api/` (which submits) and a journal (which makes durable). The driver in `runtime/`, or the
simulator, feeds events to `handle` and carries out the instructions it returns; `contract.py` says what is
promised.
No clock, no thread, no file: one append is in flight at a time, and what gathers meanwhile is the next batch.
Reads show durable state only; pending state lives in an overlay that only preconditions see.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

import msgspec

from fairlead.model.key import Key
from fairlead.store.contract import (
    ADDED,
    DELETED,
    MODIFIED,
    Absent,
    AtRevision,
    Batch,
    CommitFailed,
    CommitOutcome,
    Committed,
    CommittedChange,
    Damaged,
    Entry,
    HasUid,
    JournalReader,
    Lost,
    Note,
    Precondition,
    PreconditionFailed,
    Put,
    Recovered,
    Transaction,
)
from fairlead.store.damage import describe_damage
from fairlead.store.durable import Durable
from fairlead.store.events import (
    Append,
    Appended,
    AppendFailed,
    Event,
    FloorsMoved,
    Flush,
    FlushSoon,
    Instruction,
    Publish,
    ReadAgain,
    Reread,
    RereadFailed,
    Resolve,
    RoomFound,
    RoomLost,
    Submitted,
)
from fairlead.store.judging import explain_malformed, is_violated, state_after, touched_damage
from fairlead.store.phases import OutOfTurn, StorePhase
from fairlead.store.room import Room


class StoreLimits(msgspec.Struct, frozen=True):
    """The store's bounds."""

    #: bound: store | changes and audit lines in one commit | the rest is the next commit
    batch_changes_max: int = 1024  # changes and notes in one append; one transaction is never split
    #: bound: store | writes that wait for the disk | 429
    pending_max: int = 8192  # tickets that wait for the journal; more are refused as Overloaded
    #: bound: store | recent changes kept in memory, per resource | older ones are read from disk
    window_changes_max: int = 4096  # recent changes kept in memory, per resource
    #: bound: store | the same in bytes | older ones are read from disk
    window_bytes_max: int = 8 * 1024 * 1024


class _Pending(msgspec.Struct, frozen=True):
    """A judged transaction that waits for its place in the journal."""

    ticket: int
    outcome: Committed | PreconditionFailed
    changes: tuple[CommittedChange, ...]
    notes: tuple[Note, ...]
    transaction: Transaction


_FLUSH_SOON: tuple[Instruction, ...] = (FlushSoon(),)
_READ_AGAIN = ReadAgain()
_REREAD_CHUNK = 1024


class Store:
    """One machine. `handle` is the only mutator; the rest implements `Reader` over durable state.

    In a phase (rows), an event leads to one of the phases named; `-` is refused with OutOfTurn.

    |           | Submitted      | Flush     | Appended       | AppendFailed | Reread                | RereadFailed |
    | --------- | -------------- | --------- | -------------- | ------------ | --------------------- | ------------ |
    | OPEN      | OPEN GATHERING | OPEN      | -              | -            | -                     | -            |
    | GATHERING | GATHERING      | APPENDING | -              | -            | -                     | -            |
    | APPENDING | APPENDING      | APPENDING | OPEN GATHERING | REREADING    | -                     | -            |
    | REREADING | REREADING      | REREADING | -              | -            | OPEN GATHERING HALTED | HALTED       |
    | HALTED    | REREADING      | HALTED    | -              | -            | -                     | -            |

    FloorsMoved, RoomFound and RoomLost are taken in every
    phase and change none. GATHERING has asked for FlushSoon and waits for
    Flush. REREADING and HALTED answer every submission with CommitFailed("Halted"); a Reread that knows less than
    the store has already acknowledged leads to HALTED, because going on would use revisions twice.

    Short of room (`short`) is the store from an append that failed as StorageFull, or RoomLost, to RoomFound: only
    transactions with a claim are taken then. Those that shared the failed append with others are judged again.
    """

    def __init__(
        self, recovered: Recovered, journal: JournalReader, limits: StoreLimits | None = None
    ) -> None:
        self.limits = limits or StoreLimits()
        self.phase = StorePhase.OPEN
        self._durable = Durable(
            recovered, journal, self.limits.window_changes_max, self.limits.window_bytes_max
        )
        # What readers ask many times for a request is no more than this: the durable state's own.
        self.get = self._durable.objects.get
        self.list = self._durable.objects.list
        self._journal = journal
        self._next = recovered.revision + 1  # the revision that the next change gets
        self._overlay: dict[Key, CommittedChange] = {}  # the newest pending change of each key
        self._gathered: deque[_Pending] = deque()
        self._in_flight: list[_Pending] = []
        self._halt = ""
        self._room = Room()
        self._again: list[_Pending] = []
        self.appends = self.appends_failed = self.committed = self.refused = 0  # plain counts for the runtime

    @property
    def allotted(self) -> int:
        """The newest revision that a write has been given, durable or not."""
        return self._next - 1

    def handle(self, event: Event) -> tuple[Instruction, ...]:
        if isinstance(event, Submitted):
            return self._submitted(event.ticket, event.transaction)
        if isinstance(event, Flush):
            return self._flush(event.now) if self.phase is StorePhase.GATHERING else ()
        if isinstance(event, FloorsMoved):
            self._durable.move_floors(event.floors)
            return ()
        if isinstance(event, RoomFound | RoomLost):
            if isinstance(event, RoomLost):
                self._room.lost(event.message, event.left)
            else:
                self._room.short = ""
            return ()
        if isinstance(event, Appended) and self.phase is StorePhase.APPENDING:
            return self._appended()
        if isinstance(event, AppendFailed) and self.phase is StorePhase.APPENDING:
            return self._append_failed(event.reason, event.message, event.left)
        if isinstance(event, Reread) and self.phase is StorePhase.REREADING:
            return self._reread(event.recovered)
        if isinstance(event, RereadFailed) and self.phase is StorePhase.REREADING:
            self.phase, self._halt = StorePhase.HALTED, event.message
            return self._give_up_again()
        raise OutOfTurn(self.phase, event)

    # Judging

    def _submitted(self, ticket: int, transaction: Transaction) -> tuple[Instruction, ...]:
        phase = self.phase
        if phase is StorePhase.REREADING or phase is StorePhase.HALTED:
            return self._while_halted(ticket)
        if len(self._gathered) + len(self._in_flight) >= self.limits.pending_max:
            failed = CommitFailed("Overloaded", "too many writes wait for the disk; try again")
            return (Resolve(ticket, failed),)
        if self._room.short and not self._room.takes(transaction):
            return (Resolve(ticket, CommitFailed("StorageFull", self.short)),)
        operations = transaction.operations
        if len(operations) > 1:
            problem = explain_malformed(transaction)
            if problem:
                return (Resolve(ticket, CommitFailed("InvalidTransaction", problem)),)
        if self._durable.damaged:
            damaged = touched_damage(transaction, self._durable.damaged)
            if damaged is not None:
                return (Resolve(ticket, CommitFailed("Damaged", describe_damage(damaged))),)
        overlay = self._overlay
        durable_get = self._durable.objects.get
        for precondition in transaction.preconditions:
            key = precondition.key
            pending = overlay.get(key) if overlay else None
            current = durable_get(key) if pending is None else state_after(pending)
            # Most are of these two sorts, and hold.
            if current is None:
                if type(precondition) is Absent:
                    continue
            elif type(precondition) is AtRevision:
                if current.revision == precondition.revision:
                    continue
            elif not is_violated(precondition, current):
                continue
            return self._refuse(ticket, precondition, current, pending is not None, transaction)
        changes: list[CommittedChange] = []
        entries: list[Entry] = []
        revision = self._next
        for operation in operations:
            key = operation.key
            pending = overlay.get(key) if overlay else None
            current = durable_get(key) if pending is None else state_after(pending)
            if type(operation) is Put:
                change_type = ADDED if current is None else MODIFIED
            else:
                if current is None or current.uid != operation.uid:
                    violated = HasUid(key, operation.uid)
                    return self._refuse(ticket, violated, current, pending is not None, transaction)
                change_type = DELETED
            data = b"%b%d%b" % (operation.head, revision, operation.tail)
            entry = Entry(key, operation.uid, revision, data, 0 if current is None else current.revision)
            entries.append(entry)
            changes.append(CommittedChange(change_type, entry, current))
            revision += 1
        for change in changes:
            overlay[change.entry.key] = change
        self._next = revision
        outcome = Committed(tuple(entries))
        notes = transaction.notes
        if notes and changes:
            notes = tuple([Note(note.stream, note.body, revision - 1) for note in notes])
        return self._gather(_Pending(ticket, outcome, tuple(changes), notes, transaction))

    def _refuse(
        self,
        ticket: int,
        precondition: Precondition,
        current: Entry | None,
        rests_on_pending: bool,
        transaction: Transaction,
    ) -> tuple[Instruction, ...]:
        self.refused += 1
        refusal = PreconditionFailed(precondition, current)
        if rests_on_pending:
            return self._gather(_Pending(ticket, refusal, (), (), transaction))
        return (Resolve(ticket, refusal),)

    def _gather(self, pending: _Pending) -> tuple[Instruction, ...]:
        if self.phase is StorePhase.OPEN:
            if not pending.changes and not pending.notes:
                return (Resolve(pending.ticket, pending.outcome),)  # nothing is pending: it rests on nothing
            self.phase = StorePhase.GATHERING
            self._gathered.append(pending)
            return _FLUSH_SOON
        self._gathered.append(pending)
        return ()

    def _while_halted(self, ticket: int) -> tuple[Instruction, ...]:
        why = f"the store reads its journal again after a failed write ({self._halt}); try again"
        failed = Resolve(ticket, CommitFailed("Halted", why))
        if self.phase is StorePhase.HALTED:
            self.phase = StorePhase.REREADING
            return (failed, _READ_AGAIN)
        return (failed,)

    # Making durable

    def _flush(self, now: float) -> tuple[Instruction, ...]:
        gathered, in_flight = self._gathered, self._in_flight
        room = self.limits.batch_changes_max
        changes: list[CommittedChange] = []
        notes: list[Note] = []
        while gathered:
            pending = gathered[0]
            size = len(pending.changes) + len(pending.notes)
            if size > room and in_flight:
                break
            room -= size
            changes.extend(pending.changes)
            notes.extend(pending.notes)
            in_flight.append(gathered.popleft())
        self.phase = StorePhase.APPENDING
        self.appends += 1
        return (Append(Batch(tuple(changes), tuple(notes), now)),)

    def _appended(self) -> tuple[Instruction, ...]:
        done, self._in_flight = self._in_flight, []
        gathered = self._gathered
        # Refusals at the head rested on nothing younger than the batch that is now durable.
        while gathered and not gathered[0].changes and not gathered[0].notes:
            done.append(gathered.popleft())
        changes = [change for pending in done for change in pending.changes]
        self._durable.apply(changes)
        overlay = self._overlay
        for change in changes:
            key = change.entry.key
            if overlay.get(key) is change:
                del overlay[key]
        self.committed += len(changes)
        instructions: list[Instruction] = [Publish(tuple(changes))] if changes else []
        instructions.extend([Resolve(pending.ticket, pending.outcome) for pending in done])
        if gathered:
            self.phase = StorePhase.GATHERING
            instructions.extend(_FLUSH_SOON)
        else:
            self.phase = StorePhase.OPEN
        return tuple(instructions)

    def _append_failed(self, reason: str, message: str, left: int) -> tuple[Instruction, ...]:
        self.appends_failed += 1
        failed: CommitOutcome = CommitFailed(reason, message)
        waiting = [*self._in_flight, *self._gathered]
        if reason == "StorageFull":
            if not self.short:  # the second time there is no room for anything
                self._again = [pending for pending in waiting if pending.transaction.claim]
                waiting = [pending for pending in waiting if not pending.transaction.claim]
            self._room.lost(message, left)
        self._in_flight = []
        self._gathered.clear()
        self._overlay.clear()
        self.phase, self._halt = StorePhase.REREADING, message
        return (*[Resolve(pending.ticket, failed) for pending in waiting], _READ_AGAIN)

    def _reread(self, recovered: Recovered) -> tuple[Instruction, ...]:
        durable = self._durable
        if recovered.revision < durable.revision:
            self.phase = StorePhase.HALTED
            self._halt = f"the journal is back at {recovered.revision} though {durable.revision} was durable"
            return self._give_up_again()
        missed = self._missed(recovered.revision)
        durable.apply(missed)
        durable.reload(recovered)
        self._next = recovered.revision + 1
        self.phase, self._halt = StorePhase.OPEN, ""
        instructions: list[Instruction] = [Publish(tuple(missed))] if missed else []
        again, self._again = self._again, []
        for pending in again:
            instructions.extend(self._submitted(pending.ticket, pending.transaction))
        return tuple(instructions)

    def _give_up_again(self) -> tuple[Instruction, ...]:
        again, self._again = self._again, []
        return tuple(Resolve(pending.ticket, CommitFailed("Halted", self._halt)) for pending in again)

    def _missed(self, newest: int) -> list[CommittedChange]:
        """What became durable although its append reported failure."""
        missed: list[CommittedChange] = []
        position = self._durable.revision
        while position < newest:
            chunk = self._journal.changes_after(position, "", _REREAD_CHUNK)
            if not chunk:
                break
            missed.extend(chunk)
            position = chunk[-1].entry.revision
        return missed

    @property
    def short(self) -> str:
        """Why there is no room for ordinary writes; "" while there is."""
        return self._room.short

    # Reader

    @property
    def revision(self) -> int:
        return self._durable.revision

    def newest(self, key: Key) -> Entry | None:
        pending = self._overlay.get(key)
        return self._durable.objects.get(key) if pending is None else state_after(pending)

    def get_at(self, key: Key, revision: int) -> Entry | None:
        return self._durable.get_at(key, revision)

    def list_at(self, resource: str, namespace: str, revision: int) -> Sequence[Entry]:
        return self._durable.list_at(resource, namespace, revision)

    def floor(self, resource: str) -> int:
        return self._durable.floor(resource)

    def changes_after(self, revision: int, resource: str, limit: int) -> Sequence[CommittedChange]:
        return self._durable.changes_after(revision, resource, limit)

    @property
    def damaged(self) -> Mapping[Key, Damaged]:
        return self._durable.damaged

    @property
    def lost(self) -> Sequence[Lost]:
        return self._durable.lost

    @property
    def pending(self) -> int:
        """Tickets that wait for the journal."""
        return len(self._gathered) + len(self._in_flight) + len(self._again)
