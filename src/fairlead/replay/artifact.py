"""The artifact: one file with everything that is needed to play a run again and to see what happened in it.

JSON lines, one thing a line, so that a file can be read by people, by `jq` and in part:

    {"head": {...}}                     format, where it comes from, versions and flags, what was violated, the digest
    {"scenario": {...}}                 who does what and when; how many planes; which controllers of its own
    {"faults": {...}}                   how likely which fault was
    {"controller": {...}}               one of those that ran: its name and what it reads
    {"object": {...}}                   one that was there at the beginning
    {"change": [type, key, uid, revision, value]}        one that was committed, in the order of revisions
    {"line": [stream, sequence, {...}]}                  one of a log: decisions, turns, audit
    {"choice": [label, actor, nth, n, value, fault]}     one that was not calm, in the order of time
    {"step": [ms, actor, kind, text, data, cause]}       one thing that happened: calls, commits, deliveries, decisions
    {"end": {"lines": N, "checksum": "..."}}             of all lines before

Of a simulated run there are scenario, faults, choices and steps (written by `sim/player.py`); of a live plane changes
and lines (written by `capture.py`). Pure: bytes in, an Artifact out, and back.

Format 1 had no changes and lines. A file of a later format is refused with the release that wrote it.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import msgspec

from fairlead.core.errors import FormatError, UsageError
from fairlead.replay.well_formed import check_incident

FORMAT = 2
READABLE = (1, FORMAT)
SIMULATION, LIVE = "simulation", "live"
Json = dict[str, Any]
RecordedChoice = tuple[str, str, int, int, int, bool]
RecordedStep = tuple[int, str, str, str, str, int]


class ArtifactHead(msgspec.Struct, frozen=True, kw_only=True):
    format: int = FORMAT
    origin: str = SIMULATION
    fairlead: str  # version
    python: str
    world: str = ""
    plant: str = ""  # the code under test, if it is not as released
    seed: int = 0
    search: str = ""
    tried: str = ""  # what the search was trying
    invariant: str = ""
    message: str = ""
    at_seconds: float = 0.0  # virtual
    digest: str = ""
    requests: int = 0  # served before the beginning: identities are made from later numbers
    shrunk_from: int = 0  # choices and steps that there were before it was shrunk
    # Of a live plane: the time that it tells of, and the first and last revision of each resource that it has.
    since: str = ""
    until: str = ""
    namespace: str = ""  # only what is about it was captured; "": everything
    starts: dict[str, int] = {}
    ends: dict[str, int] = {}
    hollow_nodes: int = 0  # that the plane was to pretend


class RecordedController(msgspec.Struct, frozen=True):
    name: str
    reads: tuple[str, ...]
    version: str = (
        ""  # of fairlead, if it comes from there; of another's, and in older files, it is not known
    )


class RecordedObject(msgspec.Struct, frozen=True):
    key: tuple[str, str, str]  # resource, namespace, name
    uid: str
    revision: int
    value: msgspec.Raw


class RecordedChange(msgspec.Struct, frozen=True, array_like=True):
    change_type: str  # ADDED, MODIFIED, DELETED
    key: tuple[str, str, str]
    uid: str
    revision: int
    value: msgspec.Raw  # of what was deleted: the last state


class RecordedLine(msgspec.Struct, frozen=True, array_like=True):
    """One line of a log of the plane, as it was written."""

    stream: str
    sequence: int
    body: msgspec.Raw


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    head: ArtifactHead
    scenario: Json = {}
    faults: Json = {}
    controllers: tuple[RecordedController, ...] = ()
    objects: tuple[RecordedObject, ...] = ()
    changes: tuple[RecordedChange, ...] = ()
    lines: tuple[RecordedLine, ...] = ()
    choices: tuple[RecordedChoice, ...] = ()
    steps: tuple[RecordedStep, ...] = ()


_LISTS = {
    "controller": "controllers",
    "object": "objects",
    "change": "changes",
    "line": "lines",
    "choice": "choices",
    "step": "steps",
}
_SINGLE: dict[str, Any] = {"head": ArtifactHead, "scenario": Json, "faults": Json}
_MANY: dict[str, Any] = {
    "controller": RecordedController,
    "object": RecordedObject,
    "change": RecordedChange,
    "line": RecordedLine,
    "choice": RecordedChoice,
    "step": RecordedStep,
}
_DECODERS = {name: msgspec.json.Decoder(form) for name, form in (_SINGLE | _MANY).items()}
_NAMED = msgspec.json.Decoder(dict[str, msgspec.Raw])
_encode = msgspec.json.encode


def write_artifact(artifact: Artifact) -> bytes:
    lines = [_encode(line) for line in _lines(artifact)]
    body = b"".join(line + b"\n" for line in lines)
    end = {"end": {"lines": len(lines), "checksum": _checksum(body)}}
    return body + _encode(end) + b"\n"


def read_artifact(data: bytes) -> Artifact:
    """An UsageError says what is wrong with it, and in which line if it is one."""
    lines = data.splitlines()
    if not lines:
        raise UsageError("the file is empty: it is no artifact")
    _check_format(lines[0])
    _check_end(lines)
    given: Json = {name: [] for name in _LISTS.values()}
    for number, line in enumerate(lines[:-1], start=1):
        name, value = _decoded(line, number)
        if name in _LISTS:
            given[_LISTS[name]].append(value)
        else:
            given[name] = value
    for name in ("head", "scenario", "faults"):
        if name not in given and (name == "head" or given["head"].origin == SIMULATION):
            raise UsageError(f"the artifact cannot be read: it has no line `{name}`")
    given |= {field: tuple(given[field]) for field in _LISTS.values()}
    artifact = Artifact(**given)
    if artifact.head.origin == LIVE:
        check_incident(artifact)
    return artifact


def _check_format(first: bytes) -> None:
    """Before everything else: a later format may be different in all but this."""
    try:
        head = msgspec.json.decode(first)["head"]
        told, by = head["format"], head.get("fairlead", "another release")
    except (msgspec.DecodeError, AttributeError, KeyError, TypeError):
        raise UsageError("the file is no artifact: its first line has no head with a format") from None
    if told not in READABLE:
        raise FormatError(
            f"the artifact has format {told} and is of fairlead {by}; this release reads formats up to {FORMAT}"
        )


def _check_end(lines: list[bytes]) -> None:
    try:
        told = msgspec.json.decode(lines[-1])["end"]["checksum"]
    except (msgspec.DecodeError, KeyError, TypeError):
        raise UsageError(f"the artifact is cut off: line {len(lines)}, its last, is no end") from None
    if told != _checksum(b"".join(line + b"\n" for line in lines[:-1])):
        raise UsageError("the artifact was changed: its lines do not have the checksum that its end tells")


def _lines(artifact: Artifact) -> Iterator[Json]:
    yield {"head": artifact.head}
    if artifact.head.origin == SIMULATION:
        yield {"scenario": artifact.scenario}
        yield {"faults": artifact.faults}
    for name, field in _LISTS.items():
        for value in getattr(artifact, field):
            yield {name: value}


def _decoded(line: bytes, number: int) -> tuple[str, Any]:
    try:
        [(name, value)] = _NAMED.decode(line).items()
        decoder = _DECODERS[name]
    except msgspec.ValidationError:
        raise UsageError(f"line {number} is not one named thing") from None
    except msgspec.DecodeError as error:
        raise UsageError(f"line {number} is not JSON: {error}") from None
    except ValueError:
        raise UsageError(f"line {number} is not one named thing") from None
    except KeyError as unknown:
        raise UsageError(f"line {number} is a {unknown}, which this release does not know") from None
    try:
        return name, decoder.decode(value)
    except msgspec.MsgspecError as error:
        raise UsageError(f"the artifact cannot be read: line {number}, its {name}: {error}") from None


def _checksum(body: bytes) -> str:
    return blake2b(body, digest_size=16).hexdigest()
