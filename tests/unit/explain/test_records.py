"""Records are found in a long log, newest first, whatever else it holds."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fairlead.control.record import STREAM
from fairlead.core import codec
from fairlead.explain.asking import answered
from fairlead.explain.index import MemoryIndex, id_key
from fairlead.explain.records import NumberedRecord, attempts_of, batch_of, touching
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
    return answered(attempts_of(journal, MemoryIndex(journal), "default", "web", 1000))


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


def test_lines_that_touch_an_object_are_found_whoever_wrote_them() -> None:
    made: dict[str, object] = {
        "id": "aa-1",
        "controller": "replicaset",
        "object": "replicasets.apps/default/web",
        "about": ["pods/default/web"],
    }
    became: dict[str, object] = {
        "of": "aa-1",
        "controller": "replicaset",
        "object": "replicasets.apps/default/web",
    }
    journal = journal_of(made, other(1), became, attempt(1))
    index = MemoryIndex(journal)
    found = answered(touching(journal, index, ["pods/default/web"]))
    assert [line.sequence for line in found] == [4, 1]
    assert [line.sequence for line in answered(touching(journal, index, [id_key("aa-1")]))] == [3, 1]
    assert [line.sequence for line in answered(touching(journal, index, ["pods/default/web"], 4))] == [1]
    assert answered(touching(journal, index, ["pods/default/we"])) == []


def test_many_lines_are_read_a_few_at_a_time() -> None:
    journal = journal_of(*(attempt(number) for number in range(450)))
    asked: list[int] = []

    class Counting(MemoryIndex):
        def sequences(
            self, keys: Sequence[str], before: int = 0, limit: int = 1000, stream: str = STREAM
        ) -> list[int]:
            asked.append(limit)
            return super().sequences(keys, before, limit, stream)

    found = answered(touching(journal, Counting(journal), ["pods/default/web"], 0, 350))
    assert [line.sequence for line in found] == list(range(450, 100, -1))
    assert asked == [100, 100, 100, 50]


def test_a_line_that_an_index_names_by_mistake_is_not_told() -> None:
    class Mistaken:
        def sequences(
            self, keys: Sequence[str], before: int = 0, limit: int = 1000, stream: str = STREAM
        ) -> list[int]:
            return [3, 2, 1]

    journal = journal_of(other(1), attempt(1))
    found = answered(touching(journal, Mistaken(), ["pods/default/web"]))
    assert [line.sequence for line in found] == [2], "3 is not there, 1 is about another"
