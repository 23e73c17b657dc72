"""Captures an incident: what a plane decided within a time, and all that it decided on, as an artifact.

    capture(origin, since, namespace) -> Artifact

Decisions and turns name the revisions that they read, so history is needed from the oldest of these on, resource by
resource; of what nobody read, from the beginning of the time. Where the store has forgotten the oldest, what is left is
taken: `fairlead replay` then says which decisions cannot be run again. `origin` is a server that is asked page by page
(`cli/incident.py`) or a store that is at hand; either way secrets are taken out before anything gets here
(`redaction.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import msgspec

from fairlead.control.instructions import DECISIONS, DELIVERIES, TURNS
from fairlead.core.times import microtime
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
from fairlead.replay.tape import Began, items_of
from fairlead.store.contract import Entry

AUDIT = "audit"
_HOLLOW = "controller/hollow"
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
        """Of a log, oldest first: those since then, and what opened the term that was under way."""
        ...

    def history(self, resource: str, start: int) -> ResourceHistory:
        """Redacted; from a later revision on if `start` is no longer kept."""
        ...


class _Brief(msgspec.Struct):
    """What of a line is needed to know what it rests on, and whom it concerns."""

    object: str | Json = ""
    about: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()
    term: str = ""
    flags: tuple[str, ...] = ()
    reads: dict[str, tuple[int, int]] = {}
    heard: Json = {}


_brief = msgspec.json.Decoder(_Brief).decode


def start_before(origin: Origin, since: float) -> float:
    """When the plane that ran then was started, which a closed replay begins with; `since` if that is not kept."""
    found = since
    for line in origin.lines(DELIVERIES, 0.0):
        for item in items_of(line.body):
            if item.now > since:
                return found
            if isinstance(item, Began):
                found = item.now - _A_MOMENT
    return found


def capture(origin: Origin, since: float, until: float, namespace: str = "") -> Artifact:
    facts = origin.facts(since - _A_MOMENT)  # what was written at that very instant is part of it
    lines: list[RecordedLine] = []
    rests: list[Json] = []
    hollow_nodes = 0
    for stream in STREAMS:
        for line in origin.lines(stream, since):
            brief = _brief(line.body)
            # A term without hollow nodes is of a plane that has none, such as one in another process beside it.
            hollow_nodes = _hollow_nodes(brief.flags) or hollow_nodes
            if namespace and not concerns(brief, namespace):
                continue
            lines.append(RecordedLine(stream, line.sequence, msgspec.Raw(line.body)))
            if brief.reads:
                rests.append({"reads": brief.reads, "heard": brief.heard})
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
            RecordedController(each.name, tuple(resource.name for resource in each.reads))
            for each in usual_deciders()
        ),
        objects=tuple(map(_object, _entries(histories.values()))),
        changes=tuple(
            RecordedChange(type_, _key(entry), entry.uid, entry.revision, msgspec.Raw(entry.data))
            for type_, entry in sorted(changes, key=lambda each: each.entry.revision)
        ),
        lines=tuple(lines),
    )


def _hollow_nodes(flags: Iterable[str]) -> int:
    """How many nodes the plane was to pretend, by the line that opens its term."""
    told = (each.removeprefix(_HOLLOW) for each in flags if each.startswith(_HOLLOW))
    return next((int(number.removeprefix("=") or 1) for number in told), 0)


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
