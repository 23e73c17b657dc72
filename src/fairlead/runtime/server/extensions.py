"""Documents of our own beside Kubernetes': metrics, queues, the audit log. Mounted on the wire by prefix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fairlead.api.access.sight import Sight
from fairlead.api.audit.recording import audit_line
from fairlead.api.cohorts import CohortsTold, cohorts_told
from fairlead.api.plan import Context
from fairlead.control.batch_lines import BatchLines
from fairlead.control.plane import Plane
from fairlead.core import codec
from fairlead.core.errors import BadRequest, NotFound
from fairlead.core.times import microtime, parse_time
from fairlead.port.query import parse_whole
from fairlead.port.request import Reply
from fairlead.runtime.metrics.contract import CONTENT_TYPE, MetricSample, exposition
from fairlead.runtime.queues_told import queues_told
from fairlead.runtime.server.tenants import place_of, place_of_key, without_others
from fairlead.store.contract import Journal, Note, Reader
from fairlead.store.instants import revision_at
from fairlead.store.machine import Store
from fairlead.wire.documents import Extension

AUDIT = "/fairlead/v1/audit"
DECISIONS = "/fairlead/v1/decisions"
QUEUES = "/fairlead/v1/queues"
REVISION = "/fairlead/v1/revision"
#: bound: audit | lines in one answer | ask again with `after`
_AUDIT_LINES_MAX = 1000
_NAMED = ("most_retried", "longest_running", "longest_held")  # lists of a queue that name keys
Json = dict[str, Any]
_NO_OTHERS: Mapping[str, str] = {}


def lines(journal: Journal, stream: str, others: Mapping[str, str] = _NO_OTHERS) -> Extension:
    """GET ...?after=SEQUENCE&limit=N: lines of a bounded log (audit, decisions), oldest first; with ?before=SEQUENCE
    the last ones before that one, of all if it is 0. `others`: streams that ?stream=NAME asks for instead. A tenant
    gets the lines about objects that they may read, `hidden` says how many others there were from `first` to `last`."""

    def answer(path: str, query: Mapping[str, str], context: Context, sight: Sight) -> Reply:
        after = parse_whole(query, "after") or 0
        limit = min(parse_whole(query, "limit") or _AUDIT_LINES_MAX, _AUDIT_LINES_MAX)
        name = query.get("stream", "")
        if name and name not in others:
            raise BadRequest(f"there is no stream {name!r} here; there are: {', '.join(others) or 'none'}")
        wanted = others[name] if name else stream
        before = parse_whole(query, "before")
        if before is None:
            notes = journal.notes(wanted, after, limit)
        else:
            notes = journal.notes_before(wanted, before, limit)
        batches = BatchLines(journal)
        whole = [(sequence, at, batches.whole(sequence, note)) for sequence, at, note in notes]
        return Reply(200, shown_lines(whole, sight, after))

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


def queues(
    plane_now: Callable[[], Plane],
    clock: Callable[[], float],
    elsewhere: Callable[[], Json | None] = lambda: None,
    store: Reader | None = None,
) -> Extension:
    """GET /fairlead/v1/queues: each controller's queue at this moment. `elsewhere`: what a plane in another process
    told of its own; it is shown where this process has no scheduler. `store`: whose cohorts are shown as well."""

    def answer(path: str, query: Mapping[str, str], context: Context, sight: Sight) -> Reply:
        plane = plane_now()
        other = elsewhere() if plane.placer is None else None
        told = other if other is not None else queues_told(plane, clock())
        shared = cohorts_told(store, sight) if store else CohortsTold([], [])
        beside = {"cohorts": shared.cohorts, "quotasLeftOut": shared.left_out}
        return Reply(200, codec.encode({**_seen_by(told, sight), **beside}))

    return answer


def _seen_by(told: Json, sight: Sight) -> Json:
    """Without the names of what this user may not see; the counts stay."""
    if sight.is_whole:
        return told
    loops = [each for each in told["writeLoops"] if sight.sees(*place_of_key(each["object"]))]
    items = [{**each, "queue": _seen_queue(each["queue"], sight)} for each in told["items"]]
    return {**told, "writeLoops": loops, "items": items}


def _seen_queue(queue: Json, sight: Sight) -> Json:
    oldest = queue["oldest_waiting"]
    named = {name: [each for each in queue[name] if sight.sees(*each["key"])] for name in _NAMED}
    return {**queue, **named, "oldest_waiting": oldest if oldest and sight.sees(*oldest) else None}


def metrics(read: Callable[[], Iterable[MetricSample]]) -> Extension:
    """/metrics in Prometheus' text form."""

    def answer(path: str, query: Mapping[str, str], context: Context, sight: Sight) -> Reply:
        return Reply(200, exposition(read()), CONTENT_TYPE)

    return answer
