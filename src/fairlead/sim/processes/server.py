"""The API server as a process that can die: store machine, API and hub of production over a journal that takes time.

It does on the timeline what `runtime/server/host.py` and `runtime/server/store_driver.py` do with a loop and a thread.
A batch is in the journal only when its sync has come; a crash before that loses it, or not, as chance says; nobody is
answered before. Whoever waits when the server dies learns nothing (None in place of a Reply): the outcome is open.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from fairlead.api.access.authn import Tokens
from fairlead.api.access.sign_in import SignIn
from fairlead.api.access.users import User
from fairlead.api.assembly import Assembly
from fairlead.api.conversation import Conversation, Next, stored_reply
from fairlead.api.desk import Desk
from fairlead.api.plan import Context
from fairlead.api.server import Api
from fairlead.core.errors import StorageFull
from fairlead.model.key import Key
from fairlead.port.request import Reply, Request
from fairlead.sim.backup import EMPTY, Backup, backup_of
from fairlead.sim.chance import Chance
from fairlead.sim.digest import Digest
from fairlead.sim.faults import Faults
from fairlead.sim.memory import Memory
from fairlead.sim.older_server import OlderServer
from fairlead.sim.processes.disk import SimulatedDisk
from fairlead.sim.time import Timeline
from fairlead.sim.trail import COMMITTED
from fairlead.sim.violation import Violation
from fairlead.store.contract import (
    Batch,
    CommitOutcome,
    Committed,
    CommittedChange,
    Entry,
    Lost,
    Recovered,
    Transaction,
)
from fairlead.store.events import (
    Append,
    Appended,
    AppendFailed,
    FloorsMoved,
    Flush,
    FlushSoon,
    Instruction,
    Publish,
    ReadAgain,
    Reread,
    Resolve,
    RoomFound,
    Submitted,
)
from fairlead.store.machine import Store
from fairlead.store.memory import MemoryJournal
from fairlead.store.watch import Subscription

SERVER = "server"  # its name as an actor
Answer = Callable[[Reply | None], None]
_SKEW_MS_MAX = 30_000

# Invariants that are judged here, because no commit shows them.
ACKNOWLEDGED_IS_KEPT = "acknowledged-is-kept"
FULL_DISK_SERVES = "full-disk-serves"
LOST_ARE_GONE = "lost-revisions-are-gone"


class CommitObserver(Protocol):
    """Who is told of what has been committed, with the writer of each revision, before anybody else is."""

    def committed(self, changes: tuple[CommittedChange, ...], origins: dict[int, str]) -> None: ...

    def answered(self, request: Request, origin: str, reply: Reply) -> None: ...

    def wake_watches(self, subscriptions: list[Subscription]) -> None: ...

    def server_died(self) -> None: ...


@dataclass(slots=True)
class _Waiting:
    origin: str
    done: Callable[[CommitOutcome | None], None] | None
    cause: int  # the step of the trail that asked


class SimulatedServer:
    def __init__(
        self,
        timeline: Timeline,
        chance: Chance,
        digest: Digest,
        witness: CommitObserver,
        backup: Backup = EMPTY,
        api: Callable[[Desk, SignIn], Api] = Api,
        memory: Memory | None = None,
        store: Callable[[Recovered, MemoryJournal], Store] = Store,
    ) -> None:
        self.faults = Faults()
        self.disk = SimulatedDisk()
        self.lost: tuple[Lost, ...] = ()  # ranges of revisions, as they really are
        self.up = False
        self._timeline = timeline
        self._crash_synced = chance.stream("crash.synced")
        self._slow, self._fails = chance.faults("sync_slow"), chance.faults("sync_failed")
        self._sync_delay = chance.details("sync.delay", self._slow)
        self._failed_synced = chance.details("failed.synced", self._fails)
        self._skews = chance.faults("server_clock_skew")
        self._skew = chance.details("server.skew", self._skews)
        self._skew_ms = 0
        self.older = OlderServer(timeline, chance)  # beside it, for who is connected to that one
        self._digest = digest
        self._witness = witness
        self._make_api = api
        self._make_store = store
        self._memory = memory or Memory()
        self._journal = MemoryJournal()
        self._durable = 0  # the newest revision that is
        self._keep(Batch(backup.changes, (), timeline.now))
        self._life = 0  # what was asked of a former life is not carried out
        self._tickets = 0
        self._requests = backup.requests
        self._waiting: dict[int, _Waiting] = {}
        self._in_flight: Batch | None = None
        self._witnessed = len(backup.changes)  # the newest revision that the witness was told of
        self._moments: list[int] = [0]  # of commits
        self._revisions: list[int] = [self._witnessed]  # as of each of them
        self.start()

    @property
    def now(self) -> float:
        """What the server believes."""
        timeline = self._timeline
        return timeline.epoch + (timeline.ms + self._skew_ms) / 1000

    @property
    def seconds_ahead(self) -> float:
        """So far its clock is ahead of the run's; below zero: behind it."""
        return self._skew_ms / 1000

    def set_clock(self) -> None:
        """It is right no longer, or not in the same way."""
        self._skew_ms = self._skew.choose(2 * _SKEW_MS_MAX) - _SKEW_MS_MAX

    def start(self) -> None:
        self._life += 1
        self.up = True
        if self._skews.happens(self.faults.server_clock_skew):
            self.set_clock()
        self.disk.reopen()
        self.store = self._make_store(self._journal.recover(), self._journal)
        self._assembly = Assembly(self.store, Tokens({}), b"virtual", self._memory.remembered, self._make_api)
        self.hub, self.served, self.api = self._assembly.hub, self._assembly.served, self._assembly.api
        # What became durable as the last life ended: nobody was told yet.
        missed = self._journal.changes_after(self._witnessed, "", self.store.revision)
        if missed:
            self._witness_commit(tuple(missed), {})

    def backup(self) -> Backup:
        return backup_of(self._journal.recover().entries, self._requests)

    def crash(self) -> None:
        """Everything in memory is gone. The batch that was being synced is durable or not, nobody knows."""
        if not self.up:
            return
        self.up = False
        self._life += 1
        batch, self._in_flight = self._in_flight, None
        if batch is not None and self._crash_synced.choose(2):
            self._keep(batch)
        waiting, self._waiting = self._waiting, {}
        self._digest.add(b"crash", SERVER)
        for each in waiting.values():
            if each.done is not None:
                each.done(None)
        self._witness.server_died()

    def expire_history(self) -> None:
        """History up to the present is compacted: watches that start earlier get 410."""
        if self.up:
            revision = self.store.revision
            floors = {kind.resource: revision for kind in self.served}
            self._carry_out(self.store.handle(FloorsMoved(floors)))

    # Faults of its disk, while it is down or not

    def stored(self) -> tuple[Entry, ...]:
        return self._journal.recover().entries

    def rot(self, key: Key) -> None:
        self._journal.rot(key, self.now)

    def lose(self, changes: int, mark: int) -> None:
        """The newest changes are gone, and numbering goes on so far above what there was."""
        newest = self._journal.recover().revision
        lost = Lost(max(0, newest - changes), newest + mark)
        self._journal.lose(lost.after, lost.until, self.now)
        self.lost = (*self.lost, lost)
        self._witnessed = self._durable = lost.until

    def free_disk(self) -> None:
        self.disk.free()
        if self.up:
            self._carry_out(self.store.handle(RoomFound()))

    def watched(self, since: int) -> None:
        """A watch goes on from this revision: nobody may who has seen what was lost."""
        for lost in self.lost:
            if lost.after < since < lost.until:
                raise Violation(LOST_ARE_GONE, f"a watch goes on from {since}, which was lost: {lost}")

    def revision_at(self, ms: int, resource: str) -> int:
        """The newest that a replica knew at this moment; as it is now where that cannot be told of a resource, or where
        there was nothing yet: no server lists at revision 0."""
        now = self.store.revision
        if ms >= self._timeline.ms:
            return now
        found = bisect_right(self._moments, ms) - 1
        revision = self._revisions[found] if found >= 0 else now
        known_since = max(self.store.floor(resource), *(each.until for each in self.lost), 1)
        return revision if known_since <= revision <= now else now

    # Requests

    def send(self, request: Request, user: User, origin: str, done: Answer) -> None:
        """One request through the verbs of production; `done` gets the reply, or None when the server died."""
        if not self.up:
            done(None)
            return
        self._requests += 1
        number = self._requests
        if self.disk.is_full:
            done = partial(_on_full_disk, request, done)
        context = Context(
            user=user,
            now=self.now,
            entropy=number.to_bytes(16, "big"),
            request_id=str(number),
            user_agent="sim",
            source="",
        )
        conversation = Conversation(self.api, request, context)
        self._go_on(conversation, origin, done, conversation.begin())

    def _go_on(self, conversation: Conversation, origin: str, done: Answer, step: Next) -> None:
        if isinstance(step, Transaction):
            self.submit(step, origin, partial(self._resolved, conversation, origin, done))
            return
        reply = stored_reply(step)
        if reply.status == 409:
            self._witness.answered(conversation.request, origin, reply)
        done(reply)

    def _resolved(
        self, conversation: Conversation, origin: str, done: Answer, outcome: CommitOutcome | None
    ) -> None:
        if outcome is None:
            done(None)
        else:
            self._go_on(conversation, origin, done, conversation.resolved(outcome))

    def submit(
        self, transaction: Transaction, origin: str, done: Callable[[CommitOutcome | None], None] | None
    ) -> None:
        self._tickets += 1
        self._waiting[self._tickets] = _Waiting(origin, done, self._timeline.cause)
        self._carry_out(self.store.handle(Submitted(self._tickets, transaction)))

    def later(self, ms: int, act: Callable[[], None]) -> None:
        """Something this life of the server does after a while."""
        self._timeline.after(ms, self._if_alive, self._life, act)

    def _if_alive(self, life: int, act: Callable[[], None]) -> None:
        if life == self._life:
            act()

    # The store, driven

    def _carry_out(self, instructions: tuple[Instruction, ...]) -> None:
        origins: dict[int, str] = {}
        resolved: list[tuple[_Waiting, CommitOutcome, int]] = []
        for instruction in instructions:
            if isinstance(instruction, Resolve):
                waiting = self._waiting.pop(instruction.ticket)
                outcome = instruction.outcome
                cause = waiting.cause
                if isinstance(outcome, Committed):
                    for entry in outcome.entries:
                        if entry.revision > self._durable:
                            told = f"{entry.key} at {entry.revision}, while {self._durable} is the newest"
                            raise Violation(ACKNOWLEDGED_IS_KEPT, told)
                        origins[entry.revision] = waiting.origin
                        if self._digest.trail is not None:
                            by = waiting.origin or "the system"
                            told = f"{entry.revision} {'/'.join(entry.key)} by {by}"
                            self._digest.tell(COMMITTED, SERVER, told, waiting.cause)
                            cause = self._timeline.cause
                resolved.append((waiting, outcome, cause))
        life = self._life
        for instruction in instructions:
            if isinstance(instruction, Resolve):
                continue
            if isinstance(instruction, Publish):
                self._publish(instruction.changes, origins)
            elif isinstance(instruction, FlushSoon):
                self._timeline.after(0, self._if_alive, life, self._flush)
            elif isinstance(instruction, Append):
                self._append(instruction.batch)
            elif isinstance(instruction, ReadAgain):
                self.later(2, self._reread)
        for waiting, outcome, cause in resolved:
            self._timeline.cause = cause
            if waiting.done is not None and life == self._life:
                waiting.done(outcome)

    def _flush(self) -> None:
        self._carry_out(self.store.handle(Flush(self.now)))

    def _append(self, batch: Batch) -> None:
        if not self.disk.takes(batch):
            self.later(2, self._found_full)
            return
        self._in_flight = batch
        slow = self._slow.happens(self.faults.sync_slow)
        delay = 200 + self._sync_delay.choose(1800) if slow else 2
        if self._fails.happens(self.faults.sync_failed):
            self.later(delay, self._sync_failed)
        else:
            self.later(delay, self._synced)

    def _synced(self) -> None:
        batch, self._in_flight = self._in_flight, None
        assert batch is not None
        self._keep(batch)
        self._carry_out(self.store.handle(Appended()))

    def _sync_failed(self) -> None:
        """An error was reported; what was to be written is there all the same, or not."""
        batch, self._in_flight = self._in_flight, None
        assert batch is not None
        if self._failed_synced.choose(2):
            self._keep(batch)
        self._carry_out(self.store.handle(AppendFailed("StorageFailed", "the disk reported an error")))

    def _found_full(self) -> None:
        failed = AppendFailed("StorageFull", "the disk is full", self.disk.left)
        self._carry_out(self.store.handle(failed))

    def _reread(self) -> None:
        self._carry_out(self.store.handle(Reread(self._journal.recover())))

    def _keep(self, batch: Batch) -> None:
        self._journal.append(batch)
        if batch.changes:
            self._durable = batch.changes[-1].entry.revision
        add = self._digest.add
        for change in batch.changes:
            add(b"commit", SERVER, change.type, change.entry.data)
        for note in batch.notes:
            add(b"note", SERVER, note.stream, note.body)

    def _witness_commit(self, changes: tuple[CommittedChange, ...], origins: dict[int, str]) -> None:
        self._witnessed = changes[-1].entry.revision
        self._moments.append(self._timeline.ms)
        self._revisions.append(self._witnessed)
        self._witness.committed(changes, origins)

    def _publish(self, changes: tuple[CommittedChange, ...], origins: dict[int, str]) -> None:
        self._assembly.observe(changes, self.now)
        self._witness_commit(changes, origins)
        woken = self.hub.publish(changes)
        if woken:
            self._witness.wake_watches(woken)


def _on_full_disk(request: Request, done: Answer, reply: Reply | None) -> None:
    """Leases and deletions have room of their own."""
    has_room = request.verb == "delete" or request.plural == "leases"
    if has_room and reply is not None and reply.status == StorageFull.status:
        raise Violation(FULL_DISK_SERVES, f"{request.verb} of {request.plural} {request.name} had no room")
    done(reply)
