"""Drives the store machine: carries out its instructions and feeds back what happened.

One writer thread appends to the journal; everything else runs on the event loop. Transactions that arrive in one turn
of the loop commit together; those that arrive while the disk works are the next batch. Publishing to watchers and
answering writers happen in one callback per batch, watchers first.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any

from fairlead.core.errors import FairleadError
from fairlead.runtime.data.reserve import RESERVE_BYTES, RESERVE_MARGIN_BYTES, Reserve
from fairlead.store.contract import (
    Batch,
    CommitOutcome,
    CommittedChange,
    Journal,
    JournalError,
    Note,
    Retention,
    Transaction,
)
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
from fairlead.store.machine import Store

log = logging.getLogger("fairlead.store")

# History is compacted a stretch at a time: often while there is something to forget, seldom otherwise.
#: bound: store | the same while there is much to forget | -
COMPACT_BUSY_SECONDS = 0.5
#: bound: store | history is compacted every | -
COMPACT_IDLE_SECONDS = 10.0
#: bound: store | rows forgotten at once | the rest is for the next time
COMPACT_ROWS = 4000
# On a full disk history makes way: leases take the place of older ones, and what was deleted is free soon.
#: bound: connections | history while the disk is full | 410: list again
SHORT_HISTORY_SECONDS = 10.0

_ROOM_MEBIBYTES = (RESERVE_BYTES + RESERVE_MARGIN_BYTES) // (1024 * 1024)
_FULL = (
    f"the server's disk is full: until {_ROOM_MEBIBYTES} MiB are free there, only leases, overrides, runs"
    " of runbooks and deletions are written; free some, or delete objects that are not needed"
)


def _ignore(outcome: CommitOutcome) -> None:
    """Nobody waits for it."""


def _never() -> bool:
    return False


class StoreDriver:
    """Owns the writer thread. `submit` and all callbacks are on the loop's thread."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        store: Store,
        journal: Journal,
        publish: Callable[[tuple[CommittedChange, ...]], None],
        retention: dict[str, Retention],
        clock: Callable[[], float],
        tap: Callable[[Event], None] | None = None,
        reserve: Reserve | None = None,
    ) -> None:
        self._loop = loop
        self._store = store
        self._journal = journal
        self._publish = publish
        self._retention = retention
        self._clock = clock
        self._reserve = reserve
        self._tap = tap  # sees every event before the machine does: a record of these can be played again
        self._floors: dict[str, int] = {}
        self._tickets = 0
        self._waiting: dict[int, Callable[[CommitOutcome], None]] = {}
        self._jobs: SimpleQueue[Callable[[], Event | None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="journal", daemon=True)
        self._compaction: asyncio.TimerHandle | None = None
        self.gathers: Callable[[], bool] = _never  # whether a batch should wait for the next turn of the loop

    def start(self) -> None:
        self._thread.start()
        if self._reserve is not None:
            self._jobs.put(self._hold_reserve)
        self._compaction = self._loop.call_later(COMPACT_IDLE_SECONDS, self._compact)

    def submit(self, transaction: Transaction, done: Callable[[CommitOutcome], None]) -> None:
        self._tickets += 1
        self._waiting[self._tickets] = done
        submitted = Submitted(self._tickets, transaction)
        if self._tap is not None:
            self._tap(submitted)
        self._carry_out(self._store.handle(submitted))  # how much room there is does not change by it

    def note(self, notes: tuple[Note, ...]) -> None:
        self.submit(Transaction(notes=notes), _ignore)

    async def stop(self, grace_seconds: float) -> None:
        """Let what was submitted become durable, then end the thread."""
        if self._compaction is not None:
            self._compaction.cancel()
        deadline = self._loop.time() + grace_seconds
        while self._store.pending and self._loop.time() < deadline:
            await asyncio.sleep(0.005)
        self._jobs.put(None)
        await self._loop.run_in_executor(None, self._thread.join, grace_seconds)

    def abandon(self) -> None:
        """End as if killed: what the writer has not begun is lost, and nobody is told of the rest."""
        if self._compaction is not None:
            self._compaction.cancel()
        while not self._jobs.empty():
            self._jobs.get_nowait()
        self._jobs.put(None)

    def join(self) -> None:
        """Wait for the writer's end, after `abandon`. Nothing if it never began."""
        if self._thread.ident is not None:
            self._thread.join()

    async def forget_history(self) -> None:
        """Compact all that was superseded until now; who resumes from before is told that it is gone."""
        forgotten: asyncio.Future[None] = self._loop.create_future()

        def forget() -> None:
            self._compact_journal({"": Retention(0.0, 0)}, sys.maxsize)
            self._tell(lambda _: forgotten.set_result(None), None)

        self._jobs.put(forget)
        await forgotten

    # Loop side

    def _happened(self, event: Event) -> None:
        if self._tap is not None:
            self._tap(event)
        was_short = bool(self._store.short)
        self._carry_out(self._store.handle(event))
        if was_short != bool(self._store.short):
            self._room_changed()

    def _room_changed(self) -> None:
        if not self._store.short:
            log.warning("the disk has room again: everything is written")
            return
        log.error("%s", self._store.short)
        if self._compaction is not None:
            self._compaction.cancel()
            self._compaction = self._loop.call_later(COMPACT_BUSY_SECONDS, self._compact)

    def _carry_out(self, instructions: tuple[Instruction, ...]) -> None:
        for instruction in instructions:
            if isinstance(instruction, Resolve):
                self._waiting.pop(instruction.ticket)(instruction.outcome)
            elif isinstance(instruction, Publish):
                self._publish(instruction.changes)
            elif isinstance(instruction, FlushSoon):
                self._loop.call_soon(self._flush)
            elif isinstance(instruction, Append):
                self._jobs.put(partial(self._append, instruction.batch))
            elif isinstance(instruction, ReadAgain):
                self._jobs.put(self._reread)

    def _flush(self) -> None:
        if self.gathers():
            self._loop.call_soon(self._flush)
            return
        self._happened(Flush(self._clock()))

    def _compact(self) -> None:
        self._jobs.put(partial(self._compact_journal, self._kept(), COMPACT_ROWS))

    def _kept(self) -> dict[str, Retention]:
        if not self._store.short:
            return self._retention
        return {
            resource: Retention(min(each.seconds, SHORT_HISTORY_SECONDS), each.bytes_max)
            for resource, each in self._retention.items()
        }

    def _compacted(self, floors: dict[str, int]) -> None:
        """The next stretch is compacted only after the store knows of this one: reads never race deletions."""
        moved = floors != self._floors
        self._floors = floors
        self._happened(FloorsMoved(floors))
        if self._compaction is not None:
            self._compaction.cancel()  # of the two that went on after `forget_history`, one does
        delay = COMPACT_BUSY_SECONDS if moved or self._store.short else COMPACT_IDLE_SECONDS
        self._compaction = self._loop.call_later(delay, self._compact)

    # Writer thread

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            event = job()
            if event is not None:
                self._tell(self._happened, event)

    def _tell(self, callback: Callable[[Any], None], news: object) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, news)
        except RuntimeError:
            log.debug("the loop is closed: nobody is left to be told of %s", type(news).__name__)

    def _append(self, batch: Batch) -> Event:
        try:
            self._journal.append(batch)
        except JournalError as error:
            log.error("a write to the journal failed: %s", error)
            if error.reason == "StorageFull" and self._reserve is not None:
                return AppendFailed(error.reason, _FULL, self._use_reserve(self._reserve))
            return AppendFailed(error.reason, str(error))
        except Exception as error:
            log.critical("the journal failed in an unforeseen way", exc_info=True)
            return AppendFailed("StorageFailed", str(error))
        if self._reserve is not None and self._reserve.runs_out():
            self._tell(self._happened, RoomLost(_FULL, self._reserve.left()))
        return Appended()

    def _use_reserve(self, reserve: Reserve) -> int:
        """What deletions may take of it."""
        try:
            reserve.use()
            return reserve.left()
        except JournalError as error:
            log.error("others took what was kept for leases and deletions on the full disk: %s", error)
            return 0

    def _hold_reserve(self) -> None:
        if self._reserve is not None and not self._reserve.hold():
            log.warning("the disk has no room for what is kept for leases and deletions: %s", _FULL)

    def _look_for_room(self) -> None:
        """While ordinary writes are refused: may they go on?"""
        if not self._store.short:
            return
        try:
            if self._reserve is None or self._reserve.regained():
                self._tell(self._happened, RoomFound())
            else:
                self._tell(self._happened, RoomLost(_FULL, self._reserve.left()))
        except JournalError as error:
            log.error("the store cannot tell how much room it has: %s", error)

    def _reread(self) -> Event:
        try:
            return Reread(self._journal.recover())
        except (JournalError, FairleadError) as error:
            log.error("the journal could not be read again: %s", error)
            return RereadFailed(str(error))
        except Exception as error:  # who writes must be answered: the thread goes on
            log.critical("the journal could not be read again, in an unforeseen way", exc_info=True)
            return RereadFailed(str(error))

    def _compact_journal(self, retention: dict[str, Retention], rows: int) -> None:
        try:
            floors = self._journal.compact(self._clock(), retention, rows)
        except JournalError as error:
            log.error("history could not be compacted: %s", error)
            floors = self._floors
        except Exception:  # as above
            log.critical("history could not be compacted, for an unforeseen reason", exc_info=True)
            floors = self._floors
        self._look_for_room()
        self._tell(self._compacted, floors)
