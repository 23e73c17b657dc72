"""What a server counts of itself, for `/metrics`: the store, connections, watches, audit, requests, and its plane.

Called by `runtime/server/serving.py` when somebody asks; all it reads are plain numbers that are there anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from fairlead.api.audit.recording import Audit
from fairlead.cache.lag import MirrorLag
from fairlead.control.diagnosis import Check
from fairlead.control.plane import Plane
from fairlead.runtime.clock import Clock
from fairlead.runtime.metrics.contract import Metric, MetricSample
from fairlead.runtime.metrics.flow import flow_samples
from fairlead.runtime.metrics.mirrors import BUILD
from fairlead.runtime.metrics.plane import plane_samples
from fairlead.runtime.metrics.services import service_samples
from fairlead.runtime.metrics.traces import trace_samples
from fairlead.runtime.server.answering import Answering
from fairlead.runtime.server.monitoring import Monitoring
from fairlead.runtime.server.node_connections import NodeConnections
from fairlead.runtime.server.routes import ServerRoutes
from fairlead.runtime.tracing.exporter import Exporter
from fairlead.store.machine import Store
from fairlead.store.watch import Hub
from fairlead.wire.flow_driver import Turns
from fairlead.wire.latency import BOUNDS_SECONDS, Latencies
from fairlead.wire.listener import Listener
from fairlead.wire.watching import Watches

AUDIT_COUNTED = Metric(
    "fairlead_audit_counted_total",
    "Writes that audit counts instead of recording (heartbeats, the plane's own Events).",
    ("verb", "resource", "role"),
)
AUDIT_SUPPRESSED = Metric(
    "fairlead_audit_suppressed_total",
    "Refusals, and reads, beyond the budget of who made them; audit-strangers: of those who are not signed in.",
    ("stream",),
)
VIOLATIONS = Metric(
    "fairlead_invariant_violations_total",
    "Commits that broke an invariant; any is worth an alert.",
    ("invariant",),
)
REQUESTS = Metric(
    "apiserver_request_total",
    "Answers; what is no resource (discovery, health, metrics) has the verb document.",
    ("verb", "resource", "code"),
)
DURATIONS = Metric(
    "apiserver_request_duration_seconds",
    "From the whole request to its answer, waiting for its turn included; not of watches and other streams.",
    ("verb", "resource"),
    is_histogram=True,
)


@dataclass(frozen=True, slots=True)
class MeasuredParts:
    """The parts of a server that have something to tell."""

    version: str
    store: Store
    audit: Audit
    hub: Hub
    watches: Watches
    node_connections: NodeConnections
    listener: Listener
    clock: Clock
    plane: Plane
    lags: Mapping[str, MirrorLag]
    checks: tuple[Check, ...]
    planes_replaced: int
    answering: Answering
    requests: Mapping[tuple[str, str, int], int]
    latencies: Latencies
    turns: Turns
    routes: ServerRoutes | None
    exporter: Exporter | None
    monitoring: Monitoring


_Read = Callable[[MeasuredParts], float]
_PLAIN: tuple[tuple[Metric, _Read], ...] = tuple(
    (Metric(name, told), read)
    for name, told, read in (
        ("fairlead_store_revision", "The newest durable revision.", lambda of: of.store.revision),
        (
            "fairlead_store_pending",
            "Writes that wait for the disk; beyond the bound they are answered with 429.",
            lambda of: of.store.pending,
        ),
        (
            "fairlead_store_short_of_room",
            "1 while the disk is full and only leases, overrides, runs of runbooks and deletions are written.",
            lambda of: int(bool(of.store.short)),
        ),
        (
            "fairlead_store_damaged_objects",
            "Objects of which only a stand-in is left: `fairlead check` names them.",
            lambda of: len(of.store.damaged),
        ),
        (
            "fairlead_store_lost_revisions",
            "Revisions that were lost with changes, as far as they were given out.",
            lambda of: sum(each.until - each.after - 1 for each in of.store.lost),
        ),
        ("fairlead_store_appends_total", "Commits to disk since the start.", lambda of: of.store.appends),
        (
            "fairlead_store_appends_failed_total",
            "Commits that failed; any is worth an alert.",
            lambda of: of.store.appends_failed,
        ),
        (
            "fairlead_store_changes_committed_total",
            "Changes made durable since the start; divided by the appends it is the size of a group commit.",
            lambda of: of.store.committed,
        ),
        (
            "fairlead_store_transactions_refused_total",
            "Writes refused because a precondition did not hold (conflicts, names that exist).",
            lambda of: of.store.refused,
        ),
        ("fairlead_watches_open", "Open watch streams.", lambda of: len(of.watches)),
        (
            "fairlead_watches_cut_total",
            "Watchers cut because they did not keep up.",
            lambda of: of.hub.cuts + of.watches.fanout.cuts,
        ),
        (
            "fairlead_watch_bytes_held",
            "Set aside for watches whose clients do not read what they were sent.",
            lambda of: of.watches.fanout.budget.held,
        ),
        (
            "fairlead_logs_open",
            "Logs of pods that are being passed on from their nodes.",
            lambda of: len(of.node_connections),
        ),
        (
            "fairlead_connections_open",
            "Connections that are through with TLS.",
            lambda of: len(of.listener),
        ),
        (
            "fairlead_connections_displaced_total",
            "Connections without a known user that gave way to new ones, because there was no room.",
            lambda of: of.listener.displaced,
        ),
        (
            "fairlead_handshakes_open",
            "Connections that have not finished TLS.",
            lambda of: len(of.listener.arriving),
        ),
        (
            "fairlead_handshakes_ended_total",
            "Connections that ended before they had finished TLS: no TLS, too slow, gone, or they gave way.",
            lambda of: of.listener.arriving.ended,
        ),
        (
            "fairlead_body_bytes_held",
            "Bytes of the bodies of requests that are being received or answered.",
            lambda of: of.listener.bodies.held,
        ),
        (
            "fairlead_bodies_refused_total",
            "Bodies that were refused (429), because those of all requests together took too much.",
            lambda of: of.listener.bodies.refused,
        ),
        (
            "fairlead_clock_ahead_seconds",
            "How far the wall clock is ahead of the steady time the server dates by; negative: behind.",
            lambda of: round(of.clock.ahead_seconds, 3),
        ),
        (
            "fairlead_clock_steps_total",
            "How often the wall clock was set by a second or more since the start.",
            lambda of: of.clock.steps,
        ),
        (
            "fairlead_audit_unrecorded_total",
            "Lines that the journal did not take, as on a full disk: reads of Secrets and refusals go on there.",
            lambda of: of.audit.unrecorded,
        ),
        (
            "fairlead_planes_replaced_total",
            "Planes of this server that failed and had another put in their place; the log has the traceback.",
            lambda of: of.planes_replaced,
        ),
        (
            "fairlead_monitor_commits_total",
            "Commits that monitors looked at.",
            lambda of: of.monitoring.looked_at,
        ),
        (
            "fairlead_monitor_commits_dropped_total",
            "Commits that came faster than monitors may look, and were not looked at.",
            lambda of: of.monitoring.dropped,
        ),
        (
            "fairlead_answers_under_way",
            "Explanations and plans that are being computed beside the server.",
            lambda of: of.answering.under_way,
        ),
        (
            "fairlead_answers_given_total",
            "Explanations and plans that were given, refusals included.",
            lambda of: of.answering.given,
        ),
        (
            "fairlead_answers_refused_total",
            "Explanations and plans that were one too many at a time (429).",
            lambda of: of.answering.refused,
        ),
    )
)
METRICS = (
    VIOLATIONS,
    AUDIT_COUNTED,
    AUDIT_SUPPRESSED,
    REQUESTS,
    DURATIONS,
    *(metric for metric, _ in _PLAIN),
)


def server_samples(of: MeasuredParts) -> Iterator[MetricSample]:
    yield BUILD.sample(1, of.version)
    for metric, read in _PLAIN:
        yield metric.sample(read(of))
    for (verb, resource, role), count in sorted(of.audit.counters.items()):
        yield AUDIT_COUNTED.sample(count, verb, resource, role)
    for stream, count in of.audit.suppressed.items():
        yield AUDIT_SUPPRESSED.sample(count, stream)
    for invariant, count in sorted(of.monitoring.violations.items()):
        yield VIOLATIONS.sample(count, invariant)
    yield from plane_samples(of.plane, of.lags, of.checks, of.clock())
    yield from flow_samples(of.turns)
    yield from trace_samples(of.exporter)
    if of.routes is not None:
        yield from service_samples(of.routes.proxy)
    for (verb, resource, code), count in sorted(of.requests.items()):
        yield REQUESTS.sample(count, verb, resource, str(code))
    for (verb, resource), each in sorted(of.latencies.seconds.items()):
        yield from DURATIONS.histogram(BOUNDS_SECONDS, each.counts, each.total, verb, resource)
