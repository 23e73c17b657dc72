"""A synchronous driver: one Store on one journal, with a journal in between that fails when told to.

Carries out instructions in order, on the spot. Tests decide when to flush, so that they can hold transactions
pending; `settle` flushes until nothing is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fairlead.model.key import Key
from fairlead.store.contract import (
    Batch,
    CommitOutcome,
    CommittedChange,
    Entry,
    Journal,
    JournalError,
    Precondition,
    Put,
    Recovered,
    Remove,
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
    Submitted,
)
from fairlead.store.machine import Store, StoreLimits
from fairlead.store.phases import StorePhase
from fairlead.store.watch import Hub


class FailingJournal:
    """Passes everything on; `fail_next` makes the next append fail before or after it is durable."""

    def __init__(self, inner: Journal) -> None:
        self.inner = inner
        self.fail_next = ""  # "before", "after"
        self.recover_fails = False
        self.versions = inner.versions
        self.changes_after = inner.changes_after
        self.first_changes_after = inner.first_changes_after
        self.first_change_after = inner.first_change_after
        self.written_after = inner.written_after
        self.compact = inner.compact
        self.notes = inner.notes
        self.close = inner.close

    def append(self, batch: Batch) -> None:
        fail, self.fail_next = self.fail_next, ""
        if fail != "before":
            self.inner.append(batch)
        if fail:
            raise JournalError("StorageFailed", f"told to fail {fail} it was durable")

    def recover(self) -> Recovered:
        if self.recover_fails:
            raise JournalError("StorageFailed", "told to fail reading")
        return self.inner.recover()


class Harness:
    """`open_journal` opens the same durable state each time: calling it again is a restart."""

    def __init__(self, open_journal: Callable[[], Journal], limits: StoreLimits | None = None) -> None:
        self._open_journal = open_journal
        self._limits = limits
        self.now = 1_000.0
        self._ticket = 0
        self.outcomes: dict[int, CommitOutcome] = {}
        self.published: list[CommittedChange] = []
        self.asked: list[Instruction] = []  # Append and ReadAgain that were not carried out yet
        self._start()

    def _start(self) -> None:
        self.journal = FailingJournal(self._open_journal())
        self.store = Store(self.journal.recover(), self.journal, self._limits)
        self.hub = Hub(self.store)

    def restart(self) -> None:
        """What was pending is gone, as after a crash."""
        self.journal.close()
        self.asked.clear()
        self._start()

    def close(self) -> None:
        self.journal.close()

    # Driving

    def send(self, event: Event) -> tuple[Instruction, ...]:
        instructions = self.store.handle(event)
        for instruction in instructions:
            if isinstance(instruction, Resolve):
                assert instruction.ticket not in self.outcomes, "a ticket is resolved once"
                self.outcomes[instruction.ticket] = instruction.outcome
            elif isinstance(instruction, Publish):
                self.published.extend(instruction.changes)
                self.hub.publish(instruction.changes)
            elif not isinstance(instruction, FlushSoon):
                self.asked.append(instruction)
        return instructions

    def submit(self, transaction: Transaction) -> int:
        self._ticket += 1
        self.send(Submitted(self._ticket, transaction))
        return self._ticket

    def flush(self) -> None:
        """Hand what gathered to the journal, without carrying the append out."""
        self.send(Flush(self.now))

    def carry_out(self) -> None:
        """Do what the store asked of its journal."""
        while self.asked:
            instruction = self.asked.pop(0)
            try:
                if isinstance(instruction, Append):
                    self.journal.append(instruction.batch)
                    event: Event = Appended()
                else:
                    assert isinstance(instruction, ReadAgain)
                    event = Reread(self.journal.recover())
            except JournalError as error:
                if isinstance(instruction, Append):
                    event = AppendFailed(error.reason, str(error))
                else:
                    event = RereadFailed(str(error))
            self.send(event)

    def settle(self) -> None:
        self.carry_out()
        while self.store.phase is StorePhase.GATHERING:
            self.flush()
            self.carry_out()

    def run(self, transaction: Transaction) -> CommitOutcome:
        ticket = self.submit(transaction)
        self.settle()
        return self.outcomes[ticket]

    def compact(self, retention: Retention, times: int = 4, budget: int = 1000) -> None:
        for _ in range(times):
            self.send(FloorsMoved(self.journal.compact(self.now, {"": retention}, budget)))


# Transactions in few words


def key(name: str, namespace: str = "default", resource: str = "pods") -> Key:
    return Key(resource, namespace, name)


def put(at: Key, value: str = "", uid: str = "u1") -> Put:
    tail = f'","name":"{at.name}"}},"value":"{value}"}}'
    return Put(at, uid, b'{"metadata":{"resourceVersion":"', tail.encode())


def delete(at: Key, uid: str = "u1", value: str = "") -> Remove:
    as_put = put(at, value, uid)
    return Remove(at, uid, as_put.head, as_put.tail)


def transact(*operations: Put | Remove, when: Iterable[Precondition] = ()) -> Transaction:
    return Transaction(tuple(operations), tuple(when))


def names(entries: Iterable[Entry]) -> list[str]:
    return [f"{entry.key.namespace}/{entry.key.name}" for entry in entries]


def story(changes: Sequence[CommittedChange]) -> list[str]:
    """Changes as `ADDED a@1`."""
    return [f"{change.type} {change.entry.key.name}@{change.entry.revision}" for change in changes]
