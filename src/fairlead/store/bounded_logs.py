"""The bounded logs of the sqlite journal (`audit`, `decisions`): lines are appended with a batch, the oldest go.

Part of `sqlite.py`, which calls it inside a transaction, on its writing connection: with a batch, and with compaction
(`tend`). Each line is linked to the one before (`log_chain.py`); what a chain begins and ends with is a row of
`chains`, written in the same transaction.

Each log has its bound (`retention.LogBound`): lines, bytes, age. How many bytes there are is counted from the newest
line back, a stretch with each compaction, so that no start waits for it: until all are counted a log may be larger than
its bound, never smaller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import apsw
import msgspec

from fairlead.store.contract import Note
from fairlead.store.digests import digest_of, note_head
from fairlead.store.log_chain import REPAIRED, TRIMMED, UPGRADED, Chain, link_of
from fairlead.store.retention import LogBound, LogSize
from fairlead.store.rows import distinct_values, insert_rows
from fairlead.store.seal import Total

#: bound: store | lines of the audit log | the oldest go
NOTES_MAX = 100_000
_SLACK = 1_024  # a log is trimmed by this many lines at once
_COUNTED = 10_000  # lines whose bytes are counted at once
_READ_CHAINS = (
    "SELECT CAST(stream AS BLOB), first, before, newest, head, since, CAST(why AS BLOB) FROM chains"
)

_MOVE_CHAIN = (  # of a log that has one
    "ON CONFLICT (stream) DO UPDATE SET first = excluded.first, before = excluded.before, newest = excluded.newest,"
    " head = excluded.head, since = excluded.since, why = excluded.why"
)
_Row = tuple[str, int, float, int, bytes, int, bytes]  # stream, seq, at, revision, body, digest, link


def read_chains(connection: apsw.Connection) -> dict[str, Chain | None]:
    """By log; None for a row that is not what was written."""
    chains: dict[str, Chain | None] = {}
    for stream, first, before, newest, head, since, why in connection.execute(_READ_CHAINS):
        chain = Chain(first, before, newest, head, since, _text(why))
        chains[_text(stream)] = chain if chain.sound else None
    return chains


class Lines:
    def __init__(self, connection: apsw.Connection, bounds: Mapping[str, LogBound]) -> None:
        """`bounds`: of each log, with "" for all others."""
        self._connection = connection
        self.bounds = dict(bounds)
        self._chains: dict[str, Chain] = {}
        self._oldest: dict[str, int] = {}
        self._bytes: dict[str, int] = {}  # of the lines that are counted,
        self._counted: dict[str, int] = {}  # which are those from this one on
        self.learn()

    def learn(self) -> None:
        """Which lines there are, and what the next ones continue. A chain goes on from where its record says that it
        ended, not from the newest line there is: of lines that are gone the gap remains."""
        recorded = read_chains(self._connection)
        chains = {stream: chain for stream, chain in recorded.items() if chain is not None}
        oldest: dict[str, int] = {}
        for stream in distinct_values(self._connection, "stream", "notes"):
            rows: list[Any] = self._connection.execute(
                "SELECT (SELECT min(seq) FROM notes WHERE stream = ?1),"
                " (SELECT max(seq) FROM notes WHERE stream = ?1)",
                (stream,),
            ).fetchall()
            if type(rows[0][1]) is not int:  # it is named, and cannot be found: its pages are not in order
                raise apsw.CorruptError("the lines of a log cannot be found")
            oldest[stream], newest = rows[0]
            known = chains.get(stream)
            if known is None:
                older = stream not in recorded and not self._linked(stream, newest)
                why = UPGRADED if older else REPAIRED
                chains[stream] = Chain(first=newest + 1, newest=newest, why=why)
            elif known.newest < newest:  # lines were added beside us; numbers are given once
                chains[stream] = msgspec.structs.replace(known, newest=newest)
        self._chains, self._oldest = chains, oldest
        self.forget()

    def forget(self) -> None:
        """A transaction failed: what was counted for it is not so."""
        self._bytes = dict.fromkeys(self._chains, 0)
        self._counted = {stream: chain.newest + 1 for stream, chain in self._chains.items()}

    def size(self, stream: str) -> LogSize:
        """Lines are numbered from 1 on, so the oldest one tells how many went before it. Called from any thread."""
        chain, oldest = self._chains.get(stream), self._oldest.get(stream, 0)
        if chain is None or not oldest:
            return LogSize()
        return LogSize(chain.newest - oldest + 1, self._bytes.get(stream, 0), oldest - 1)

    def _bound(self, stream: str) -> LogBound:
        return self.bounds.get(stream) or self.bounds.get("") or LogBound(lines_max=NOTES_MAX)

    def _linked(self, stream: str, sequence: int) -> bool:
        rows: list[Any] = self._connection.execute(
            "SELECT link FROM notes WHERE stream = ? AND seq = ?", (stream, sequence)
        ).fetchall()
        return bool(rows) and rows[0][0] is not None

    def append(self, notes: Sequence[Note], now: float, total: Total) -> dict[str, Chain]:
        """Returns the chains that changed, to be given to `committed` once the transaction is."""
        rows: list[_Row] = []
        ends: dict[str, tuple[int, bytes]] = {}
        for stream, lines in _by_stream(notes).items():
            ends[stream] = self._add_rows(rows, stream, lines, now)
        total.add_all([row[5] for row in rows])
        insert_rows(self._connection, "INSERT OR ROLLBACK INTO notes VALUES", 7, rows)
        changed = {stream: self._ended(stream, *end, now, total, len(rows)) for stream, end in ends.items()}
        self._write(changed)
        return changed

    def _add_rows(self, rows: list[_Row], stream: str, notes: list[Note], now: float) -> tuple[int, bytes]:
        """The next lines of one log. Returns the number and the link of the last."""
        known = self._chains.get(stream) or Chain(since=now)
        sequence, linked, size, at = known.newest, known.head, 0, repr(now)
        self._counted.setdefault(stream, sequence + 1)
        for note in notes:
            sequence += 1
            revision, body = note.revision, note.body
            head = note_head(stream, sequence, at, revision)
            linked = link_of(linked, head, body)
            rows.append((stream, sequence, now, revision, body, digest_of(head, body), linked))
            size += len(body)
        self._bytes[stream] = self._bytes.get(stream, 0) + size
        return sequence, linked

    def tend(self, now: float, budget: int, total: Total) -> dict[str, Chain]:
        """What is too old goes, at most `budget` lines of each log, and bytes are counted further. Returns what
        `append` does."""
        changed: dict[str, Chain] = {}
        for stream, chain in self._chains.items():
            bound = self._bound(stream)
            if bound.bytes_max:
                self._count(stream)
            first = self._oldest.get(stream, 0)
            if not first:
                continue
            target = first
            if bound.seconds:
                target = max(target, self._expired(stream, first, now - bound.seconds, budget) + 1)
            if bound.bytes_max and self._bytes[stream] > bound.bytes_max:
                target = max(target, first + budget)
            trimmed = self._begun(chain, stream, min(target, chain.newest), now, total)
            if trimmed != chain:
                changed[stream] = trimmed
        self._write(changed)
        return changed

    def _write(self, changed: Mapping[str, Chain]) -> None:
        rows = [(stream, *msgspec.structs.astuple(chain)) for stream, chain in changed.items()]
        insert_rows(self._connection, "INSERT INTO chains VALUES", 7, rows, _MOVE_CHAIN)

    def committed(self, changed: Mapping[str, Chain]) -> None:
        self._chains.update(changed)

    def _ended(self, stream: str, newest: int, head: bytes, now: float, total: Total, appended: int) -> Chain:
        """The chain that ends so, with the oldest lines gone if there are too many."""
        known = self._chains.get(stream) or Chain(since=now)
        chain = msgspec.structs.replace(known, newest=newest, head=head, since=known.since or now)
        first, bound = self._oldest.setdefault(stream, 1), self._bound(stream)
        target = first
        if bound.lines_max and newest - first >= bound.lines_max + _SLACK:
            target = newest - bound.lines_max + 1
        if bound.bytes_max and self._bytes[stream] > bound.bytes_max:
            target = max(target, first + _SLACK + appended)
        return self._begun(chain, stream, min(target, newest), now, total)

    def _begun(self, chain: Chain, stream: str, oldest: int, now: float, total: Total) -> Chain:
        """The chain that begins there, because what is before is gone."""
        if oldest <= self._oldest[stream]:
            return chain
        before = self._trim(stream, oldest, total)
        if before is None or oldest <= chain.first:
            return chain
        return msgspec.structs.replace(chain, first=oldest, before=before, since=now, why=TRIMMED)

    def _trim(self, stream: str, oldest: int, total: Total) -> bytes | None:
        """Returns the link of the newest line that goes."""
        trimmed: list[Any] = self._connection.execute(
            "DELETE FROM notes WHERE stream = ? AND seq < ? RETURNING digest, seq, link, length(body)",
            (stream, oldest),
        ).fetchall()
        last: bytes | None = None
        counted = self._counted.get(stream, 0)
        for digest, sequence, linked, size in trimmed:
            if digest is not None:
                total.remove(digest)
            if sequence == oldest - 1:
                last = linked
            if sequence >= counted:
                self._bytes[stream] -= size
        self._oldest[stream] = oldest
        return last

    def _count(self, stream: str) -> None:
        rows: list[Any] = self._connection.execute(
            "SELECT count(*), sum(size), min(seq) FROM (SELECT seq, length(body) AS size FROM notes"
            " WHERE stream = ? AND seq < ? ORDER BY seq DESC LIMIT ?)",
            (stream, self._counted[stream], _COUNTED),
        ).fetchall()
        count, size, first = rows[0]
        if count:
            self._bytes[stream] += size
            self._counted[stream] = first

    def _expired(self, stream: str, first: int, before: float, budget: int) -> int:
        """The newest of the oldest lines that is older than that; 0 if none is."""
        rows: list[Any] = self._connection.execute(
            "SELECT max(seq) FROM (SELECT seq, at FROM notes WHERE stream = ? AND seq >= ? ORDER BY seq LIMIT ?)"
            " WHERE at < ?",
            (stream, first, budget, before),
        ).fetchall()
        return rows[0][0] or 0


def _by_stream(notes: Sequence[Note]) -> dict[str, list[Note]]:
    found: dict[str, list[Note]] = {}
    for note in notes:
        found.setdefault(note.stream, []).append(note)
    return found


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
