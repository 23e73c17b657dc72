"""What a server counts of itself, for `/metrics`. Called by `server.py` when somebody asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fairlead.api.audit import Audit
from fairlead.control.plane import Plane
from fairlead.runtime import extensions
from fairlead.runtime.answering import Answering
from fairlead.runtime.clock import Clock
from fairlead.runtime.extensions import Sample
from fairlead.runtime.node_connections import NodeConnections
from fairlead.runtime.scheduler_metrics import scheduler_samples, stage_samples
from fairlead.store.machine import Store
from fairlead.store.watch import Hub
from fairlead.wire.listener import Listener
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
) -> Iterator[Sample]:
    """`requests`: how many were answered, by verb, resource and code."""
    yield Sample("fairlead_store_revision", store.revision)
    yield Sample("fairlead_store_pending", store.pending)
    yield Sample("fairlead_store_short_of_room", int(bool(store.short)))
    yield Sample("fairlead_store_damaged_objects", len(store.damaged))
    yield Sample("fairlead_store_lost_revisions", sum(each.until - each.after - 1 for each in store.lost))
    yield Sample("fairlead_store_appends_total", store.appends)
    yield Sample("fairlead_store_appends_failed_total", store.appends_failed)
    yield Sample("fairlead_store_changes_committed_total", store.committed)
    yield Sample("fairlead_store_transactions_refused_total", store.refused)
    yield Sample("fairlead_watches_open", len(watches))
    yield Sample("fairlead_watches_cut_total", hub.cuts + watches.fanout.cuts)
    yield Sample("fairlead_watch_bytes_held", watches.fanout.budget.held)
    yield Sample("fairlead_logs_open", len(node_connections))
    yield Sample("fairlead_connections_open", len(listener))
    yield Sample("fairlead_connections_displaced_total", listener.displaced)
    yield Sample("fairlead_handshakes_open", len(listener.arriving))
    yield Sample("fairlead_handshakes_ended_total", listener.arriving.ended)
    yield Sample("fairlead_body_bytes_held", listener.bodies.held)
    yield Sample("fairlead_bodies_refused_total", listener.bodies.refused)
    yield Sample("fairlead_clock_ahead_seconds", round(clock.ahead_seconds, 3))
    yield Sample("fairlead_clock_steps_total", clock.steps)
    for (verb, resource, role), count in sorted(audit.counters.items()):
        labels = (("verb", verb), ("resource", resource), ("role", role))
        yield Sample("fairlead_audit_counted_total", count, labels)
    for stream, count in audit.suppressed.items():
        yield Sample("fairlead_audit_suppressed_total", count, (("stream", stream),))
    yield Sample("fairlead_audit_unrecorded_total", audit.unrecorded)
    yield from extensions.plane_samples(plane, clock())
    yield from scheduler_samples(plane.placer)
    yield from stage_samples(plane.stages, clock())
    yield Sample("fairlead_answers_under_way", answering.under_way)
    yield Sample("fairlead_answers_given_total", answering.given)
    yield Sample("fairlead_answers_refused_total", answering.refused)
    for (verb, resource, code), count in sorted(requests.items()):
        labels = (("verb", verb), ("resource", resource), ("code", str(code)))
        yield Sample("apiserver_request_total", count, labels)
