"""Lists in pieces: whatever the rows, the pieces are the bytes, and their length is told beforehand."""

from __future__ import annotations

import pytest

from fairlead.port.items import PIECE_BYTES, Items
from fairlead.port.request import Reply

ROWS = {
    "none": [],
    "one": [b"{}"],
    "few": [b"1", b"22", b"333"],
    "one that is long": [b"x" * (3 * PIECE_BYTES)],
    "exactly a piece": [b"x" * PIECE_BYTES],
    "two exact pieces": [b"x" * PIECE_BYTES, b"y" * PIECE_BYTES],
    "a piece and a bit": [b"x" * PIECE_BYTES, b"y"],
    "many": [b'{"n":%d}' % number for number in range(50_000)],
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_the_pieces_are_the_bytes(rows: list[bytes]) -> None:
    items = Items(b'{"items":[', rows, b"]}")
    whole = b'{"items":[' + b",".join(rows) + b"]}"
    pieces = list(items.pieces())
    assert b"".join(pieces) == bytes(items) == whole
    assert len(items) == len(whole)
    assert max(map(len, pieces)) <= max(2 * PIECE_BYTES, max(map(len, rows), default=0) + 64)
    assert Reply(200, items).body == whole


def test_rows_are_not_changed_by_being_sent() -> None:
    rows = [b"1", b"2"]
    items = Items(b"[", rows, b"]")
    assert bytes(items) == bytes(items) == b"[1,2]"
    assert rows == [b"1", b"2"]
