"""The digest of a run: chained over all that happened, so that two runs are equal if and only if their digests are.

Every part of the world feeds it: committed bytes, deliveries, decision records, instructions, and at the end the tape.
With a trail it also remembers a line per step; `divergence.py` shows where two trails part.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

_GATHER = 96  # parts that are hashed at once: few enough that they are not copied to fresh pages each time
_LINE = "%s %d %d"


class Digest:
    __slots__ = ("_gathered", "_hash", "trail")

    def __init__(self, trail: bool = False) -> None:
        self._hash = blake2b(digest_size=16)
        self._gathered: list[bytes] = []
        self.trail: list[str] | None = [] if trail else None

    def add(self, kind: bytes, text: str = "", data: bytes = b"") -> None:
        """One step: what it was, its short form, and its bytes."""
        gathered = self._gathered
        gathered += (kind, text.encode(), data)
        if len(gathered) >= _GATHER:
            self._fold()
        if self.trail is not None:
            self.trail.append(f"{kind.decode()} {text} {data.decode(errors='replace')}".rstrip())

    def add_tape(self, choices: Sequence[tuple[str, int, int]]) -> None:
        """All that chance had a part in, at the end of the run."""
        lines = list(map(_LINE.__mod__, choices))
        self._gathered.append("\n".join(lines).encode())
        self._fold()
        if self.trail is not None:
            self.trail += [f"choice {line}" for line in lines]

    def hex(self) -> str:
        self._fold()
        return self._hash.hexdigest()

    def _fold(self) -> None:
        # JSON and our own words hold no NUL: two different splits of the same bytes differ.
        self._gathered.append(b"" if self._gathered else b"\0")
        self._hash.update(b"\0".join(self._gathered))
        self._gathered.clear()
