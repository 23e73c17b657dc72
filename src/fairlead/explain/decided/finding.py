"""Finds what was decided about an object by an instant: its own turns, and decisions of others that touched it, through
the index of the logs (`explain/index.py`). Called by `answer.py`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fairlead.control.blocked_counts import RECOVERED
from fairlead.control.instructions import DECISIONS, TURNS
from fairlead.core import codec
from fairlead.core.times import parse_time
from fairlead.explain.asking import Asking
from fairlead.explain.records import touching
from fairlead.explain.sources import Sources
from fairlead.explain.timeline.moment import key_text
from fairlead.model.key import Key

Json = dict[str, Any]
#: bound: plane | lines about an object that are looked through for what was decided by an instant |
#:        older ones are not found
LINES_LOOKED_AT_MAX = 20_000
#: bound: plane | decisions about one object that are listed | the oldest are left out
DECISIONS_LISTED_MAX = 200
_PAGE = 100


class Decided(NamedTuple):
    stream: str
    sequence: int
    record: Json

    @property
    def id(self) -> str:
        return str(self.record["id"])

    @property
    def time(self) -> str:
        return str(self.record["time"])

    @property
    def controller(self) -> str:
        return str(self.record["controller"])


class FoundDecisions(NamedTuple):
    """The newest first. `outcomes`: by decision, what became of it where it was not simply committed."""

    decisions: list[Decided]
    outcomes: dict[str, list[Json]]


def decisions_about(sources: Sources, key: Key, until: float) -> Asking[FoundDecisions]:
    """Up to an instant; of the same object, or touching it."""
    found: list[Decided] = []
    outcomes: dict[str, list[Json]] = {}
    for stream in (DECISIONS, TURNS):
        before = count = looked_at = 0
        while count < DECISIONS_LISTED_MAX and looked_at < LINES_LOOKED_AT_MAX:
            lines = yield from touching(
                sources.journal, sources.index, [key_text(key)], before, _PAGE, stream
            )
            for sequence, _, note in lines:
                record = codec.decode(note.body)
                if "of" in record:
                    outcomes.setdefault(record["of"], []).append(record)
                elif "id" in record and RECOVERED not in record and parse_time(record["time"]) <= until:
                    found.append(Decided(stream, sequence, record))
                    count += 1
            if len(lines) < _PAGE:
                break
            before, looked_at = lines[-1].sequence, looked_at + len(lines)
    found.sort(key=lambda each: (each.time, each.sequence), reverse=True)
    return FoundDecisions(found[:DECISIONS_LISTED_MAX], outcomes)
