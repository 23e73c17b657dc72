"""The chains of a database's logs, followed line by line: what `fairlead audit verify` and `fairlead check` tell.

Reads only, on any connection; what the links mean is `log_chain.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import apsw

from fairlead.store.bounded_logs import read_chains
from fairlead.store.log_chain import UPGRADED, Chain, Followed, Line, verify
from fairlead.store.rows import distinct_values

_LINES = "SELECT seq, at, revision, body, link FROM notes WHERE stream = ? ORDER BY seq"
_ENDS = "SELECT max(seq), count(link) FROM notes WHERE stream = ?"
FORMAT_OF_CHAINS = 3

Heads = Mapping[str, Mapping[int, bytes]]  # by log and line: digests that were noted elsewhere
NO_HEADS: Heads = {}


def follow_all(connection: apsw.Connection, version: int, heads: Heads = NO_HEADS) -> dict[str, Followed]:
    """Each log by its name. Of a database that is older than chains, nothing."""
    if version < FORMAT_OF_CHAINS:
        return {}
    chains = read_chains(connection)
    streams = sorted({*chains, *distinct_values(connection, "stream", "notes"), *heads})
    followed = {}
    for stream in streams:
        if stream in chains:
            chain = chains[stream]
        else:
            chain = _older(connection, stream)
        followed[stream] = verify(stream, chain, _lines(connection, stream), heads.get(stream, {}))
    return followed


def _older(connection: apsw.Connection, stream: str) -> Chain | None:
    """Of a log without a record: nothing was appended since chains were brought in, or somebody took the record."""
    rows: list[Any] = connection.execute(_ENDS, (stream,)).fetchall()
    newest, linked = rows[0]
    return Chain(first=(newest or 0) + 1, newest=newest or 0, why=UPGRADED) if not linked else None


def _lines(connection: apsw.Connection, stream: str) -> Iterator[Line]:
    rows: Any = connection.execute(_LINES, (stream,))
    yield from rows
