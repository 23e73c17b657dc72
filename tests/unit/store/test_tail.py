"""Where a log stood at an instant."""

from __future__ import annotations

import pytest

from fairlead.store.contract import Batch, Note
from fairlead.store.memory import MemoryJournal
from fairlead.store.tail import first_after, newest_line


@pytest.mark.parametrize("gone", [0, 3])
@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_the_first_line_after_an_instant_is_found(count: int, gone: int) -> None:
    journal = MemoryJournal(notes_max=max(1, count - gone))
    for number in range(count):
        journal.append(Batch((), (Note("log", b"{}"),), 10.0 * number))
    kept = [(place, at) for place, at, _ in journal.notes("log", 0, 100)]
    for instant in (-1.0, 0.0, 5.0, 10.0, 35.0, 60.0, 100.0):
        wanted = next((place for place, at in kept if at > instant), 0)
        assert first_after(journal, "log", instant) == wanted, instant
    assert newest_line(journal, "log") == count
