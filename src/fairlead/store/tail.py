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


def lines_backwards(
    journal: Journal, stream: str, end: int, window: int = _WINDOW
) -> Iterator[list[tuple[int, float, Note]]]:
    """Lines up to that sequence with their instants, the newest first, a stretch of the log at a time."""
    before = end + 1
    while lines := journal.notes_before(stream, before, window):
        yield lines[::-1]
        before = lines[0][0]
