"""What a server counts of itself, for `/metrics`. Called by `process.py` when somebody asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fairlead.api.audit.recording import Audit
from fairlead.control.plane import Plane
from fairlead.runtime.clock import Clock
from fairlead.runtime.server import extensions
from fairlead.runtime.server.answering import Answering
from fairlead.runtime.server.extensions import MetricSample
from fairlead.runtime.server.flow_metrics import flow_samples
from fairlead.runtime.server.monitoring import Monitoring
from fairlead.runtime.server.node_connections import NodeConnections
from fairlead.runtime.server.scheduler_metrics import scheduler_samples, stage_samples
from fairlead.store.machine import Store
from fairlead.store.watch import Hub
from fairlead.wire.listener import Listener
from fairlead.wire.turns import Turns
from fairlead.wire.watching import Watches


def server_samples(
    *,
    store: Store,
    audit: Audit,
    hub: Hub,
    watches: Watches,
    node_connections: NodeConnections,
    listener: Listener,
    clock: Clock,
    plane: Plane,
    answering: Answering,
    requests: Mapping[tuple[str, str, int], int],
    turns: Turns,
    monitoring: Monitoring,
) -> Iterator[MetricSample]:
    """`requests`: how many were answered, by verb, resource and code."""
    yield MetricSample("fairlead_store_revision", store.revision)
    yield MetricSample("fairlead_store_pending", store.pending)
    yield MetricSample("fairlead_store_short_of_room", int(bool(store.short)))
    yield MetricSample("fairlead_store_damaged_objects", len(store.damaged))
    yield MetricSample(
        "fairlead_store_lost_revisions", sum(each.until - each.after - 1 for each in store.lost)
    )
    yield MetricSample("fairlead_store_appends_total", store.appends)
    yield MetricSample("fairlead_store_appends_failed_total", store.appends_failed)
    yield MetricSample("fairlead_store_changes_committed_total", store.committed)
    yield MetricSample("fairlead_store_transactions_refused_total", store.refused)
    yield MetricSample("fairlead_watches_open", len(watches))
    yield MetricSample("fairlead_watches_cut_total", hub.cuts + watches.fanout.cuts)
    yield MetricSample("fairlead_watch_bytes_held", watches.fanout.budget.held)
    yield MetricSample("fairlead_logs_open", len(node_connections))
    yield MetricSample("fairlead_connections_open", len(listener))
    yield MetricSample("fairlead_connections_displaced_total", listener.displaced)
    yield MetricSample("fairlead_handshakes_open", len(listener.arriving))
    yield MetricSample("fairlead_handshakes_ended_total", listener.arriving.ended)
    yield MetricSample("fairlead_body_bytes_held", listener.bodies.held)
    yield MetricSample("fairlead_bodies_refused_total", listener.bodies.refused)
    yield MetricSample("fairlead_clock_ahead_seconds", round(clock.ahead_seconds, 3))
    yield MetricSample("fairlead_clock_steps_total", clock.steps)
    for (verb, resource, role), count in sorted(audit.counters.items()):
        labels = (("verb", verb), ("resource", resource), ("role", role))
        yield MetricSample("fairlead_audit_counted_total", count, labels)
    for stream, count in audit.suppressed.items():
        yield MetricSample("fairlead_audit_suppressed_total", count, (("stream", stream),))
    yield MetricSample("fairlead_audit_unrecorded_total", audit.unrecorded)
    yield from extensions.plane_samples(plane, clock())
    yield from scheduler_samples(plane.placer)
    yield from stage_samples(plane.stages, clock())
    yield MetricSample("fairlead_answers_under_way", answering.under_way)
    yield MetricSample("fairlead_answers_given_total", answering.given)
    yield MetricSample("fairlead_answers_refused_total", answering.refused)
    for invariant, count in sorted(monitoring.violations.items()):
        yield MetricSample("fairlead_invariant_violations_total", count, (("invariant", invariant),))
    yield MetricSample("fairlead_monitor_commits_total", monitoring.looked_at)
    yield MetricSample("fairlead_monitor_commits_dropped_total", monitoring.dropped)
    yield from flow_samples(turns)
    for (verb, resource, code), count in sorted(requests.items()):
        labels = (("verb", verb), ("resource", resource), ("code", str(code)))
        yield MetricSample("apiserver_request_total", count, labels)
