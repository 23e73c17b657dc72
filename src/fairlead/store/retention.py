"""How far history's floor moves: the one rule that every journal's compaction follows; and how much of a log is kept.

Called by the journals with what they keep; pure. The floor of a resource is the oldest revision at which it
can be read. Moving it past a change makes the version before that change unreadable, so it moves change by
change, oldest first, while the change is too old or while more is kept than allowed. What is allowed for each
resource, `runtime/server/serving.py` says; on a full disk `store_driver.py` beside it keeps less.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fairlead.store.contract import Retention


class LogBound(NamedTuple):
    """What a log keeps: whichever bound is met first makes the oldest lines go. 0: no such bound."""

    lines_max: int = 0
    bytes_max: int = 0  # of what the lines say
    seconds: float = 0.0


class LogSize(NamedTuple):
    """How much a log holds. `size`: bytes, as far as they are counted; `dropped`: lines that its bound has let go."""

    lines: int = 0
    size: int = 0
    dropped: int = 0


class KeptChange(NamedTuple):
    """A change above the floor, as compaction sees it."""

    revision: int
    at: float
    size: int


def retention_of(resource: str, retention: dict[str, Retention]) -> Retention:
    return retention.get(resource) or retention.get("") or Retention()


def moved_floor(
    floor: int, kept_bytes: int, oldest_first: Iterable[KeptChange], now: float, retention: Retention
) -> tuple[int, int]:
    """The new floor and the bytes kept above it. `kept_bytes` counts all changes above the present floor."""
    expired = now - retention.seconds
    for change in oldest_first:
        if change.at > expired and kept_bytes <= retention.bytes_max:
            break
        floor = change.revision
        kept_bytes -= change.size
    return floor, kept_bytes
