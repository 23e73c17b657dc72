"""The store and its mark on a bad disk: lives between power cuts, each opened on what the one before left behind.

The machine (`store/machine.py`), the journal (`store/sqlite.py`), the mark (`runtime/data/revision_mark.py`) and the look
at the log before it is opened (`store/wal.py`) are production's. `Ledger` knows what was acknowledged, and what every
batch would come to; `judge` compares that with what a start serves.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import apsw
import pytest

from fairlead.core.errors import DataDirectoryError
from fairlead.model.key import Key
from fairlead.runtime.data import revision_mark
from fairlead.runtime.data.revision_mark import RevisionMark, read_acknowledged
from fairlead.sim.chance import Chance
from fairlead.store.contract import Entry, JournalError, Note, Put, Recovered, Remove, Retention, Transaction
from fairlead.store.events import (
    Append,
    Appended,
    AppendFailed,
    FloorsMoved,
    Flush,
    ReadAgain,
    Reread,
    Submitted,
)
from fairlead.store.machine import Store
from fairlead.store.sqlite import SqliteJournal
from fairlead.store.wal import examine
from tests.deterministic.disk import Disk, DiskFaults, DiskOs, DiskPath

STORE = "/store.db"
_READINGS = 20
LIVES, BATCHES = 4, 12
FAULTLESS = DiskFaults()
Objects = tuple[Entry, ...]


@dataclass(slots=True)
class Ledger:
    """`states`: what each revision stands for; several where a batch failed and its number was given again."""

    states: dict[int, list[Objects]] = field(default_factory=lambda: {0: [()]})
    acknowledged: int = 0
    content: dict[int, Objects] = field(default_factory=dict)  # acknowledged, by revision
    written: list[Entry] = field(default_factory=list)  # every version
    problems: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)  # starts that ended with a sentence for the operator
    told: list[str] = field(default_factory=list)  # losses that were reported
    damaged: int = 0
    lives: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Weather:
    """What the disk does. `honest`: what it said was synced is there after a cut."""

    faults: DiskFaults = FAULTLESS
    fills: bool = False
    rots: bool = False
    honest: bool = True


def store_world(seed: int, weather: Weather, cut_at: int | None = None) -> Ledger:
    """`cut_at`: the operation of the first life at which the power is cut; None: drawn, in every life."""
    chance, ledger = Chance(seed), Ledger()
    disk = Disk(chance, FAULTLESS)
    with _mark_on(disk):
        _make(disk)
        for life in range(LIVES if cut_at is None else 2):
            drawn = (
                disk.operations + 1 + chance.stream("cut").choose(220)
                if cut_at is None
                else disk.operations + cut_at
            )
            disk.cut_at = drawn if cut_at is None or life == 0 else disk.cut_at
            if not _live(disk, ledger, weather, life):
                break
            disk.reboot()
            if weather.rots and life == 1:
                names = sorted(name for name in disk.content if not name.startswith("/temporary"))
                disk.rot(names[chance.stream("rots").choose(len(names))])
            _judge_start(disk, ledger, weather)
            if ledger.refused:
                break
    disk.unregister()
    return ledger


@contextlib.contextmanager
def _mark_on(disk: Disk) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(revision_mark, "os", DiskOs(disk))
        patch.setattr(revision_mark, "sync_directory", lambda path: None)
        yield


def _make(disk: Disk) -> None:
    """As `runtime/data/directory.py` makes a store: durable before anybody uses it."""
    _journal(disk, None).close()
    revision_mark.write_closed_mark(_directory(disk), 0)


def _directory(disk: Disk) -> Any:
    return DiskPath(disk, "/")


def _journal(disk: Disk, mark: RevisionMark | None) -> SqliteJournal:
    return SqliteJournal(
        STORE, vfs=disk.name, shared_memory=False, checkpoint_pages=12, witness=mark, opened_at=1.0
    )


@contextlib.contextmanager
def _opened(disk: Disk) -> Iterator[tuple[SqliteJournal, Recovered]]:
    log = disk.content.get(f"{STORE}-wal")
    report = examine(bytes(log.cached) if log else b"", b"")
    journal = _journal(disk, RevisionMark(_directory(disk), report.lost))
    try:
        yield journal, journal.recover()
    finally:
        with contextlib.suppress(apsw.Error, JournalError, OSError):
            journal.close()


def _live(disk: Disk, ledger: Ledger, weather: Weather, life: int) -> bool:
    """Until the power is cut or the work is done. False if the store could not be opened, which must be told."""
    ledger.lives += 1
    try:
        with _opened(disk) as (journal, recovered):
            disk.faults = weather.faults
            _work(disk, journal, Store(recovered, journal), ledger, weather, life)
            disk.faults = FAULTLESS
            if not disk.dead and disk.chance.stream("closes").choose(2):
                disk.cut_at = disk.operations  # no orderly end
    except DataDirectoryError as error:
        if not disk.dead:
            ledger.refused.append(str(error))
            return False
    except (apsw.Error, JournalError, OSError):
        if not disk.dead:
            raise
    disk.faults = FAULTLESS
    disk.room = None
    return True


def _work(
    disk: Disk, journal: SqliteJournal, store: Store, ledger: Ledger, weather: Weather, life: int
) -> None:
    chance = disk.chance.stream("work", str(life))
    for number in range(BATCHES):
        now = 1000.0 + life * 100 + number
        if weather.fills:
            used = sum(len(file.cached) for file in disk.content.values())
            disk.room = used + 2_000 if number % 6 == 3 else disk.room
            disk.room = None if number % 6 == 5 else disk.room
        for position in range(1 + chance.choose(3)):
            store.handle(Submitted(number * 10 + position, _transaction(chance, store)))
        instructions = store.handle(Flush(now))
        append = next((each for each in instructions if isinstance(each, Append)), None)
        if append is None:
            continue
        _remember(ledger, store, append)
        try:
            journal.append(append.batch)
        except JournalError as error:
            if disk.dead:
                return
            ledger.failed += 1
            if not _read_again(disk, journal, store, AppendFailed(error.reason, str(error))):
                return
            continue
        if append.batch.changes:
            ledger.acknowledged = append.batch.changes[-1].entry.revision
            state = ledger.states[ledger.acknowledged][-1]
            if weather.honest and ledger.content.setdefault(ledger.acknowledged, state) != state:
                ledger.problems.append(f"revision {ledger.acknowledged} was acknowledged twice")
        store.handle(Appended())
        if number % 5 == 4:
            with contextlib.suppress(JournalError):
                store.handle(FloorsMoved(journal.compact(now, {"": Retention(seconds=3.0)}, 20)))
        if disk.dead:
            return


def _read_again(disk: Disk, journal: SqliteJournal, store: Store, failed: AppendFailed) -> bool:
    """As the store's driver does. False if it cannot be read: it then serves what it has, and writes nothing."""
    instructions = store.handle(failed)
    for _ in range(_READINGS):
        if disk.dead or not any(isinstance(each, ReadAgain) for each in instructions):
            return not disk.dead
        with contextlib.suppress(JournalError, apsw.Error, DataDirectoryError):
            instructions = store.handle(Reread(journal.recover()))
    return False


def _transaction(chance: Any, store: Store) -> Transaction:
    key = Key("pods", "default", f"p{chance.choose(6)}")
    text = b"%d" % chance.choose(1000) + b"." * (chance.choose(4) * 700)
    head, tail = b'{"metadata":{"resourceVersion":"', b'"},"value":"%b"}' % text
    there = store.get(key)
    notes = (Note("audit", b'{"text":"%b"}' % text),) if chance.choose(2) else ()
    if there is not None and chance.choose(4) == 3:
        return Transaction((Remove(key, there.uid, head, tail),), (), notes)
    return Transaction((Put(key, "u", head, tail),), (), notes)


def _remember(ledger: Ledger, store: Store, append: Append) -> None:
    present = {entry.key: entry for entry in store.list("pods")}
    for change in append.batch.changes:
        present[change.entry.key] = change.entry
        if change.type == "DELETED":
            del present[change.entry.key]
    if append.batch.changes:
        revision = append.batch.changes[-1].entry.revision
        ledger.written += [change.entry for change in append.batch.changes]
        ledger.states.setdefault(revision, []).append(tuple(present[key] for key in sorted(present)))


# The oracle


def _judge_start(disk: Disk, ledger: Ledger, weather: Weather) -> None:
    heard = read_acknowledged(_directory(disk))
    try:
        with _opened(disk) as (_, recovered):
            ledger.problems += _judge(recovered, ledger, weather, heard)
            ledger.damaged += len(recovered.damaged)
    except DataDirectoryError as error:
        ledger.refused.append(str(error))
        if weather.honest and not weather.rots:
            ledger.problems.append(f"an ordinary power cut made it useless: {error}")
        return
    if recovered.revision < ledger.acknowledged or recovered.lost:
        ledger.told += [each.why for each in recovered.lost]
    for revision in [each for each in ledger.content if max(recovered.revision, heard) < each]:
        del ledger.content[revision]  # nobody could know: the disk has forgotten the word of it as well
    ledger.acknowledged = (
        recovered.revision
    )  # what was lost is told once; judged from here on is what is left
    ledger.states[recovered.revision] = [recovered.entries]


def _judge(recovered: Recovered, ledger: Ledger, weather: Weather, heard: int) -> Iterator[str]:
    sound = weather.honest and not weather.rots
    revision = recovered.revision
    # Numbering goes on above what is lost.
    before = next((each.after for each in recovered.lost if each.until == revision), revision)
    if sound and (recovered.lost or recovered.damaged or recovered.reports):
        yield f"an ordinary power cut raised an alarm: {recovered.lost} {recovered.damaged} {recovered.reports}"
    if sound and revision < ledger.acknowledged:
        yield f"{ledger.acknowledged} was acknowledged after an honest sync, and {revision} is there"
    if revision < heard:
        yield f"{heard} is known to be acknowledged, and numbering goes on from {revision}"
    damaged = {each.entry.key for each in recovered.damaged}
    served = {entry.key: entry for entry in recovered.entries if entry.key not in damaged}
    states = ledger.states.get(before, [])
    said = bool(damaged or recovered.reports or before != revision)
    invented = [entry.key for entry in served.values() if entry not in ledger.written]
    if invented:
        yield f"served are objects that nobody wrote: {invented}"
    elif not said and not any(_serves(served, damaged, state) for state in states):
        yield f"the objects at {before} are not what was written, and nothing is said of it"


def _serves(served: dict[Key, Entry], damaged: set[Key], state: Objects) -> bool:
    """Each object as it was, and none missing but those that are named."""
    wanted = {entry.key: entry for entry in state}
    return (
        all(_same(wanted.get(key), entry) for key, entry in served.items())
        and wanted.keys() <= served.keys() | damaged
    )


def _same(wanted: Entry | None, entry: Entry) -> bool:
    return wanted is not None and (wanted.revision, wanted.data) == (entry.revision, entry.data)
