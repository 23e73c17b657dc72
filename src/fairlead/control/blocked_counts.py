"""Blocked decisions that are counted and not written yet, so that a kill does not lose the count (`merging.py`).

    counted_line(...)      a line for the log TURNS: of which decisions repeat by now, and how often
    recovered(...)         the record that a plane would have written for them, had it not been killed

Every repeated decision leaves such a line, short and of one batch together, in the ring of turns, which displaces
nothing that people ask for. `record.py` and `placing.py` write them; `runtime/server/lost_counts.py` reads what a plane
that was killed left behind, and completes the log of decisions. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from fairlead.core import codec
from fairlead.core.times import microtime

Json = dict[str, Any]
RECOVERED = "recovered"  # of a record that was completed after a kill
COUNTED = b'"counted":'  # what a line of counts can be told by
# What a recovered record cannot say: it stands for turns whose own reads and digests are gone.
_UNKNOWN = frozenset(
    {"digest", "reads", "batch", "position", "inputs", "heard", "wall", "cause", "waited", "log"}
)


class Counted(NamedTuple):
    """Decisions from the `first` to the `last` that said what the record `of` says."""

    of: str
    first: int
    last: int


class CountedLine(msgspec.Struct, frozen=True):
    time: str
    controller: str
    by: str  # the plane
    counted: tuple[tuple[str, str, int, int], ...]  # object, and the fields of Counted


read_counted = msgspec.json.Decoder(CountedLine).decode


def counted_line(controller: str, by: str, counted: Sequence[tuple[str, Counted]], now: float) -> bytes:
    """`counted`: of which objects."""
    lines = tuple([(about, *each) for about, each in counted])
    return codec.encode(CountedLine(microtime(now), controller, by, lines))


def recovered(record: Json, time: str, counted: Counted) -> bytes:
    """`record`: what they repeated; `time`: of the last of them, whose own id is gone: it goes by that of the record
    and its number."""
    kept = {name: value for name, value in record.items() if name not in _UNKNOWN}
    named = {"id": f"{counted.of}.{counted.last}", "time": time}
    return codec.encode({**kept, **named, "attempts": (counted.first, counted.last), RECOVERED: True})


def covers(record: Json, counted: Counted) -> bool:
    """Whether this record of the same controller and object tells of them: it is of the same term, and up to there."""
    first, last = record.get("attempts") or (0, 0)
    same_term = str(record.get("id", "")).partition("-")[0] == counted.of.partition("-")[0]
    return same_term and bool(first) and first <= counted.first and last >= counted.last
