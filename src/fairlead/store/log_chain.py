"""The chain of a log's lines: each has a SHA-256 over itself and the one before, so that a gap or an edit shows.

`bounded_logs.py` makes the links when it appends, in the order of commits and in their transaction, so that a kill
leaves a whole chain. `verify` follows it, for `fairlead audit verify` and `fairlead check`. Where a chain begins is an
anchor: lines that retention took away leave the digest of the last of them, lines that are older than chains leave
none. Pure.

Whoever can write the file can make all links anew. What they cannot change is a head that was noted elsewhere: a line's
number and digest stand for all lines up to it (`heads` of `verify`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256

import msgspec

from fairlead.store.digests import note_head

LINK_BYTES = 32
ORIGIN = bytes(LINK_BYTES)  # what the first line of all continues

# Why a chain begins where it does.
MADE, TRIMMED, UPGRADED, REPAIRED = "made", "trimmed", "upgraded", "repaired"
_WHY = frozenset({MADE, TRIMMED, UPGRADED, REPAIRED})

#: bound: store | breaks of one chain that are named | the rest is counted
BREAKS_MAX = 20

Line = tuple[
    int, object, object, object, object
]  # sequence, at, revision, body, link, as the database has them


class Chain(msgspec.Struct, frozen=True):
    """Of one log: where its links begin (`first` continues `before`), and its newest line with its link (`head`)."""

    first: int = 1
    before: bytes = ORIGIN
    newest: int = 0
    head: bytes = ORIGIN
    since: float = 0.0  # when it came to begin there, in seconds since the epoch
    why: str = MADE

    @property
    def sound(self) -> bool:
        """Whether it can be what was written: of a row that was read."""
        return (
            type(self.first) is int
            and type(self.newest) is int
            and all(type(each) is bytes and len(each) == LINK_BYTES for each in (self.before, self.head))
            and type(self.since) is float
            and self.why in _WHY
        )


class BrokenLink(msgspec.Struct, frozen=True):
    """One place where a chain does not hold."""

    sequence: int
    what: str


class Followed(msgspec.Struct):
    """What was found when a chain was followed to its end."""

    chain: Chain | None  # None: there is no record of it, or it is damaged
    lines: int = 0  # that are linked
    older: int = 0  # that are older than the chain: they cannot be compared
    broken: list[BrokenLink] = msgspec.field(default_factory=list)
    breaks: int = 0  # those that are not named included
    heads: dict[int, str] = msgspec.field(
        default_factory=dict
    )  # what became of each head that was to be looked for

    def found(self, sequence: int, what: str) -> None:
        self.breaks += 1
        if len(self.broken) < BREAKS_MAX:
            self.broken.append(BrokenLink(sequence, what))

    @property
    def whole(self) -> bool:
        return not self.breaks


def link(before: bytes, stream: str, sequence: int, at: str, revision: int, body: bytes) -> bytes:
    """The link of a line; `at` as `repr` writes it, because a batch has one for all its lines."""
    return link_of(before, note_head(stream, sequence, at, revision), body)


def link_of(before: bytes, head: bytes, body: bytes) -> bytes:
    """The same, of a line whose head (`digests.note_head`) is known."""
    return sha256(before + head + body).digest()


def verify(stream: str, chain: Chain | None, lines: Iterable[Line], heads: Mapping[int, bytes]) -> Followed:
    """Follow a chain through all lines of its log, oldest first. `heads`: digests that were noted of lines."""
    found = Followed(chain)
    if chain is None:
        found.found(0, "the record of the chain is missing or damaged")
        return found
    if chain.why == REPAIRED:
        found.found(chain.first, "the record of the chain was missing: it was made anew before this line")
    before, expected = chain.before, chain.first
    for sequence, at, revision, body, linked in lines:
        if sequence < chain.first:
            found.older += 1
            if chain.why != UPGRADED or linked is not None:
                found.found(sequence, "the line was added: the chain begins later")
            continue
        if sequence > chain.newest:
            found.found(sequence, "the line was added: the chain had ended")
            continue
        if sequence != expected:
            found.found(expected, _removed(expected, sequence - 1))
            before = b""
        found.lines += 1
        before = _follow(found, stream, before, (sequence, at, revision, body, linked))
        expected = sequence + 1
        if sequence in heads:
            same = before == heads[sequence]
            found.heads[sequence] = "same" if same else "other"
            if not same:
                found.found(sequence, "the line does not have the digest that was noted of it")
    if expected <= chain.newest:
        found.found(expected, _removed(expected, chain.newest))
    elif before and before != chain.head and found.whole:
        found.found(chain.newest, "the newest line is not the one that the chain ended with")
    for sequence in heads:
        if sequence not in found.heads:
            gone = sequence < chain.first
            found.heads[sequence] = "gone" if gone else "missing"
            if not gone:
                found.found(sequence, "there is no such line, though its digest was noted")
    return found


def _follow(found: Followed, stream: str, before: bytes, line: Line) -> bytes:
    """The link that the next line continues: what is stored, so that one edit is one break."""
    sequence, at, revision, body, linked = line
    if type(linked) is not bytes or len(linked) != LINK_BYTES:
        found.found(sequence, "the line has no digest of the chain")
        return b""
    if not (type(body) is bytes and type(at) is float and type(revision) is int):
        found.found(sequence, "the line was changed")
    elif before and link(before, stream, sequence, repr(at), revision, body) != linked:
        found.found(sequence, "the line was changed, or follows another than it did")
    return linked


def _removed(first: int, last: int) -> str:
    return "the line was removed" if first == last else f"lines were removed, up to {last}"
