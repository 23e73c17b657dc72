"""Finds the lines of a log by the objects that they touch: what a decision is about, what its effects are about, and
which object a request of the audit log named.

    touched_by(line) -> keys        "resource/namespace/name", "resource/name" where there are no namespaces, "#ID"
    DecisionIndex.sequences(keys)   the lines that touch one of them, the newest first

An index is derived from the log, and caught up when it is asked. A server has one in a file beside its store
(`runtime/data/decision_index.py`); `MemoryIndex` serves a journal in memory. An index may name lines that are gone, or
(where it keeps digests of keys) another's: who asks reads the line and looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge
from itertools import islice
from typing import Protocol

import msgspec

from fairlead.control.instructions import DECISIONS
from fairlead.store.contract import Journal

_PAGE = 10_000


class DecisionIndex(Protocol):
    def sequences(
        self, keys: Sequence[str], before: int = 0, limit: int = 1000, stream: str = DECISIONS
    ) -> list[int]:
        """Of lines that touch one of these, the newest first; before this sequence, if one is given. Takes a moment,
        and longer while the index is made anew: not to be called where others wait."""
        ...


class _Target(msgspec.Struct, frozen=True, gc=False):
    """The object of a request, as the audit log names it."""

    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""


class _Line(msgspec.Struct, frozen=True, gc=False):
    object: str | _Target = ""
    about: tuple[str, ...] = ()
    id: str = ""
    of: str = ""
    decision: str = ""  # that a request carries out
    term: str = ""  # that it opens
    log: tuple[str, int] | None = (
        None  # of a plane in another process, and the number that the line has there
    )


_line = msgspec.json.Decoder(_Line).decode


def id_key(decision: str) -> str:
    """What a decision, and what is told of it later, is found by; and the line that opens a term, by its name."""
    return f"#{decision}"


def log_key(log: str) -> str:
    """What the newest lines of a plane in another process are found by (`runtime/server/plane_reports.py`)."""
    return f"@{log}"


def touched_by(body: bytes) -> list[str]:
    """The keys that a line is found by; none of one that cannot be read."""
    try:
        line = _line(body)
    except msgspec.MsgspecError:
        return []
    target = line.object
    key = target if isinstance(target, str) else _key(target)
    keys = [key, *line.about] if key else [*line.about]
    named = line.id or line.of or line.decision or line.term
    if named:
        keys.append(id_key(named))
    if line.log is not None:
        keys.append(log_key(line.log[0]))
    return keys


def _key(target: _Target) -> str:
    if not target.name:
        return ""
    resource = f"{target.resource}.{target.group}" if target.group else target.resource
    return "/".join(filter(None, (resource, target.namespace, target.name)))


class MemoryIndex:
    """Of a journal whose lines are read quickly: for tests and planes that keep nothing."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._read: dict[str, int] = {}
        self._found: dict[tuple[str, str], list[int]] = {}

    def sequences(
        self, keys: Sequence[str], before: int = 0, limit: int = 1000, stream: str = DECISIONS
    ) -> list[int]:
        self._catch_up(stream)
        found = [reversed(self._found.get((stream, key), [])) for key in dict.fromkeys(keys)]
        wanted = dict.fromkeys(
            sequence for sequence in merge(*found, reverse=True) if not before or sequence < before
        )
        return list(islice(wanted, limit))

    def _catch_up(self, stream: str) -> None:
        while lines := self._journal.notes(stream, self._read.get(stream, 0), _PAGE):
            for sequence, _, note in lines:
                for key in dict.fromkeys(touched_by(note.body)):
                    self._found.setdefault((stream, key), []).append(sequence)
            self._read[stream] = lines[-1][0]
