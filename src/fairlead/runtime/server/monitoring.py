"""Watches what is committed while the server runs: invariants that must hold, and loops between writers.

`serving.py` hands over every change as it is published, which costs an append; what is handed over is looked at later,
a few at a time and no more in a second than `monitors.commitsPerSecondMax` of the PlaneSettings. What comes faster is
dropped and counted, and what needs to know all there is learns it anew when it is calm. Who wrote is joined from the
audit log. What is found becomes an Event beside the object, a line in the log and a metric; loops are kept by the plane
(`control/write_loops.py`). Invariants are those of the simulator (`sim/live.py`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator

import msgspec

from fairlead.api.audit.recording import STREAM as AUDIT
from fairlead.control.committed import commit_of
from fairlead.control.feedback import follows
from fairlead.control.footprints import footprints, reads_of
from fairlead.control.plane import Plane
from fairlead.control.record import STREAM as DECISIONS
from fairlead.control.write_loops import DecisionLine, WriteLoop, describe_loop
from fairlead.core.bounded_dict import BoundedDict
from fairlead.decision.contract import EventNote, Regarding
from fairlead.decision.footprint import field_of, touches
from fairlead.decision.notes import WARNING
from fairlead.model.catalog import Catalog
from fairlead.model.key import Key
from fairlead.model.kind import Kind
from fairlead.sim.live import WATCHED, LiveMonitors
from fairlead.sim.violation import Violation
from fairlead.store.contract import CommittedChange, Entry, Journal, Reader
from fairlead.store.tail import newest_line

log = logging.getLogger("fairlead.monitors")

#: bound: plane | commits that wait to be looked at by monitors | all of them are dropped, and counted
COMMITS_WAITING_MAX = 10_000
#: bound: plane | monitors look every | -
MONITOR_SECONDS = 0.25
_LINES = 1000
_AUDIT_LINES = 100
_ORIGINS_KEPT = 20_000
_OURS, _NODE = "system:fairlead:", "system:node:"
_COMPONENT = "fairlead-monitors"
_BINDING = "binding"
_UNHEEDED = frozenset({"leases.coordination.k8s.io", "events"})


class _Target(msgspec.Struct, frozen=True, gc=False):
    subresource: str = ""


class _Line(msgspec.Struct, frozen=True, gc=False):
    user: str = ""
    object: _Target = _Target()
    request_id: str = msgspec.field(default="", name="requestId")
    decision: str = ""
    changed: tuple[str, ...] = ()


class CommitOrigin(msgspec.Struct, frozen=True, gc=False):
    """Who asked for a commit. `can_loop`: it changed more than a status that follows what there is, and could be done
    again, which a binding cannot."""

    writer: str
    decision: str
    is_ours: bool
    can_loop: bool = True


_line = msgspec.json.Decoder(_Line).decode
_decision = msgspec.json.Decoder(DecisionLine).decode
_NOBODY = CommitOrigin("", "", False)


class Monitoring:
    """Fed by `observe`, worked by `run`."""

    def __init__(
        self,
        plane_now: Callable[[], Plane],
        reader: Reader,
        journal: Journal,
        catalog: Catalog,
        clock: Callable[[], float],
    ) -> None:
        self._plane_now, self._reader, self._journal = plane_now, reader, journal
        self._catalog, self._clock = catalog, clock
        self._waiting: deque[CommittedChange] = deque()
        self._origins: BoundedDict[int, CommitOrigin] = BoundedDict(_ORIGINS_KEPT)
        self._audit = self._decisions = 0  # sequences up to which the logs were read
        self._monitors = LiveMonitors()
        self._learning: Iterator[Entry] | None = None
        self._knows_all = False  # the monitors know, or learn, all there is
        self.violations: dict[str, int] = dict.fromkeys(self._monitors.names, 0)
        self.looked_at = self.dropped = 0  # plain counts for metrics

    def start(self) -> None:
        """What happened before is history: the logs are read from their ends."""
        self._audit, self._decisions = (newest_line(self._journal, stream) for stream in (AUDIT, DECISIONS))
        self._waiting.clear()

    def observe(self, changes: tuple[CommittedChange, ...]) -> None:
        self._waiting.extend(changes)
        if len(self._waiting) > COMMITS_WAITING_MAX:
            self._drop()

    async def run(self) -> None:
        while True:
            await asyncio.sleep(MONITOR_SECONDS)
            self.look(MONITOR_SECONDS)

    def look(self, seconds: float) -> None:
        """At as many commits as may be looked at in so long."""
        plane = self._plane_now()
        most = int(plane.health.settings.monitors.commits_per_second_max * seconds)
        if not self._knows_all and len(self._waiting) <= most:
            self._learn_all()
        if not self._knows_all or not most:
            self._drop()
            return
        most = self._learn(most)
        judged = [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
        if judged:
            self._read_origins(judged[-1].entry.revision)
        for change in judged:
            self.looked_at += 1
            self._judge(plane, change)
        self._read_decisions(plane, most)

    def _drop(self) -> None:
        """There are too many, or nobody is to look: from now on, not all is known."""
        self.dropped += len(self._waiting)
        self._forget_waiting()
        self._learning, self._knows_all = None, False

    def _forget_waiting(self) -> None:
        """Nobody will ask who wrote it either: the audit log is read on from its end."""
        if self._waiting:
            self._waiting.clear()
            self._audit = newest_line(self._journal, AUDIT)

    def _learn_all(self) -> None:
        """Begin with what there is; it is taken in like commits, a few at a time. What waits is part of it."""
        self._monitors, self._knows_all = LiveMonitors(), True
        self._forget_waiting()
        entries = [entry for resource in sorted(WATCHED) for entry in self._reader.list(resource)]
        self._learning = iter(sorted(entries, key=lambda entry: entry.revision))

    def _learn(self, most: int) -> int:
        """How many of `most` are left. Nothing is judged before all is known."""
        while self._learning is not None and most:
            entry = next(self._learning, None)
            if entry is None:
                self._learning = None
                break
            self._monitors.learn((entry,))
            most -= 1
        return 0 if self._learning is not None else most

    # What commits show

    def _judge(self, plane: Plane, change: CommittedChange) -> None:
        key = change.entry.key
        if key.resource in _UNHEEDED:
            return
        origin = self._origins.pop(change.entry.revision, _NOBODY)
        now = self._clock()
        if key.resource in WATCHED:
            by = f"{origin.writer} of plane-{plane.leadership.identity}" if origin.is_ours else origin.writer
            for violation in self._monitors.saw(change, by, now):
                self._tell_violation(plane, change.entry, violation, origin.decision, now)
        if not origin.can_loop:
            return
        kind = self._kind(key)
        is_shown = kind is not None and not kind.sensitive
        commit = commit_of(change, origin.writer, origin.decision, now, is_shown)
        if commit is not None:
            for loop in plane.health.writes.committed(commit, lambda *asked: decides_on(plane, *asked)):
                self._tell_loop(plane, loop, now)

    def _tell_violation(
        self, plane: Plane, entry: Entry, violation: Violation, decision: str, now: float
    ) -> None:
        name = violation.invariant
        self.violations[name] = self.violations.get(name, 0) + 1
        log.error("an invariant is broken at revision %d: %s", entry.revision, violation)
        self._tell(plane, entry.key, "InvariantViolated", str(violation), now, decision)

    def _tell_loop(self, plane: Plane, loop: WriteLoop, now: float) -> None:
        told = describe_loop(loop)
        log.warning("%s", told)
        resource, _, rest = loop.object.partition("/")
        namespace, slash, name = rest.partition("/")
        key = Key(resource, namespace, name) if slash else Key(resource, "", rest)
        reason = "".join(word.capitalize() for word in loop.kind.split())
        self._tell(plane, key, f"{reason}Found", told, now, loop.proof[-1].decision if loop.proof else "")

    def _tell(self, plane: Plane, key: Key, reason: str, message: str, now: float, decision: str) -> None:
        kind, entry = self._kind(key), self._reader.get(key)
        if kind is None or not plane.leadership.leads:
            return
        uid = "" if entry is None else entry.uid
        about = Regarding(kind.api_version, kind.kind, key.namespace, key.name, uid)
        plane.recorder.tell(_COMPONENT, EventNote(about, WARNING, reason, message), now, decision)

    def _kind(self, key: Key) -> Kind | None:
        return self._catalog.of_resource(key.resource)

    # What the logs tell

    def _read_origins(self, revision: int) -> None:
        """Up to this one: lines are written in the transaction of what they tell of, so they are all there. What waits
        for a later look has its lines read then, or never."""
        reached = 0
        while reached < revision:
            notes = self._journal.notes(AUDIT, self._audit, _AUDIT_LINES)
            for sequence, _, note in notes:
                self._audit = sequence
                if note.revision:
                    reached = note.revision
                    self._origins.keep(reached, _origin(_line(note.body)))
            if len(notes) < _AUDIT_LINES:
                return

    def _read_decisions(self, plane: Plane, most: int) -> None:
        for sequence, _, note in self._journal.notes(DECISIONS, self._decisions, min(most, _LINES)):
            self._decisions = sequence
            for loop in plane.health.writes.recorded(_decision(note.body), self._clock()):
                self._tell_loop(plane, loop, self._clock())


def decides_on(plane: Plane, writer: str, resource: str, field: str) -> bool:
    """By its footprint, or else by what it declares; of who is no controller of ours nothing is known."""
    footprint = footprints().get(writer)
    if footprint is not None:
        return any(touches(field, each) for each in reads_of(footprint, resource))
    for controller in plane.controllers:
        if controller.decider.name == writer:
            return any(each.name == resource for each in controller.decider.reads)
    return False


def _origin(line: _Line) -> CommitOrigin:
    ours = line.user.startswith(_OURS)
    writer = line.user.removeprefix(_OURS) if ours else "agent" if line.user.startswith(_NODE) else line.user
    is_once = line.object.subresource == _BINDING
    can_loop = not is_once and (not line.changed or not all(map(follows, map(field_of, line.changed))))
    return CommitOrigin(writer, line.decision or line.request_id, ours, can_loop)
