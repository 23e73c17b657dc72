"""Records are found in a long log, newest first, whatever else it holds."""

from __future__ import annotations

import pytest

from fairlead.control.record import STREAM
from fairlead.core import codec
from fairlead.explain.records import NumberedRecord, attempts_of, batch_of
from fairlead.store.contract import Batch, Note
from fairlead.store.memory import MemoryJournal


def journal_of(*lines: dict[str, object], notes_max: int = 100_000) -> MemoryJournal:
    journal = MemoryJournal(notes_max)
    journal.append(Batch((), tuple(Note(STREAM, codec.encode(line), 0) for line in lines), 1.0))
    return journal


def other(number: int) -> dict[str, object]:
    return {"controller": "deployment", "object": f"deployments.apps/default/web-{number}"}


def batch(number: int, time: str = "t") -> dict[str, object]:
    return {"time": time, "controller": "scheduler", "batch": number, "pods": [], "assumed": []}


def attempt(number: int, pod: str = "web", time: str = "t") -> dict[str, object]:
    return {"time": time, "controller": "scheduler", "object": f"pods/default/{pod}", "batch": number}


def found_in(journal: MemoryJournal) -> list[NumberedRecord]:
    return [line for line in attempts_of(journal, "default", "web") if line is not None]


@pytest.mark.parametrize("between", [0, 1, 999, 1000, 1001, 3500])
@pytest.mark.parametrize("after", [0, 1, 1000, 2500])
def test_attempts_are_found_wherever_they_are(between: int, after: int) -> None:
    many = [other(number) for number in range(between)]
    journal = journal_of(
        batch(1), *many, attempt(1), attempt(1, "web-2"), *many, batch(2), attempt(2), *many[:after]
    )
    found = found_in(journal)
    assert [line.record["batch"] for line in found] == [2, 1]
    assert [batch_of(journal, line) for line in found] == [batch(2), batch(1)]


def test_an_empty_log_has_no_attempts() -> None:
    assert found_in(MemoryJournal()) == []


def test_what_the_log_has_dropped_is_not_found() -> None:
    journal = journal_of(batch(1), *(other(number) for number in range(50)), attempt(1), notes_max=10)
    (line,) = found_in(journal)
    assert batch_of(journal, line) is None


def test_a_batch_of_an_earlier_process_with_the_same_number_is_not_taken() -> None:
    journal = journal_of(batch(1, "before"), attempt(1, time="after"))
    (line,) = found_in(journal)
    assert batch_of(journal, line) is None


def test_a_long_log_is_read_in_stretches() -> None:
    journal = journal_of(attempt(1), *(other(number) for number in range(2500)))
    first, *rest = attempts_of(journal, "default", "web")
    assert first is None, "the newest stretch has none"
    assert rest.count(None) == 2
