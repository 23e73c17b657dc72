"""The digest of a run: chained over all that happened, so that two runs are equal if and only if their digests are.

Every part of the world feeds it: committed bytes, deliveries, decision records, instructions, and at the end all
choices. With a trail (`trail.py`) it also remembers a step each; `divergence.py` shows where two trails part.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from fairlead.sim.time import Timeline
from fairlead.sim.trail import Trail, TrailStep
from fairlead.sim.violation import Violation

_GATHER = 72  # parts that are hashed at once: few enough that they are not copied to fresh pages each time


class Digest:
    __slots__ = ("_gathered", "_hash", "_timeline", "trail")

    def __init__(self, timeline: Timeline, trail: bool = False) -> None:
        self._hash = blake2b(digest_size=16)
        self._gathered: list[bytes] = []
        self._timeline = timeline
        self.trail: Trail | None = Trail() if trail else None

    def add(self, kind: bytes, actor: str, text: str = "", data: bytes = b"") -> None:
        """One step: what it was, whose, its short form, and its bytes."""
        gathered = self._gathered
        gathered += (kind, f"{actor}\0{text}".encode(), data)
        if len(gathered) >= _GATHER:
            self._fold()
        if self.trail is not None:
            timeline, number = self._timeline, len(self.trail)
            shown = data.decode(errors="replace")
            self.trail.append(
                TrailStep(number, timeline.ms, actor, kind.decode(), text, shown, timeline.cause)
            )
            timeline.cause = number

    def tell(self, kind: str, actor: str, text: str, cause: int | None = None) -> None:
        """A step for the trail alone, which follows from the others: the digest is the same with it and without."""
        if self.trail is not None:
            timeline, number = self._timeline, len(self.trail)
            before = timeline.cause if cause is None else cause
            self.trail.append(TrailStep(number, timeline.ms, actor, kind, text, "", before))
            timeline.cause = number

    def violated(self, actor: str, violation: Violation) -> None:
        """The last step. What a commit shows follows from that commit, and not from the last that was noted: the server
        notes those of a batch before any is judged."""
        if self.trail is not None:
            self._timeline.cause = self.trail.shown_by(violation.revision, self._timeline.cause)
        self.add(b"violation", actor, str(violation))

    def add_choices(self, choices: Sequence[tuple[str, str, int, int, int, bool]]) -> None:
        """All that chance had a part in, at the end of the run."""
        told = [f"{label} {actor} {nth} {n} {value}" for label, actor, nth, n, value, _ in choices]
        self._gathered.append("\n".join(told).encode())
        self._fold()

    def hex(self) -> str:
        self._fold()
        return self._hash.hexdigest()

    def _fold(self) -> None:
        # JSON and our own words hold no NUL: two different splits of the same bytes differ.
        self._gathered.append(b"" if self._gathered else b"\0")
        self._hash.update(b"\0".join(self._gathered))
        self._gathered.clear()


class NoDigest(Digest):
    """Of a run that is not compared with another to the byte."""

    __slots__ = ()

    def add(self, kind: bytes, actor: str, text: str = "", data: bytes = b"") -> None:
        """Nothing is kept."""

    def add_choices(self, choices: Sequence[tuple[str, str, int, int, int, bool]]) -> None:
        """Nothing is kept."""
