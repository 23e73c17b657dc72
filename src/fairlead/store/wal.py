"""What SQLite's write-ahead log says about itself: how much of it is whole, and whether anything acknowledged is not.

Asked by `database_files.py` before SQLite opens a database, because SQLite takes the log up to the first frame that is
not whole and forgets the rest without a word. After a power cut that is right: what follows the last sync was never
acknowledged, and it is one transaction at most, for the next begins only when the one before is synced. So it is a loss
if behind the first bad frame a transaction was finished and another begun, or if the log's shared memory (written after
each sync, kept by the kernel when a process is killed) tells of more frames than are whole. Pure.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_HEADER = struct.Struct(">8I")  # magic, version, page size, sequence, salts, checksum
_FRAME = struct.Struct(">6I")  # page, pages after a commit or 0, salts, checksum
_MAGIC, _MAGIC_BIG_ENDIAN = 0x377F0682, 0x377F0683
_VERSION = 3_007_000
# The shared memory begins with two copies of: version, unused, change, init and order, page size, frames, pages,
# checksum of the last frame, salts, checksum of this.
_SHARED = struct.Struct("=3I2BH8I")
_MASK = 0xFFFF_FFFF

Sum = tuple[int, int]


class LogReport(NamedTuple):
    """`whole`: frames that SQLite will take. `lost`: why acknowledged writes are not among them; "" if all are."""

    frames: int = 0
    whole: int = 0
    lost: str = ""


def examine(log: bytes, shared: bytes) -> LogReport:
    """`log`: the bytes of the -wal file; `shared`: those of the -shm file, as the last process left them."""
    if len(log) < _HEADER.size:
        told = _told_frames(shared, None)
        return LogReport(0, 0, f"the log is gone, though it had {told} frames" if told else "")
    magic, version, page, _, salt_1, salt_2, *claimed = _HEADER.unpack_from(log)
    salts = (salt_1, salt_2)
    order = ">" if magic == _MAGIC_BIG_ENDIAN else "<"
    known = magic in (_MAGIC, _MAGIC_BIG_ENDIAN) and version == _VERSION and 512 <= page <= 65536
    if not known or page & (page - 1) or _summed((0, 0), log[:24], order) != tuple(claimed):
        return LogReport(0, 0, "" if not any(log) else "the log's header is damaged")
    size = _FRAME.size + page
    heads = [_FRAME.unpack_from(log, at) for at in range(_HEADER.size, len(log) - size + 1, size)]

    def chained(number: int, before: Sum) -> bool:
        head = heads[number]
        at = _HEADER.size + number * size
        if head[2:4] != salts or not head[0]:
            return False
        return _summed(before, log[at : at + 8] + log[at + _FRAME.size : at + size], order) == head[4:6]

    before: Sum = (claimed[0], claimed[1])
    whole = number = 0
    while number < len(heads) and chained(number, before):
        before = heads[number][4:6]
        number += 1
        if heads[number - 1][1]:
            whole = number
    told = _told_frames(shared, salts)
    if told > whole:
        return LogReport(len(heads), whole, f"{told} frames of the log were synced, {whole} are whole")
    for each in range(number, len(heads) - 1):
        if heads[each][1] and heads[each][2:4] == salts and chained(each + 1, heads[each][4:6]):
            return LogReport(
                len(heads), whole, f"frame {number + 1} of the log is damaged, later ones are whole"
            )
    return LogReport(len(heads), whole)


def _told_frames(shared: bytes, salts: Sum | None) -> int:
    """How many frames were synced, by the shared memory; 0 if it is not of this log, or says nothing."""
    for copy in (0, _SHARED.size):
        if len(shared) < copy + _SHARED.size:
            continue
        fields = _SHARED.unpack_from(shared, copy)
        native = "<" if struct.pack("=H", 1) == b"\1\0" else ">"
        if not fields[3] or _summed((0, 0), shared[copy : copy + 40], native) != fields[12:14]:
            continue
        told = (
            int.from_bytes(shared[copy + 32 : copy + 36], "big"),
            int.from_bytes(shared[copy + 36 : copy + 40], "big"),
        )
        return int(fields[6]) if salts is None or told == salts else 0
    return 0


def _summed(before: Sum, data: bytes, order: str) -> Sum:
    """SQLite's checksum: a += x + b; b += y + a, for each pair of words. Linear, so it is one product of matrices."""
    words = np.frombuffer(data, dtype=f"{order}u4").astype(np.uint32)
    first, second = words[0::2], words[0::2] + words[1::2]
    steps = len(first)
    fibonacci = _fibonacci(2 * steps + 2)
    # After n steps a start of (a, b) is (F(2n-1) a + F(2n) b, F(2n) a + F(2n+1) b), and so is each pair's part.
    left = fibonacci[2 * steps - 2 :: -2][:steps]  # F(2k-1) with F(-1) = 1, as the table is shifted by one
    middle = fibonacci[2 * steps - 1 :: -2][:steps]
    right = fibonacci[2 * steps :: -2][:steps]
    a = int(np.dot(left, first)) + int(np.dot(middle, second))
    b = int(np.dot(middle, first)) + int(np.dot(right, second))
    f = [int(fibonacci[2 * steps + each]) for each in range(3)]
    return (f[0] * before[0] + f[1] * before[1] + a) & _MASK, (
        f[1] * before[0] + f[2] * before[1] + b
    ) & _MASK


@lru_cache(maxsize=8)
def _fibonacci(count: int) -> npt.NDArray[np.uint32]:
    """F(-1), F(0), F(1) and so on, modulo 2**32."""
    values = [1, 0]
    while len(values) < count + 1:
        values.append((values[-1] + values[-2]) & _MASK)
    return np.array(values, dtype=np.uint32)
