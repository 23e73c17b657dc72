"""Looks whether what a captured incident holds has the form that its readers rely on.

    check_incident(artifact)      an UsageError names the line of the log, the object or the change that has not

A file may have been edited, and its checksum made anew. Called by `artifact.py`, so that `fairlead replay`, `incident
report` and `sim from` need not expect everything of every field. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from fairlead.control.instructions import DECISIONS, DELIVERIES, TURNS
from fairlead.core.errors import UsageError
from fairlead.core.times import parse_time
from fairlead.replay.tape import items_of

if TYPE_CHECKING:
    from fairlead.replay.artifact import Artifact

_AUDIT = "audit"
_VERSIONED = b'"resourceVersion":"'  # the server finds it so when an object is committed anew


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    uid: str = ""


class _Object(msgspec.Struct):
    metadata: _Metadata


class _Line(msgspec.Struct):
    """Of decisions and of turns: what `control/record.py`, `attempts.py`, `term.py` and `blocked_counts.py` write."""

    time: str
    controller: str
    object: str = ""
    id: str = ""
    of: str = ""
    outcome: str = ""
    term: str = ""
    identity: str = ""
    flags: tuple[str, ...] | None = None
    verdict: str = ""
    reason: str = ""
    message: str = ""
    trouble: str = ""
    digest: str = ""
    generation: int = 0
    effects: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    reads: dict[str, tuple[int, int]] | None = None
    heard: dict[str, Any] | None = None
    held: dict[str, Any] | None = None
    batch: int | None = None
    position: int = 0
    policy: tuple[str, int] | None = None
    pods: tuple[str, ...] | None = None
    assumed: tuple[str, ...] = ()
    node: str = ""
    attempts: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        parse_time(self.time)
        if self.term and self.flags is None:
            raise ValueError("a line that opens a term names its flags")
        if self.pods is not None and (self.policy is None or self.reads is None):
            raise ValueError("the line of a batch names its policy and what it read")
        if (self.digest or (self.batch is not None and self.pods is None)) and not self.object:
            raise ValueError("a decision names its object")


class _Named(msgspec.Struct):
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class _AuditLine(msgspec.Struct):
    time: str
    user: str
    verb: str
    code: int
    object: _Named
    revision: int | None = None
    decision: str = ""

    def __post_init__(self) -> None:
        parse_time(self.time)


_object = msgspec.json.Decoder(_Object).decode
_READERS: dict[str, Callable[[bytes], object]] = {
    DECISIONS: msgspec.json.Decoder(_Line).decode,
    TURNS: msgspec.json.Decoder(_Line).decode,
    _AUDIT: msgspec.json.Decoder(_AuditLine).decode,
    DELIVERIES: items_of,
}


def check_incident(artifact: Artifact) -> None:
    head = artifact.head
    if unended := sorted(head.starts.keys() - head.ends.keys()):
        raise UsageError(f"the artifact cannot be read: its head tells no end of {unended[0]}")
    for name in ("since", "until"):
        _look(f"its head, {name}", parse_time, getattr(head, name))
    for number, line in enumerate(artifact.lines, start=1):
        read = _READERS.get(line.stream)
        if read is None:
            raise UsageError(
                f"the artifact cannot be read: there is no log {line.stream!r} (line {number} of logs)"
            )
        _look(f"line {line.sequence} of its log {line.stream}", read, bytes(line.body))
    for kept in (artifact.objects, artifact.changes):
        for each in kept:
            what = f"its object {'/'.join(filter(None, each.key))} at {each.revision}"
            _look(what, _versioned, bytes(each.value))


def _versioned(data: bytes) -> None:
    _object(data)
    if _VERSIONED not in data:
        raise ValueError("it has no resourceVersion")


def _look(what: str, read: Callable[[Any], object], given: object) -> None:
    try:
        read(given)
    except ValueError as error:  # those of msgspec are
        raise UsageError(f"the artifact cannot be read: {what}: {error}") from None
