"""Documents of our own beside Kubernetes': metrics, queues, the audit log. Mounted on the wire by prefix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import structs

from fairlead.api import options
from fairlead.api.access.sight import Sight
from fairlead.api.audit.recording import audit_line
from fairlead.api.plan import Context
from fairlead.control.health import Health
from fairlead.control.plane import Plane
from fairlead.control.retries import retries_in_force
from fairlead.core import codec
from fairlead.core.errors import BadRequest, NotFound
from fairlead.core.times import microtime, parse_time
from fairlead.model.key import Key
from fairlead.port.request import Reply
from fairlead.queue.snapshot import QueueSnapshot
from fairlead.runtime.metrics.contract import CONTENT_TYPE, MetricSample, exposition
from fairlead.runtime.server.tenants import place_of, place_of_key, without_others
from fairlead.schedule.waiting import FLUSH, State
from fairlead.store.contract import Journal, Note
from fairlead.store.instants import revision_at
from fairlead.store.machine import Store
from fairlead.wire.documents import Extension

AUDIT = "/fairlead/v1/audit"
DECISIONS = "/fairlead/v1/decisions"
QUEUES = "/fairlead/v1/queues"
REVISION = "/fairlead/v1/revision"
#: bound: audit | lines in one answer | ask again with `after`
_AUDIT_LINES_MAX = 1000
_NO_OTHERS: Mapping[str, str] = {}


def lines(journal: Journal, stream: str, others: Mapping[str, str] = _NO_OTHERS) -> Extension:
    """GET ...?after=SEQUENCE&limit=N: lines of a bounded log (audit, decisions), oldest first; with ?before=SEQUENCE
    the last ones before that one, of all if it is 0. `others`: streams that ?stream=NAME asks for instead. A tenant
    gets the lines about objects that they may read, `hidden` says how many others there were from `first` to `last`."""

    def answer(path: str, query: Mapping[str, str], context: Context, sight: Sight) -> Reply:
        after = options.parse_whole(query, "after") or 0
        limit = min(options.parse_whole(query, "limit") or _AUDIT_LINES_MAX, _AUDIT_LINES_MAX)
        name = query.get("stream", "")
        if name and name not in others:
            raise BadRequest(f"there is no stream {name!r} here; there are: {', '.join(others) or 'none'}")
        wanted = others[name] if name else stream
        before = options.parse_whole(query, "before")
        if before is None:
            notes = journal.notes(wanted, after, limit)
        else:
            notes = journal.notes_before(wanted, before, limit)
        return Reply(200, shown_lines(notes, sight, after))

    return answer


def shown_lines(notes: Sequence[tuple[int, float, Note]], sight: Sight, after: int = 0) -> bytes:
    """Lines as they are given to somebody, with how many they may not see."""
    if sight.is_whole:
        found = [audit_line(sequence, note) for sequence, _, note in notes]
        return b'{"items":[' + b",".join(found) + b"]}"
    shown, hidden = sight.shown(notes, lambda each: place_of(each[2].body))
    found = [audit_line(sequence, without_others(note, sight)) for sequence, _, note in shown]
    first, last = (notes[0][0], notes[-1][0]) if notes else (0, after)
    rest = b'],"hidden":%d,"first":%d,"last":%d}' % (hidden, first, last)
    return b'{"items":[' + b",".join(found) + rest


def revisions(journal: Journal, store: Store) -> Extension:
    """GET /fairlead/v1/revision?at=TIME: the newest revision of that time, and when it was written."""

    def answer(path: str, query: Mapping[str, str], context: Context, sight: Sight) -> Reply:
        try:
            instant = parse_time(query.get("at", ""))
        except ValueError as error:
            raise BadRequest(f"query parameter at: {error}") from None
        found = revision_at(journal, store.revision, instant)
        if found is None:
            raise NotFound(f"nothing is kept that was written at {query['at']} or before")
        return Reply(200, codec.encode({"revision": found.revision, "written": microtime(found.at)}))

    return answer


def queues(plane_now: Callable[[], Plane], clock: Callable[[], float]) -> Extension:
    """GET /fairlead/v1/queues: each controller's queue at this moment."""

    def answer(path: str, query: Mapping[str, str], context: Context, sight: Sight) -> Reply:
        plane = plane_now()
        items = [
            {
                "controller": controller.decider.name,
                "decided": controller.decided,
                "conflicts": controller.conflicts,
                "unknown": controller.unknown,
                "stuck": controller.stuck,
                "raised": controller.raised,
                "settings": plane.health.settings.source(controller.decider.name),
                "turns": controller.settings,
                "queue": _seen_queue(controller.queue.snapshot(clock()), sight),
            }
            for controller in plane.controllers
        ]
        recorder = plane.recorder
        events = {
            "waiting": recorder.waiting,
            "written": recorder.written,
            "suppressed": recorder.suppressed,
            "dropped": recorder.dropped,
            "unknown": recorder.unknown,
            "settings": recorder.settings,
        }
        body = {
            "leads": plane.leadership.leads,
            "phase": plane.leadership.phase.value,
            "events": events,
            "scheduler": scheduler_queue(plane, clock()),
            "recording": recording_told(plane),
            **_health(plane.health, clock(), sight),
            "retries": retries_in_force(plane.health.settings),
            "items": items,
        }
        return Reply(200, codec.encode(body))

    return answer


def recording_told(plane: Plane) -> dict[str, Any]:
    """What this plane recorded since it began, by level, and under which policy."""
    recording, policy = plane.health.recording, plane.health.recording.policy
    return {
        "policy": [policy.metadata.name, policy.metadata.generation] if policy is not None else None,
        "lines": recording.lines,
        "bytes": recording.bytes,
        "leftOut": recording.left_out,
        "merged": plane.health.merging.merged,
    }


def scheduler_queue(plane: Plane, now: float) -> dict[str, Any] | None:
    """Pods that wait for a node; None where no scheduler runs."""
    placer = plane.placer
    if placer is None:
        return None
    counts, since = placer.waiting.counts(), placer.waiting.oldest_since()
    return {
        "active": counts[State.ACTIVE.value],
        "backoff": counts[State.RESTING.value],
        "unschedulable": counts[State.WAITING.value],
        "underWay": len(placer.flights.underway),
        "oldestSeconds": round(max(0.0, now - since), 3) if since else 0.0,
        "attempts": placer.attempts,
        "placed": placer.placed,
        "conflicts": placer.flights.conflicts,
        "unknown": placer.flights.unknown,
        "flushes": placer.waiting.incoming.get((State.ACTIVE, FLUSH), 0),
        "flushesNeeded": placer.flights.tally.flushes_needed,
        "policy": [placer.policy.name, placer.policy.revision],
        "settings": {"placing": placer.settings, "waiting": placer.waiting.settings},
    }


def _seen_queue(queue: QueueSnapshot[Key], sight: Sight) -> QueueSnapshot[Key]:
    """Without the names of keys that this user may not see; the counts stay."""
    if sight.is_whole:
        return queue
    oldest = queue.oldest_waiting
    return structs.replace(
        queue,
        oldest_waiting=oldest if oldest is not None and sight.sees(*oldest) else None,
        most_retried=tuple(each for each in queue.most_retried if sight.sees(*each.key)),
        longest_running=tuple(each for each in queue.longest_running if sight.sees(*each.key)),
        longest_held=tuple(each for each in queue.longest_held if sight.sees(*each.key)),
    )


def _health(health: Health, now: float, sight: Sight) -> dict[str, Any]:
    """What the controllers share: which settings they work with, retries left, whether the API is left alone, loops."""
    settings, budget, breaker = health.settings, health.budget, health.breaker
    return {
        "settings": {"revision": settings.revision, "generation": settings.generation, "loop": settings.loop},
        "retryBudget": {
            "left": int(budget.left(now)),
            "waiting": len(budget.waiting),
            "spent": budget.spent,
            "heldBack": budget.held_back,
            "settings": budget.settings,
        },
        "breaker": {
            "open": breaker.is_open(now),
            "opened": breaker.opened,
            "settings": breaker.settings,
        },
        "writeLoops": [
            each
            for each in health.writes.loops(now)
            if sight.is_whole or sight.sees(*place_of_key(each.object))
        ],
    }


def metrics(read: Callable[[], Iterable[MetricSample]]) -> Extension:
    """/metrics in Prometheus' text form."""

    def answer(path: str, query: Mapping[str, str], context: Context, sight: Sight) -> Reply:
        return Reply(200, exposition(read()), CONTENT_TYPE)

    return answer
