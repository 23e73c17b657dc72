"""The body of a list as the rows it is made of: tens of megabytes that are never in one piece unless somebody asks.

Made by `api/listing.py`, held by a Reply. Rows are the stored bytes themselves; `wire/` sends them in pieces as fast
as the client reads, so that a slow reader of a long list costs no copy of it and the loop is never held for long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

PIECE_BYTES = 64 * 1024


class Items(msgspec.Struct, frozen=True, gc=False):
    """`begin`, then the rows with commas between them, then `end`."""

    begin: bytes
    rows: Sequence[bytes]
    end: bytes

    def __len__(self) -> int:
        return len(self.begin) + sum(map(len, self.rows)) + max(0, len(self.rows) - 1) + len(self.end)

    def __bytes__(self) -> bytes:
        if not self.rows:
            return self.begin + self.end
        # Joined once: of tens of megabytes every copy counts.
        rows = list(self.rows)
        rows[0] = self.begin + rows[0]
        rows[-1] += self.end
        return b",".join(rows)

    def pieces(self) -> Iterator[bytes]:
        """The same bytes, each piece a whole number of rows, and no longer than it takes to reach PIECE_BYTES."""
        before, taken, size = self.begin, list[bytes](), 0
        for row in self.rows:
            taken.append(row)
            size += len(row)
            if size >= PIECE_BYTES:
                yield before + b",".join(taken)
                before, taken, size = b",", [], 0
        yield (before if taken or not self.rows else b"") + b",".join(taken) + self.end
