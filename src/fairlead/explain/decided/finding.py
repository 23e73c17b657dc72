"""Finds what was decided about an object: its own turns, and decisions of others that touched it. Reads the logs
backwards; only lines that name the object are decoded. Called by `answer.py`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fairlead.control.instructions import DECISIONS, TURNS
from fairlead.core import codec
from fairlead.core.times import parse_time
from fairlead.explain.asking import Asking
from fairlead.explain.sources import Sources
from fairlead.explain.timeline.moment import key_text
from fairlead.model.key import Key
from fairlead.store.tail import lines_backwards, newest_line

Json = dict[str, Any]
#: bound: plane | lines of one log that are looked through for decisions about an object | older ones are not found
LINES_LOOKED_AT_MAX = 200_000
#: bound: plane | decisions about one object that are listed | the oldest are left out
DECISIONS_LISTED_MAX = 200


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


class Found(NamedTuple):
    """The newest first. `outcomes`: by decision, what became of it where it was not simply committed."""

    decisions: list[Decided]
    outcomes: dict[str, list[Json]]


def decisions_about(sources: Sources, key: Key, until: float) -> Asking[Found]:
    """Up to an instant; of the same object, or touching it."""
    text = key_text(key)
    mark = b'"%s"' % text.encode()
    found: list[Decided] = []
    outcomes: dict[str, list[Json]] = {}
    for stream in (DECISIONS, TURNS):
        looked_at = count = 0
        for window in lines_backwards(sources.journal, stream, newest_line(sources.journal, stream)):
            for sequence, _, note in window:
                if mark not in note.body:
                    continue
                record = codec.decode(note.body)
                if text != record.get("object") and text not in record.get("about", ()):
                    continue
                if "of" in record:
                    outcomes.setdefault(record["of"], []).append(record)
                elif "id" in record and parse_time(record["time"]) <= until:
                    found.append(Decided(stream, sequence, record))
                    count += 1
            looked_at += len(window)
            yield None
            if looked_at >= LINES_LOOKED_AT_MAX or count >= DECISIONS_LISTED_MAX:
                break
    found.sort(key=lambda each: (each.time, each.sequence), reverse=True)
    return Found(found[:DECISIONS_LISTED_MAX], outcomes)
