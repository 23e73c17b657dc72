"""Lines of attempts are completed by what the line of their batch says, wherever that is, and older ones stay."""

from __future__ import annotations

import pytest

from fairlead.control.batch_lines import BatchLines
from fairlead.control.instructions import DECISIONS, TURNS
from fairlead.core import codec
from fairlead.store.contract import Batch, Note
from fairlead.store.memory import MemoryJournal

READS = {"pods": [7, 9], "nodes": [5, 9]}
Json = dict[str, object]


def batch(number: int = 1, time: str = "t", reads: Json | None = None) -> Json:
    shared = {"time": time, "controller": "scheduler", "batch": number, "policy": ["default", 3]}
    return {**shared, "reads": reads or READS, "pods": [], "assumed": []}


def attempt(position: int, number: int = 1, time: str = "t", **more: object) -> Json:
    line: Json = {
        "id": f"aa-{position}",
        "time": time,
        "controller": "scheduler",
        "object": "pods/default/web",
    }
    return {**line, "batch": number, "position": position, **more, "nodes": 4}


def journal_of(*lines: Json, notes_max: int = 100_000) -> MemoryJournal:
    journal = MemoryJournal(notes_max)
    journal.append(Batch((), tuple(Note(DECISIONS, codec.encode(line)) for line in lines), 1.0))
    return journal


def whole(*lines: Json, notes_max: int = 100_000) -> Json:
    """The last of these, as it is read."""
    journal = journal_of(*lines, notes_max=notes_max)
    [(place, _, note)] = journal.notes_before(DECISIONS, 0, 1)
    told: Json = codec.decode(BatchLines(journal).whole(place, note).body)
    return told


@pytest.mark.parametrize("others", [0, 1, 99, 100, 250])
def test_an_attempt_says_what_its_batch_read(others: int) -> None:
    between: list[Json] = [{"controller": "deployment", "object": f"b-{number}"} for number in range(others)]
    found = whole(batch(), attempt(0), *between, attempt(1))
    assert found == attempt(1, policy=["default", 3], reads=READS)
    assert list(found) == list(attempt(1, policy=["default", 3], reads=READS)), "where it always stood"


def test_a_line_that_says_so_itself_stays_as_it_is() -> None:
    journal = journal_of(batch(), attempt(0), attempt(1, policy=["default", 1], reads={"pods": [2, 2]}))
    [(place, _, older)] = journal.notes_before(DECISIONS, 0, 1)
    assert BatchLines(journal).whole(place, older) is older


def test_lines_that_are_no_attempts_stay_as_they_are() -> None:
    became: Json = {"of": "aa-1", "controller": "scheduler", "object": "pods/default/web"}
    for line in (batch(), became):
        assert whole(batch(2), line) == line
    turn = Note(TURNS, codec.encode(attempt(0)))
    assert BatchLines(journal_of(batch())).whole(2, turn) is turn


def test_batches_of_other_planes_and_times_are_not_taken() -> None:
    mine, theirs = batch(1), batch(1, "later", {"pods": [8, 8]})
    assert whole(mine, theirs, attempt(0, 1))["reads"] == READS
    assert "reads" not in whole(batch(1, "before"), batch(11), attempt(0, 1))


def test_a_batch_that_the_log_has_dropped_leaves_the_line_as_it_is() -> None:
    many = [attempt(number) for number in range(20)]
    assert whole(batch(), *many, notes_max=10) == many[-1]


def test_many_lines_of_a_batch_look_for_it_once() -> None:
    many = [attempt(number) for number in range(30)]
    journal = journal_of(batch(), *many, batch(2, "u"), attempt(0, 2, "u"))
    stored = journal.notes(DECISIONS, 0, 100)
    batches, asked = BatchLines(journal), 0
    notes = journal.notes

    def counting(stream: str, after: int, limit: int) -> list[tuple[int, float, Note]]:
        nonlocal asked
        asked += 1
        return notes(stream, after, limit)

    journal.notes = counting  # type: ignore[method-assign]
    told = [codec.decode(batches.whole(place, note).body) for place, _, note in stored]
    assert all("reads" in line for line in told)
    assert asked == 2
