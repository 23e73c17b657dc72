"""Captures an incident: what a plane decided within a time, and all that it decided on, as an artifact.

    capture(origin, since, namespace) -> Artifact

Decisions and turns name the revisions that they read, so history is needed from the oldest of these on, resource by
resource; of what nobody read, from the beginning of the time. Where the store has forgotten the oldest, what is left is
taken: `fairlead replay` then says which decisions cannot be run again. `origin` is a server that is asked page by page
(`cli/incident.py`) or a store that is at hand; either way secrets are taken out before anything gets here
(`redaction.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

import msgspec

from fairlead.control.instructions import DECISIONS, DELIVERIES, TURNS
from fairlead.core.times import microtime, parse_time
from fairlead.model.kind import Json
from fairlead.replay.artifact import (
    LIVE,
    Artifact,
    ArtifactHead,
    RecordedChange,
    RecordedController,
    RecordedLine,
    RecordedObject,
)
from fairlead.replay.cast import usual_deciders
from fairlead.replay.past import ResourceHistory
from fairlead.replay.rerun import starts_of
from fairlead.replay.tape import Began, Sent, TapeItem, items_of
from fairlead.replay.terms import hollow_nodes_of, term_of
from fairlead.store.contract import Entry

AUDIT = "audit"
_A_MOMENT = 0.001
STREAMS = (DECISIONS, TURNS, AUDIT, DELIVERIES)


class LogLine(NamedTuple):
    sequence: int
    body: bytes


class PlaneFacts(NamedTuple):
    fairlead: str
    python: str
    revision: int  # the newest when the time to be captured began
    resources: tuple[str, ...]  # that there are objects of, or were


class Origin(Protocol):
    def facts(self, since: float) -> PlaneFacts: ...

    def lines(self, stream: str, since: float) -> Iterable[LogLine]:
        """Of a log, oldest first, those since then."""
        ...

    def opening(self, term: str) -> LogLine | None:
        """The line of the decisions that opened this term; None if the log has forgotten it."""
        ...

    def history(self, resource: str, start: int) -> ResourceHistory:
        """Redacted; from a later revision on if `start` is no longer kept."""
        ...


class _Brief(msgspec.Struct):
    """What of a line is needed to know what it rests on, and whom it concerns."""

    object: str | Json = ""
    about: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()
    id: str = ""
    of: str = ""
    term: str = ""
    flags: tuple[str, ...] = ()
    reads: dict[str, tuple[int, int]] = {}
    heard: Json = {}


_brief = msgspec.json.Decoder(_Brief).decode


def start_before(origin: Origin, since: float) -> float:
    """When the plane that ran then was started, where a closed replay is exact from; `since` if that is not kept."""
    found = since
    for line in origin.lines(DELIVERIES, 0.0):
        for item in items_of(line.body):
            if item.now > since:
                return found
            if isinstance(item, Began):
                found = item.now - _A_MOMENT
    return found


def history_from(artifact: Artifact) -> int:
    """The revision from which on all that was captured has its history: what is older was forgotten, if only of leases,
    which are kept for half an hour."""
    return max(artifact.head.starts.values(), default=0)


def playable_from(artifact: Artifact, tape: Sequence[TapeItem]) -> tuple[int, bool]:
    """The place of the first item of a tape from which on it can be played, and whether a plane is started there."""
    kept = history_from(artifact)
    for place, item in enumerate(tape):
        if isinstance(item, Began) and item.revision >= kept:
            return place, True
    since = parse_time(artifact.head.since)
    first = next((place for place, item in enumerate(tape) if item.now >= since), 0)
    older = (place for place, item in enumerate(tape) if isinstance(item, Sent) and item.allotted < kept)
    return max(first, max(older, default=-1) + 1), False


def why_mid_term(artifact: Artifact, tape: Iterable[TapeItem]) -> str:
    if _has_start(artifact, tape):
        return "the history of then is no longer kept of all that there was, leases first"
    return "it has no start of a plane"


def _has_start(artifact: Artifact, tape: Iterable[TapeItem]) -> bool:
    """Within what was captured: the first line of a tape may begin a moment before that."""
    since = parse_time(artifact.head.since) - _A_MOMENT
    return any(isinstance(item, Began) and item.now >= since for item in tape)


def closed_from(artifact: Artifact) -> str:
    """Where a closed replay of it begins and why, for people."""
    tape = [
        item for line in artifact.lines if line.stream == DELIVERIES for item in items_of(bytes(line.body))
    ]
    if not tape:
        return "it has no tape of what a plane was told, so it cannot be replayed closed"
    place, is_start = playable_from(artifact, tape)
    if place == len(tape):
        return "nothing that a plane was told has its history still, so it cannot be replayed closed"
    at = microtime(tape[place].now)
    if is_start:
        return f"a closed replay of it begins at {at}, when the plane was started"
    told = f"a closed replay of it begins in mid-term, at {at}: {why_mid_term(artifact, tape)}"
    if _has_start(artifact, tape):
        return told
    return f"{told}; with --closed a capture reaches back to one, where the tape still has it"


def capture(origin: Origin, since: float, until: float, namespace: str = "") -> Artifact:
    facts = origin.facts(since - _A_MOMENT)  # what was written at that very instant is part of it
    lines: list[RecordedLine] = []
    rests: list[Json] = []
    hollow_nodes = 0
    opened: set[str] = set()
    led: dict[str, None] = {}  # terms that lines are of
    for stream in STREAMS:
        for line in origin.lines(stream, since):
            brief = _brief(line.body)
            # A term without hollow nodes is of a plane that has none, such as one in another process beside it.
            hollow_nodes = hollow_nodes_of(brief.flags) or hollow_nodes
            opened.add(brief.term)
            if namespace and not concerns(brief, namespace):
                continue
            lines.append(RecordedLine(stream, line.sequence, msgspec.Raw(line.body)))
            led[term_of(brief.id or brief.of)] = None
            if brief.reads:
                rests.append({"reads": brief.reads, "heard": brief.heard})
    before = [
        RecordedLine(DECISIONS, found.sequence, msgspec.Raw(found.body))
        for term in led
        if term and term not in opened and (found := origin.opening(term)) is not None
    ]
    hollow_nodes = hollow_nodes or max(
        (hollow_nodes_of(_brief(bytes(each.body)).flags) for each in before), default=0
    )
    starts = starts_of(rests)
    histories = {
        name: origin.history(name, min(starts.get(name, facts.revision), facts.revision))
        for name in sorted({*facts.resources, *starts})
    }
    head = ArtifactHead(
        origin=LIVE,
        fairlead=facts.fairlead,
        python=facts.python,
        since=microtime(since),
        until=microtime(until),
        namespace=namespace,
        starts={name: each.start for name, each in histories.items()},
        ends={name: each.end for name, each in histories.items()},
        hollow_nodes=hollow_nodes,
    )
    changes = (change for each in histories.values() for change in each.changes)
    return Artifact(
        head=head,
        controllers=tuple(
            RecordedController(each.name, tuple(resource.name for resource in each.reads), facts.fairlead)
            for each in usual_deciders()
        ),
        objects=tuple(map(_object, _entries(histories.values()))),
        changes=tuple(
            RecordedChange(type_, _key(entry), entry.uid, entry.revision, msgspec.Raw(entry.data))
            for type_, entry in sorted(changes, key=lambda each: each.entry.revision)
        ),
        lines=(*sorted(before, key=lambda each: each.sequence), *lines),
    )


def concerns(brief: _Brief, namespace: str) -> bool:
    """Whether a line is about something in this namespace, or about nothing that is in one."""
    named = [*brief.about]
    if isinstance(brief.object, dict):  # of the audit log
        return brief.object.get("namespace", "") in ("", namespace)
    named.append(brief.object)
    spaces = [parts[1] for parts in (each.split("/") for each in named) if len(parts) == 3]
    spaces += [each.partition("/")[0] for each in brief.pods]
    return not spaces or namespace in spaces


def _entries(histories: Iterable[ResourceHistory]) -> Iterator[Entry]:
    for history in histories:
        yield from history.entries


def _key(entry: Entry) -> tuple[str, str, str]:
    return entry.key.resource, entry.key.namespace, entry.key.name


def _object(entry: Entry) -> RecordedObject:
    return RecordedObject(_key(entry), entry.uid, entry.revision, msgspec.Raw(entry.data))
