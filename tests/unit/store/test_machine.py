"""The store machine alone: its transition table, its bounds, and what it does when the journal fails."""

from __future__ import annotations

import pytest

from fairlead.model.key import Key
from fairlead.store.contract import (
    FREEING,
    LEASE,
    RUN,
    Absent,
    CommitFailed,
    Committed,
    CommittedChange,
    Damaged,
    Entry,
    HasUid,
    Note,
    Put,
    Recovered,
    Remove,
    Transaction,
)
from fairlead.store.damage import stand_in
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
from fairlead.store.machine import Store, StoreLimits
from fairlead.store.memory import MemoryJournal
from fairlead.store.phases import OutOfTurn, StorePhase
from fairlead.store.room import LEASE_BYTES_MAX, RUN_BYTES_MAX

A, B = Key("pods", "default", "a"), Key("pods", "default", "b")


def write(key: Key = A, *notes: Note) -> Transaction:
    return Transaction((Put(key, "u", b'{"r":"', b'"}'),), (), notes)


WRITE = Submitted(1, write())
RENEWAL = Submitted(1, Transaction((Put(A, "u", b'{"r":"', b'"}'),), claim=LEASE))
REFUSED = Submitted(2, Transaction((), (HasUid(B, "nobody"),)))
START = Recovered(5, (), {})
BEHIND = Recovered(4, (), {})
EVENTS: tuple[Event, ...] = (
    WRITE,
    REFUSED,
    Flush(1.0),
    Appended(),
    AppendFailed("StorageFull", "no space"),
    Reread(START),
    Reread(BEHIND),
    RereadFailed("no"),
)
PATHS: dict[StorePhase, tuple[tuple[Event, ...], ...]] = {
    StorePhase.OPEN: ((),),
    StorePhase.GATHERING: ((WRITE,),),
    StorePhase.APPENDING: ((WRITE, Flush(1.0)), (WRITE, Flush(1.0), WRITE)),
    StorePhase.REREADING: (
        (WRITE, Flush(1.0), AppendFailed("StorageFull", "no space")),
        (RENEWAL, Flush(1.0), AppendFailed("StorageFull", "no space")),
    ),
    StorePhase.HALTED: ((WRITE, Flush(1.0), AppendFailed("StorageFailed", "io"), RereadFailed("no")),),
}


def store(limits: StoreLimits | None = None, recovered: Recovered = START) -> Store:
    return Store(recovered, MemoryJournal(), limits)


def documented_transitions() -> dict[tuple[str, str], set[str]]:
    lines = [line.strip() for line in (Store.__doc__ or "").splitlines() if line.strip().startswith("|")]
    header, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {
        (row[0], event): set(cell.split()) - {"-"}
        for row in rows
        for event, cell in zip(header[1:], row[1:], strict=True)
    }


def observed_transitions() -> dict[tuple[str, str], set[str]]:
    observed: dict[tuple[str, str], set[str]] = {}
    for phase, paths in PATHS.items():
        for path in paths:
            for event in EVENTS:
                machine = store()
                for step in path:
                    machine.handle(step)
                assert machine.phase is phase
                reached = observed.setdefault((phase.name, type(event).__name__), set())
                try:
                    machine.handle(event)
                except OutOfTurn:
                    assert machine.phase is phase
                else:
                    reached.add(machine.phase.name)
    return observed


def test_the_transition_table_in_the_docstring_is_what_the_machine_does() -> None:
    assert observed_transitions() == documented_transitions()


@pytest.mark.parametrize("phase", StorePhase)
def test_floors_move_in_every_phase(phase: StorePhase) -> None:
    machine = store()
    for step in PATHS[phase][0]:
        machine.handle(step)
    assert machine.handle(FloorsMoved({"pods": 3})) == ()
    assert (machine.phase, machine.floor("pods"), machine.floor("nodes"), machine.floor("")) == (
        phase,
        3,
        0,
        3,
    )
    machine.handle(FloorsMoved({"pods": 2}))
    assert machine.floor("pods") == 3


def test_a_flush_is_asked_for_once_and_again_only_when_more_has_gathered() -> None:
    machine = store()
    assert machine.handle(Submitted(1, write())) == (FlushSoon(),)
    assert machine.handle(Submitted(2, write(B))) == ()
    machine.handle(Flush(1.0))
    assert machine.handle(Submitted(3, write())) == ()
    assert machine.handle(Appended())[-1] == FlushSoon()
    machine.handle(Flush(2.0))
    assert FlushSoon() not in machine.handle(Appended())


def test_changes_are_published_before_anyone_is_answered() -> None:
    machine = store()
    machine.handle(WRITE)
    machine.handle(Flush(1.0))
    kinds = [type(instruction) for instruction in machine.handle(Appended())]
    assert kinds == [Publish, Resolve]


def test_a_batch_is_bounded_and_no_transaction_is_split() -> None:
    machine = store(StoreLimits(batch_changes_max=3))
    for ticket in range(3):
        machine.handle(Submitted(ticket, write(Key("pods", "", str(ticket)), Note("audit", b"{}"))))
    sizes = []
    while machine.phase is StorePhase.GATHERING:
        (append,) = machine.handle(Flush(1.0))
        assert isinstance(append, Append)
        sizes.append((len(append.batch.changes), len(append.batch.notes)))
        machine.handle(Appended())
    assert sizes == [(1, 1), (1, 1), (1, 1)]
    big = Transaction(tuple(Put(Key("pods", "", str(n)), "u", b"", b"") for n in range(5)))
    machine.handle(Submitted(9, big))
    (append,) = machine.handle(Flush(1.0))
    assert isinstance(append, Append)
    assert len(append.batch.changes) == 5


def resolved(instructions: tuple[Instruction, ...]) -> dict[int, object]:
    return {one.ticket: one.outcome for one in instructions if isinstance(one, Resolve)}


def test_too_many_pending_tickets_are_turned_away_and_later_ones_served() -> None:
    machine = store(StoreLimits(pending_max=2))
    machine.handle(Submitted(1, write()))
    machine.handle(Flush(1.0))
    machine.handle(Submitted(2, write()))
    turned_away = resolved(machine.handle(Submitted(3, write())))[3]
    assert isinstance(turned_away, CommitFailed)
    assert turned_away.reason == "Overloaded"
    machine.handle(Appended())
    assert resolved(machine.handle(Submitted(4, write()))) == {}
    assert machine.pending == 2


def test_a_question_with_nothing_pending_is_answered_at_once() -> None:
    machine = store()
    outcome = resolved(machine.handle(Submitted(1, Transaction((), (Absent(A),)))))[1]
    assert outcome == Committed(())
    assert machine.phase is StorePhase.OPEN


def test_while_halted_writes_fail_and_ask_once_for_another_look() -> None:
    machine = store()
    for step in PATHS[StorePhase.HALTED][0]:
        machine.handle(step)
    failed, read_again = machine.handle(Submitted(7, write()))
    assert isinstance(failed, Resolve)
    assert isinstance(failed.outcome, CommitFailed)
    assert failed.outcome.reason == "Halted"
    assert read_again == ReadAgain()
    assert len(machine.handle(Submitted(8, write()))) == 1, "one look is in flight"
    assert machine.handle(Reread(START)) == ()
    assert machine.handle(Submitted(9, write())) == (FlushSoon(),)


def test_a_journal_that_forgot_what_was_acknowledged_keeps_the_store_halted() -> None:
    machine = store()
    for step in (WRITE, Flush(1.0), Appended(), WRITE, Flush(1.0), AppendFailed("StorageFailed", "io")):
        machine.handle(step)
    assert machine.handle(Reread(START)) == ()
    assert machine.phase is StorePhase.HALTED
    assert machine.revision == 6
    assert machine.get(A) is not None, "reads go on"
    failed = resolved(machine.handle(Submitted(7, write())))[7]
    assert isinstance(failed, CommitFailed)
    assert "back at 5 though 6 was durable" in failed.message


def test_what_the_journal_knows_before_the_store_was_told_is_not_shown() -> None:
    journal = MemoryJournal()
    machine = Store(journal.recover(), journal, StoreLimits(window_changes_max=0))
    for key in (A, B):
        machine.handle(Submitted(1, write(key)))
        (append,) = machine.handle(Flush(1.0))
        assert isinstance(append, Append)
        journal.append(append.batch)
        if key is A:
            machine.handle(Appended())
    assert [change.entry.key for change in machine.changes_after(0, "pods", 10)] == [A]
    assert [entry.key for entry in machine.list_at("pods", "", 1)] == [A]
    assert machine.list_at("pods", "", 0) == ()


def test_the_machine_counts_what_it_did() -> None:
    machine = store()
    for step in (WRITE, REFUSED, Flush(1.0), Appended(), WRITE, Flush(1.0), AppendFailed("StorageFull", "")):
        machine.handle(step)
    assert (machine.committed, machine.refused, machine.appends, machine.appends_failed) == (1, 1, 2, 1)


def test_an_out_of_turn_report_names_phase_and_event() -> None:
    with pytest.raises(OutOfTurn, match="Appended in phase open"):
        store().handle(Appended())


def test_a_reread_replaces_the_present_with_the_journals_word() -> None:
    journal = MemoryJournal()
    machine = Store(journal.recover(), journal)
    machine.handle(WRITE)
    (append,) = machine.handle(Flush(1.0))
    assert isinstance(append, Append)
    journal.append(append.batch)
    machine.handle(AppendFailed("StorageFailed", "reported late"))
    (publish,) = machine.handle(Reread(journal.recover()))
    assert isinstance(publish, Publish)
    assert [(c.type, c.entry) for c in publish.changes] == [("ADDED", machine.get(A))]
    assert isinstance(machine.get(A), Entry)
    assert isinstance(publish.changes[0], CommittedChange)


def renewal(ticket: int, key: Key = B) -> Submitted:
    return Submitted(ticket, Transaction((Put(key, "u", b'{"r":"', b'"}'),), claim=LEASE))


def deletion(ticket: int, size: int, key: Key = A) -> Submitted:
    return Submitted(ticket, Transaction((Remove(key, "u", b"x" * size, b""),), claim=FREEING))


def test_a_full_disk_fails_the_others_of_a_batch_and_leases_are_judged_again() -> None:
    machine = store()
    machine.handle(WRITE)
    machine.handle(renewal(2))
    machine.handle(Flush(1.0))
    machine.handle(renewal(3, Key("pods", "default", "c")))
    told = machine.handle(AppendFailed("StorageFull", "no space"))
    assert resolved(told) == {1: CommitFailed("StorageFull", "no space")}
    machine.handle(Reread(START))
    (append,) = machine.handle(Flush(2.0))
    assert isinstance(append, Append)
    assert [change.entry.revision for change in append.batch.changes] == [6, 7], (
        "numbered anew, without a gap"
    )
    assert set(resolved(machine.handle(Appended()))) == {2, 3}


def test_short_of_room_without_bytes_to_spare_only_leases_and_questions_are_taken() -> None:
    machine = store()
    machine.handle(RoomLost("little is left", 0))
    assert resolved(machine.handle(Submitted(1, write()))) == {
        1: CommitFailed("StorageFull", "little is left")
    }
    note = Transaction(notes=(Note("audit", b"{}"),))
    assert resolved(machine.handle(Submitted(2, note))) == {2: CommitFailed("StorageFull", "little is left")}
    assert isinstance(resolved(machine.handle(Submitted(3, Transaction())))[3], Committed)
    assert machine.handle(renewal(4)) == (FlushSoon(),)
    large = Transaction((Put(B, "u", b"x" * LEASE_BYTES_MAX, b"}"),), claim=LEASE)
    assert resolved(machine.handle(Submitted(5, large)))[5] == CommitFailed("StorageFull", "little is left")
    machine.handle(RoomFound())
    assert machine.handle(Submitted(6, write())) == (), "gathered with the renewal"


def test_deletions_have_as_much_room_as_there_is() -> None:
    machine = store()
    keys = [Key("pods", "default", str(number)) for number in range(2)]
    for number, key in enumerate(keys):
        machine.handle(Submitted(number, write(key)))
    machine.handle(Flush(1.0))
    machine.handle(Appended())
    machine.handle(RoomLost("little is left", 1000))
    assert machine.handle(deletion(5, 995, keys[0])) == (FlushSoon(),)
    assert 6 in resolved(machine.handle(deletion(6, 10, keys[1])))
    machine.handle(RoomLost("little is left", 10))
    assert machine.handle(deletion(7, 10, keys[1])) == ()


def test_runs_of_runbooks_leave_half_of_the_room_to_deletions() -> None:
    machine = store()
    machine.handle(Submitted(1, write(A)))
    machine.handle(Flush(1.0))
    machine.handle(Appended())
    machine.handle(RoomLost("little is left", 1000))

    def run(ticket: int, size: int) -> tuple[Instruction, ...]:
        put = Put(Key("runbookruns.fairlead.dev", "default", str(ticket)), "u", b"x" * size, b"")
        return machine.handle(Submitted(ticket, Transaction((put,), claim=RUN)))

    assert run(2, 450) == (FlushSoon(),)
    assert 3 in resolved(run(3, 51))
    assert machine.handle(deletion(4, 550)) == ()
    machine.handle(RoomLost("little is left", 4 * RUN_BYTES_MAX))
    assert 5 in resolved(run(5, RUN_BYTES_MAX + 1))


def test_who_finds_no_room_twice_is_told_so_and_so_is_who_cannot_be_judged_again() -> None:
    machine = store()
    machine.handle(RoomLost("little is left", 0))
    machine.handle(renewal(1))
    machine.handle(Flush(1.0))
    assert resolved(machine.handle(AppendFailed("StorageFull", "none")))[1] == CommitFailed(
        "StorageFull", "none"
    )
    machine = store()
    machine.handle(renewal(1))
    machine.handle(Flush(1.0))
    assert resolved(machine.handle(AppendFailed("StorageFull", "none"))) == {}
    assert machine.pending == 1
    outcome = resolved(machine.handle(RereadFailed("io")))[1]
    assert isinstance(outcome, CommitFailed)
    assert (outcome.reason, machine.pending) == ("Halted", 0)


def test_what_readers_hold_of_the_store_shows_what_the_journal_says_after_it_was_read_again() -> None:
    wrong = Damaged(stand_in(A, 5, "u", "its bytes are others", b""), "its bytes are others")
    machine = store(recovered=Recovered(5, (wrong.entry, Entry(B, "u", 4, b"b")), {}, damaged=(wrong,)))
    get, objects = machine.get, machine.list
    assert list(machine.damaged) == [A]
    mended = Entry(A, "u", 5, b"a")
    machine.handle(WRITE)
    machine.handle(Submitted(2, write(Key("pods", "other", "c"))))
    machine.handle(Flush(1.0))
    machine.handle(AppendFailed("StorageFailed", "no"))
    machine.handle(Reread(Recovered(5, (mended,), {})))
    assert (get(A), get(B)) == (mended, None)
    assert objects("pods") == objects("pods", "default") == (mended,)
    assert not machine.damaged
