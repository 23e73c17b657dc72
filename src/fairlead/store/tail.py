"""The end of a bounded log, and its lines from there backwards: what people ask about is mostly young. Pure.

Used by `explain/` and by monitors, which begin where a log ends.
"""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.store.contract import Journal, Note

_WINDOW = 1000


def newest_line(journal: Journal, stream: str) -> int:
    """The sequence of the last line; 0 if there is none."""
    last = journal.notes_before(stream, 0, 1)
    return last[0][0] if last else 0


def first_after(journal: Journal, stream: str, instant: float) -> int:
    """The sequence of the first line that was written after an instant; 0 if none was. Halves the log at each look."""
    oldest = journal.notes(stream, 0, 1)
    end = newest_line(journal, stream) + 1
    low, high = oldest[0][0] if oldest else end, end  # numbers have no gaps
    while low < high:
        middle = (low + high) // 2
        at = journal.notes(stream, middle - 1, 1)[0][1]
        low, high = (middle + 1, high) if at <= instant else (low, middle)
    return high if high < end else 0


def lines_backwards(journal: Journal, stream: str, end: int) -> Iterator[list[tuple[int, float, Note]]]:
    """Lines up to that sequence with their instants, the newest first, a stretch of the log at a time."""
    before = end + 1
    while lines := journal.notes_before(stream, before, _WINDOW):
        yield lines[::-1]
        before = lines[0][0]
