"""Digests of the database's rows: CRC-32 and Adler-32 of all of a row's columns, so that none passes for another.

Written by `sqlite.py` with each row and compared whenever one is read. They find what decays by itself (bits, sectors,
pages that land elsewhere); they are no protection against someone who can write the file. Pure.

Times are given as `repr` writes them, which takes a quarter of a digest's time: a batch has one for all its rows.
"""

from __future__ import annotations

from zlib import adler32, crc32

from fairlead.model.key import Key

_MODULUS = 2**64
_HALF = 2**63


def _digest(text: bytes) -> int:
    """As SQLite keeps integers: signed, eight bytes."""
    return (crc32(text) << 32 | adler32(text)) - _HALF


def digest_of(head: bytes, body: bytes) -> int:
    """Of both together, without a copy of what may be large."""
    return (crc32(body, crc32(head)) << 32 | adler32(body, adler32(head))) - _HALF


def version_digest(revision: int, key: Key, uid: str, code: int, previous: int, at: str, data: bytes) -> int:
    """Of a row of `log`; its `size` is compared with its bytes."""
    head = f"{revision}\0{key.resource}\0{key.namespace}\0{key.name}\0{uid}\0{code}\0{previous}\0{at}\0"
    return digest_of(head.encode(), data)


def pointer_digest(key: Key, revision: int) -> int:
    """Of a row of `objects`."""
    return _digest(f"{key.resource}\0{key.namespace}\0{key.name}\0{revision}".encode())


def note_head(stream: str, sequence: int, at: str, revision: int) -> bytes:
    """What the digest of a line covers before its body; so does its link (`log_chain.py`)."""
    return f"{stream}\0{sequence}\0{at}\0{revision}\0".encode()


def note_digest(stream: str, sequence: int, at: str, revision: int, body: bytes) -> int:
    return digest_of(note_head(stream, sequence, at, revision), body)


def floor_digest(resource: str, floor: int, swept: int) -> int:
    return _digest(f"{resource}\0{floor}\0{swept}".encode())


def row_digest(values: tuple[int, ...]) -> int:
    """Of a row of plain numbers."""
    return _digest(b"\0".join([b"%d"] * len(values)) % values)


def wrap_sum(total: int) -> int:
    """A sum of digests, as the database keeps it."""
    return (total + _HALF) % _MODULUS - _HALF
