"""Documents of our own beside Kubernetes': health, metrics, the audit log. Mounted on the wire by prefix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import structs

from fairlead.api import options
from fairlead.api.access.sight import Sight
from fairlead.api.audit.recording import audit_line
from fairlead.api.plan import Context
from fairlead.control.controller import Controller
from fairlead.control.health import Health
from fairlead.control.plane import Plane
from fairlead.core import codec
from fairlead.core.errors import BadRequest, NotFound
from fairlead.core.times import microtime, parse_time, timestamp
from fairlead.model.key import Key
from fairlead.port.request import Reply
from fairlead.queue.snapshot import QueueSnapshot
from fairlead.runtime.server.tenants import place_of, place_of_key, without_others
from fairlead.schedule.waiting import FLUSH, State
from fairlead.store.contract import Journal
from fairlead.store.damage import describe_damage
from fairlead.store.instants import revision_at
from fairlead.store.machine import Store, StorePhase
from fairlead.wire.documents import Extension

AUDIT = "/fairlead/v1/audit"
DECISIONS = "/fairlead/v1/decisions"
QUEUES = "/fairlead/v1/queues"
REVISION = "/fairlead/v1/revision"
#: bound: audit | lines in one answer | ask again with `after`
_AUDIT_LINES_MAX = 1000
_TEXT = "text/plain; charset=utf-8"
_CHECK_SHOWN_MAX = 63
_DAMAGE_SHOWN_MAX = 16
_NO_OTHERS: Mapping[str, str] = {}


def lines(journal: Journal, stream: str, others: Mapping[str, str] = _NO_OTHERS) -> Extension:
    """GET ...?after=SEQUENCE&limit=N: lines of a bounded log (audit, decisions), oldest first. `others`: streams that
    ?stream=NAME asks for instead. A tenant gets the lines about objects that they may read, `hidden` says how many
    others there were up to `last`."""

    def answer(path: str, query: Mapping[str, str], context: Context, sight: Sight) -> Reply:
        after = options.parse_whole(query, "after") or 0
        limit = min(options.parse_whole(query, "limit") or _AUDIT_LINES_MAX, _AUDIT_LINES_MAX)
        name = query.get("stream", "")
        if name and name not in others:
            raise BadRequest(f"there is no stream {name!r} here; there are: {', '.join(others) or 'none'}")
        wanted = others[name] if name else stream
        notes = journal.notes(wanted, after, limit)
        if sight.is_whole:
            found = [audit_line(sequence, note) for sequence, _, note in notes]
            return Reply(200, b'{"items":[' + b",".join(found) + b"]}")
        shown, hidden = sight.shown(notes, lambda each: place_of(each[2].body))
        found = [audit_line(sequence, without_others(note, sight)) for sequence, _, note in shown]
        last = notes[-1][0] if notes else after
        rest = b'],"hidden":%d,"last":%d}' % (hidden, last)
        return Reply(200, b'{"items":[' + b",".join(found) + rest)

    return answer


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
            **_health(plane.health, clock(), sight),
            "items": items,
        }
        return Reply(200, codec.encode(body))

    return answer


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


def health(store: Store) -> Extension:
    """/livez: the process answers. /readyz and /healthz: it also can write. One check alone has an address below."""

    def answer(path: str, query: Mapping[str, str], context: Context, sight: Sight) -> Reply:
        _, name, *below = path.split("/")
        problems = {"ping": ""}
        notes: tuple[str, ...] = ()
        if name != "livez":
            halted = store.phase in (StorePhase.HALTED, StorePhase.REREADING)
            problems["store"] = "the journal does not take writes" if halted else ""
            if store.damaged or store.lost:
                notes = tuple(damage_told(store))
        if below:
            problems = {check: problems[check] for check in below if check in problems}
            if len(problems) != len(below):
                raise NotFound(f"the server could not find the requested resource: {name} has no such check")
        excluded = set(filter(None, query.get("exclude", "").split(",")))
        return _told(name, problems, excluded, "verbose" in query, notes)

    return answer


def damage_told(store: Store) -> Iterator[str]:
    """What is known of damage, a sentence each, the first few: nobody is kept from being served by it."""
    for lost in store.lost[-_DAMAGE_SHOWN_MAX:]:
        yield f"revisions {lost.after + 1} to {lost.until - 1} were lost, as far as they were given out: {lost.why}"
    for key in sorted(store.damaged)[:_DAMAGE_SHOWN_MAX]:
        damaged = store.damaged[key]
        yield f"{describe_damage(damaged)} (known since {timestamp(damaged.since)})"
    if len(store.damaged) > _DAMAGE_SHOWN_MAX:
        yield f"{len(store.damaged) - _DAMAGE_SHOWN_MAX} more objects are damaged"


def _told(
    name: str, problems: Mapping[str, str], excluded: set[str], verbose: bool, notes: tuple[str, ...] = ()
) -> Reply:
    """Line by line, in Kubernetes' words; `ok` alone if all is well and nobody asks for more."""
    lines = []
    for check, problem in problems.items():
        if check in excluded:
            lines.append(f"[+]{check} excluded: ok")
        else:
            lines.append(f"[-]{check} failed: {problem}" if problem else f"[+]{check} ok")
    if unknown := sorted(excluded - set(problems)):
        told = ",".join(f'"{each[:_CHECK_SHOWN_MAX]}"' for each in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {told}")
    lines += [f"warn: {each}" for each in notes]
    healthy = not any(problem for check, problem in problems.items() if check not in excluded)
    if healthy and not verbose:
        return Reply(200, b"ok", _TEXT)
    lines.append(f"{name} check {'passed' if healthy else 'failed'}")
    return Reply(200 if healthy else 503, "\n".join(lines).encode() + b"\n", _TEXT)


Label = tuple[str, str]


class MetricSample(NamedTuple):
    """One number for /metrics; one of many that make up a histogram names that. `told` says what it is, in a line."""

    name: str
    value: float
    labels: tuple[Label, ...] = ()
    histogram: str = ""
    told: str = ""


def plane_samples(plane: Plane, now: float) -> Iterator[MetricSample]:
    """Leadership, and each controller's queue; all of one metric together, as the text form wants it."""
    yield MetricSample("fairlead_plane_leads", plane.leadership.leads)
    yield MetricSample("fairlead_plane_takeovers_total", plane.leadership.takeovers)
    yield MetricSample("fairlead_plane_breaker_opened_total", plane.health.breaker.opened)
    yield MetricSample("fairlead_plane_settings_generation", plane.health.settings.generation)
    yield MetricSample("fairlead_plane_retries_left", int(plane.health.budget.left(now)))
    yield MetricSample("fairlead_plane_retries_waiting", len(plane.health.budget.waiting))
    yield MetricSample("fairlead_plane_retries_held_back_total", plane.health.budget.held_back)
    yield MetricSample("fairlead_plane_write_loops", len(plane.health.writes.loops(now)))
    yield MetricSample("fairlead_plane_write_loops_total", plane.health.writes.found)
    for kind, count in plane.health.writes.found_by.items():
        yield MetricSample("fairlead_plane_loops_found_total", count, (("kind", kind),))
    yield MetricSample("fairlead_events_waiting", plane.recorder.waiting)
    yield MetricSample("fairlead_events_written_total", plane.recorder.written)
    yield MetricSample("fairlead_events_suppressed_total", plane.recorder.suppressed)
    yield MetricSample("fairlead_events_dropped_total", plane.recorder.dropped)
    yield MetricSample("fairlead_events_unknown_total", plane.recorder.unknown)
    seen = [(controller, controller.queue.snapshot(now)) for controller in plane.controllers]
    for name, read in _CONTROLLER_METRICS:
        for controller, queue in seen:
            yield MetricSample(name, read(controller, queue), (("controller", controller.decider.name),))


_CONTROLLER_METRICS: tuple[tuple[str, Callable[[Controller, QueueSnapshot[Key]], float]], ...] = (
    ("fairlead_queue_ready", lambda _, queue: queue.ready),
    ("fairlead_queue_delayed", lambda _, queue: queue.delayed),
    ("fairlead_queue_in_progress", lambda _, queue: queue.in_progress),
    ("fairlead_queue_oldest_seconds", lambda _, queue: queue.oldest_waiting_seconds),
    ("fairlead_queue_failing", lambda _, queue: queue.failing),
    ("fairlead_queue_hot", lambda _, queue: queue.held),
    ("fairlead_queue_retries_total", lambda _, queue: queue.counts.retried),
    ("fairlead_controller_decisions_total", lambda controller, _: controller.decided),
    ("fairlead_controller_conflicts_total", lambda controller, _: controller.conflicts),
    ("fairlead_controller_unknown_total", lambda controller, _: controller.unknown),
    ("fairlead_controller_stuck_total", lambda controller, _: controller.stuck),
    ("fairlead_controller_raised_total", lambda controller, _: controller.raised),
)


def metrics(read: Callable[[], Iterable[MetricSample]]) -> Extension:
    """/metrics in Prometheus' text form; a name that ends in _total is a counter, any other a gauge."""

    def answer(path: str, query: Mapping[str, str], context: Context, sight: Sight) -> Reply:
        lines: list[str] = []
        announced = ""
        for name, value, labels, histogram, described in read():
            if (histogram or name) != announced:
                announced = histogram or name
                if described:
                    lines.append(f"# HELP {announced} {described}")
                plain = "counter" if name.endswith("_total") else "gauge"
                lines.append(f"# TYPE {announced} {'histogram' if histogram else plain}")
            told = ",".join(f'{key}="{text}"' for key, text in labels)
            number = int(value) if value == int(value) else value  # whole numbers with every digit
            lines.append(f"{name}{{{told}}} {number}" if told else f"{name} {number}")
        return Reply(200, "\n".join(lines).encode() + b"\n", "text/plain; version=0.0.4; charset=utf-8")

    return answer
