"""The driver of the store on a real loop and a real writer thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

from fairlead.model.key import Key
from fairlead.runtime.server import store_driver
from fairlead.runtime.server.store_driver import StoreDriver
from fairlead.store.contract import (
    Absent,
    Batch,
    CommitFailed,
    CommitOutcome,
    Committed,
    CommittedChange,
    JournalError,
    Note,
    PreconditionFailed,
    Put,
    Recovered,
    Retention,
    Transaction,
)
from fairlead.store.events import Event, FloorsMoved, Submitted
from fairlead.store.machine import Store
from fairlead.store.memory import MemoryJournal


class Disk(MemoryJournal):
    """A journal that can be told to fail, before or after it has written."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[int] = []
        self.fail_before: Exception | None = None
        self.fail_after: Exception | None = None

    def append(self, batch: Batch) -> None:
        error, self.fail_before = self.fail_before, None
        if error is not None:
            raise error
        super().append(batch)
        self.batches.append(len(batch.changes))
        error, self.fail_after = self.fail_after, None
        if error is not None:
            raise error


class Bench:
    def __init__(self, disk: Disk, retention: Retention | None = None) -> None:
        self.disk = disk
        self.store = Store(disk.recover(), disk)
        self.published: list[CommittedChange] = []
        self.events: list[Event] = []
        self.driver = StoreDriver(
            asyncio.get_running_loop(),
            self.store,
            disk,
            self.published.extend,
            {"": retention or Retention()},
            time.time,
            self.events.append,
        )
        self.driver.start()

    async def commit(self, transaction: Transaction) -> CommitOutcome:
        answered: asyncio.Future[CommitOutcome] = asyncio.get_running_loop().create_future()
        self.driver.submit(
            transaction, lambda outcome: None if answered.done() else answered.set_result(outcome)
        )
        return await answered


def put(name: str) -> Transaction:
    key = Key("pods", "a", name)
    return Transaction((Put(key, name, b'{"v":"', b'"}'),), (Absent(key),), (Note("audit", b"{}"),))


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 20))


def test_what_arrives_in_one_turn_commits_together() -> None:
    async def work() -> None:
        bench = Bench(Disk())
        outcomes = await asyncio.gather(*[bench.commit(put(str(n))) for n in range(50)])
        assert all(isinstance(outcome, Committed) for outcome in outcomes)
        assert bench.disk.batches == [50]
        assert len(bench.published) == 50
        await bench.driver.stop(5)

    run(work())


def test_watchers_are_told_before_the_writer_is_answered() -> None:
    async def work() -> None:
        bench = Bench(Disk())
        seen: list[int] = []
        done = asyncio.get_running_loop().create_future()

        def answered(outcome: object) -> None:
            seen.append(len(bench.published))
            done.set_result(None)

        bench.driver.submit(put("x"), answered)
        await done
        assert seen == [1]
        await bench.driver.stop(5)

    run(work())


def test_a_full_disk_fails_the_write_and_the_next_one_works() -> None:
    async def work() -> None:
        disk = Disk()
        bench = Bench(disk)
        disk.fail_before = JournalError("StorageFull", "no space left")
        outcome = await bench.commit(put("x"))
        assert outcome == CommitFailed("StorageFull", "no space left")
        while isinstance(outcome := await bench.commit(put("x")), CommitFailed):
            assert outcome.reason in ("Halted", "StorageFull")
            await asyncio.sleep(0.01)
        assert isinstance(outcome, Committed)
        await bench.driver.stop(5)

    run(work())


def test_a_write_that_was_durable_although_it_failed_is_found_and_published() -> None:
    async def work() -> None:
        disk = Disk()
        bench = Bench(disk)
        disk.fail_after = JournalError("StorageFailed", "the disk said nothing")
        assert isinstance(await bench.commit(put("x")), CommitFailed)
        while isinstance(outcome := await bench.commit(put("x")), CommitFailed):
            await asyncio.sleep(0.01)
        assert isinstance(outcome, PreconditionFailed), "it exists: the first attempt had been durable"
        assert [change.entry.key.name for change in bench.published] == ["x"]
        await bench.driver.stop(5)

    run(work())


def test_an_unforeseen_error_in_the_writer_thread_does_not_stop_writing_for_good() -> None:
    async def work() -> None:
        disk = Disk()
        bench = Bench(disk)
        disk.fail_before = ZeroDivisionError("a bug")
        assert isinstance(await bench.commit(put("x")), CommitFailed)
        while isinstance(outcome := await bench.commit(put("y")), CommitFailed):
            await asyncio.sleep(0.01)
        assert isinstance(outcome, Committed)
        await bench.driver.stop(5)

    run(work())


def test_an_unforeseen_error_while_history_is_compacted_does_not_stop_writing(monkeypatch: Any) -> None:
    monkeypatch.setattr(store_driver, "COMPACT_IDLE_SECONDS", 0.01)
    tried: list[float] = []

    class Damaged(Disk):
        def compact(self, now: float, retention: dict[str, Retention], budget: int) -> dict[str, int]:
            tried.append(now)
            raise TypeError("a row is not what it was")

    async def work() -> None:
        bench = Bench(Damaged())
        while len(tried) < 2:  # it is tried again, so the writer lives
            await asyncio.sleep(0.01)
        assert isinstance(await bench.commit(put("a")), Committed)
        await bench.driver.stop(5)

    run(work())


def test_an_unforeseen_error_while_the_journal_is_read_again_is_answered() -> None:
    class Unreadable(Disk):
        broken = False

        def recover(self) -> Recovered:
            if self.broken:
                raise AttributeError("a row is not what it was")
            return super().recover()

    async def work() -> None:
        disk = Unreadable()
        bench = Bench(disk)
        disk.fail_after, disk.broken = JournalError("StorageFailed", "no more"), True
        assert isinstance(await bench.commit(put("a")), CommitFailed)
        assert isinstance(await bench.commit(put("b")), CommitFailed)
        disk.broken = False
        assert isinstance(await bench.commit(put("c")), CommitFailed | Committed)
        await bench.driver.stop(5)

    run(work())


def test_stopping_waits_for_what_was_submitted() -> None:
    async def work() -> None:
        bench = Bench(Disk())
        outcomes: list[object] = []
        for number in range(20):
            bench.driver.submit(put(str(number)), outcomes.append)
        await bench.driver.stop(5)
        assert len(outcomes) == 20

    run(work())


def test_history_is_compacted_until_nothing_is_left_to_forget(monkeypatch: Any) -> None:
    monkeypatch.setattr(store_driver, "COMPACT_IDLE_SECONDS", 0.01)
    monkeypatch.setattr(store_driver, "COMPACT_BUSY_SECONDS", 0.01)

    async def work() -> None:
        bench = Bench(Disk(), Retention(seconds=0.0, bytes_max=0))
        for number in range(5):
            key = Key("pods", "a", "x")
            await bench.commit(Transaction((Put(key, "u", b'{"v":"', b'","n":%d}' % number),)))
        while bench.store.floor("pods") < 5:
            await asyncio.sleep(0.01)
        assert any(isinstance(event, FloorsMoved) for event in bench.events)
        assert sum(isinstance(event, Submitted) for event in bench.events) == 5
        await bench.driver.stop(5)

    run(work())
