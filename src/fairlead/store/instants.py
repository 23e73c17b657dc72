"""From an instant to the revision that was the newest then: `/fairlead/v1/revision`, for `fairlead get --at`."""

from __future__ import annotations

from typing import NamedTuple

from fairlead.store.contract import JournalReader


class Written(NamedTuple):
    revision: int
    at: float  # seconds since the epoch


def revision_at(reader: JournalReader, newest: int, instant: float) -> Written | None:
    """The newest change that was written by then; None: nothing so old is kept.

    Halves the range with each question: revisions are given out in the order of time.
    """
    found: Written | None = None
    low, high = 0, newest
    while low < high:
        middle = (low + high) // 2
        following = reader.written_after(middle)
        if following is not None and following[0] <= high and following[1] <= instant:
            found = Written(*following)
            low = found.revision
        else:
            high = middle
    return found
