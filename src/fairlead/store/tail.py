"""The end of a bounded log, and its lines from there backwards: what people ask about is mostly young. Pure.

A journal is read forwards only (`Journal.notes`): the end is found by asking for what comes after, ever further on.
Used by `explain/` and by monitors, which begin where a log ends.
"""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.store.contract import Journal, Note

_WINDOW = 1000


def newest_line(journal: Journal, stream: str) -> int:
    """The sequence of the last line, or one after which there is none."""
    low, step = 0, _WINDOW
    while further := journal.notes(stream, low + step, 1):
        low, step = further[0][0], step * 2
    high = low + step
    while low < high:
        middle = (low + high) // 2
        if journal.notes(stream, middle, 1):
            low = middle + 1
        else:
            high = middle
    return low


def lines_backwards(journal: Journal, stream: str, end: int) -> Iterator[list[tuple[int, float, Note]]]:
    """Lines up to that sequence with their instants, the newest first, a stretch of the log at a time."""
    first = journal.notes(stream, 0, 1)
    oldest = first[0][0] if first else end + 1
    while end >= oldest:
        start = max(0, end - _WINDOW)
        yield [line for line in reversed(journal.notes(stream, start, _WINDOW)) if line[0] <= end]
        end = start
