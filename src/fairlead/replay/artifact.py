"""The artifact: one file with everything that is needed to play a run again and to see what happened in it.

JSON lines, one thing a line, so that a file can be read by people, by `jq` and in part:

    {"head": {...}}                     format, where it comes from, versions and flags, what was violated, the digest
    {"scenario": {...}}                 who does what and when; how many planes; which controllers of its own
    {"faults": {...}}                   how likely which fault was
    {"controller": {...}}               one of those that ran: its name and what it reads
    {"object": {...}}                   one that was there at the beginning
    {"choice": [label, actor, nth, n, value, fault]}     one that was not calm, in the order of time
    {"step": [ms, actor, kind, text, data, cause]}       one thing that happened: calls, commits, deliveries, decisions
    {"end": {"lines": N, "checksum": "..."}}             of all lines before

Pure: bytes in, an Artifact out, and back. Simulated runs are written by `sim/player.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import msgspec

from fairlead.core.errors import UsageError

FORMAT = 1
SIMULATION = "simulation"
Json = dict[str, Any]
RecordedChoice = tuple[str, str, int, int, int, bool]
RecordedStep = tuple[int, str, str, str, str, int]


class ArtifactHead(msgspec.Struct, frozen=True, kw_only=True):
    format: int = FORMAT
    origin: str = SIMULATION
    fairlead: str  # version
    python: str
    world: str
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
    rested: bool = False


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    head: ArtifactHead
    scenario: Json
    faults: Json
    controllers: tuple[Json, ...] = ()
    objects: tuple[Json, ...] = ()
    choices: tuple[RecordedChoice, ...] = ()
    steps: tuple[RecordedStep, ...] = ()


_LISTS = {"controller": "controllers", "object": "objects", "choice": "choices", "step": "steps"}
_encode = msgspec.json.encode


def write_artifact(artifact: Artifact) -> bytes:
    lines = [_encode(line) for line in _lines(artifact)]
    body = b"".join(line + b"\n" for line in lines)
    end = {"end": {"lines": len(lines), "checksum": _checksum(body)}}
    return body + _encode(end) + b"\n"


def read_artifact(data: bytes) -> Artifact:
    """An UsageError says which line is wrong, and how."""
    *lines, last = data.splitlines() or [b""]
    end = _decoded(last, len(lines) + 1).get("end")
    if end is None:
        raise UsageError("the file is no artifact, or it is cut off: its last line has no end")
    if end.get("checksum") != _checksum(b"".join(line + b"\n" for line in lines)):
        raise UsageError("the file was changed: its lines do not have the checksum that its end tells")
    given: Json = {name: [] for name in _LISTS.values()}
    for number, line in enumerate(lines, start=1):
        [(name, value)] = _decoded(line, number).items()
        if name in _LISTS:
            given[_LISTS[name]].append(value)
        else:
            given[name] = value
    told = given.get("head", {}).get("format")
    if told != FORMAT:
        raise UsageError(f"the artifact has format {told}; this release reads format {FORMAT}")
    try:
        return msgspec.convert(given, Artifact)
    except msgspec.ValidationError as error:
        raise UsageError(f"the artifact cannot be read: {error}") from None


def _lines(artifact: Artifact) -> Iterator[Json]:
    yield {"head": artifact.head}
    yield {"scenario": artifact.scenario}
    yield {"faults": artifact.faults}
    for name, field in _LISTS.items():
        for value in getattr(artifact, field):
            yield {name: value}


def _decoded(line: bytes, number: int) -> Json:
    try:
        found = msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        raise UsageError(f"line {number} is not JSON: {error}") from None
    if not isinstance(found, dict) or len(found) != 1:
        raise UsageError(f"line {number} is not one named thing")
    return found


def _checksum(body: bytes) -> str:
    return blake2b(body, digest_size=16).hexdigest()
