"""The digest of a run: chained over all that happened, so that two runs are equal if and only if their digests are.

Every part of the world feeds it: committed bytes, deliveries, decision records, instructions, and at the end the tape.
With a trail it also remembers a line per step, and `first_divergence` shows where two runs part.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

_GATHER = 512


class Digest:
    __slots__ = ("_gathered", "_hash", "trail")

    def __init__(self, trail: bool = False) -> None:
        self._hash = blake2b(digest_size=16)
        self._gathered: list[bytes] = []
        self.trail: list[str] | None = [] if trail else None

    def add(self, kind: bytes, text: str = "", data: bytes = b"") -> None:
        """One step: what it was, its short form, and its bytes."""
        gathered = self._gathered
        gathered.append(kind)
        gathered.append(text.encode())
        gathered.append(data)
        if len(gathered) >= _GATHER:
            self._fold()
        if self.trail is not None:
            self.trail.append(f"{kind.decode()} {text} {data.decode(errors='replace')}".rstrip())

    def hex(self) -> str:
        self._fold()
        return self._hash.hexdigest()

    def _fold(self) -> None:
        # Lengths go in as well: otherwise two different splits of the same bytes would be equal.
        lengths = ",".join([str(len(part)) for part in self._gathered]).encode()
        self._hash.update(lengths + b"\n" + b"".join(self._gathered))
        self._gathered.clear()


def first_divergence(one: Sequence[str], other: Sequence[str]) -> str:
    """Where two trails part, as text for people; "" if they are equal."""
    for step, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return f"step {step} differs:\n  {left}\n  {right}"
    if len(one) != len(other):
        step = min(len(one), len(other))
        longer = one if len(one) > len(other) else other
        return f"step {step} is only in one of them:\n  {longer[step]}"
    return ""
