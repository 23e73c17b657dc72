"""Which documents a server gives, and who may read them: discovery, health, metrics, logs, explanations.

Called once by `serving.py`. Resources are not among them: those are the API's (`api/server.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fairlead.api.access.reviews import REVIEWS
from fairlead.api.audit import recording as audit
from fairlead.api.desk import Desk
from fairlead.api.discovery import Discovery, Virtual
from fairlead.api.empty_kinds import EMPTY
from fairlead.api.empty_kinds import VERBS as READS
from fairlead.api.metrics import METRICS, VERBS
from fairlead.control.diagnosis import Check
from fairlead.explain.sources import Sources
from fairlead.runtime.metrics.contract import MetricSample
from fairlead.runtime.server import (
    couplings,
    decided,
    explanations,
    extensions,
    histories,
    plane_reports,
    tenants,
    timelines,
)
from fairlead.runtime.server.answering import Answering
from fairlead.runtime.server.decision_lines import decision_lines
from fairlead.runtime.server.health import health
from fairlead.runtime.server.plane_reports import PlaneReports
from fairlead.runtime.server.version import git_version, version_document
from fairlead.store.machine import Store
from fairlead.wire.documents import Asked, Documents, Mounted
from fairlead.wire.openapi import OpenApi


def mount_documents(
    desk: Desk,
    store: Store,
    answering: Answering,
    samples: Callable[[], Iterable[MetricSample]],
    checks: Callable[[], tuple[Check, ...]],
    address: str,
    sources: Sources,
    reports: PlaneReports,
) -> Documents:
    """`address`: where the server listens; `samples`: what /metrics tells; `checks`: whether the plane works;
    `reports`: what planes in other processes tell."""
    virtual = [Virtual(r.group, r.version, r.plural, r.kind, r.namespaced, r.verbs) for r in REVIEWS]
    answered = [(k, VERBS) for k in METRICS] + [(k, READS) for k in EMPTY]
    virtual += [Virtual(k.group, k.version, k.plural, k.kind, k.namespaced, v) for k, v in answered]
    healthy = health(store, checks)
    journal = sources.journal
    tenant = tenants.any_tenant(desk.grants)
    lines = extensions.lines(journal, audit.STREAM, {"strangers": audit.STRANGERS})
    return Documents(
        Discovery(desk.catalog, virtual),
        desk.authorizer,
        address,
        version_document(),
        OpenApi(desk.catalog, desk.tables, git_version()),
        {
            "/readyz": Mounted(healthy),
            "/livez": Mounted(healthy),
            "/healthz": Mounted(healthy),
            "/metrics": Mounted(extensions.metrics(samples)),
            extensions.AUDIT: Mounted(lines, tenant),
            extensions.DECISIONS: Mounted(decision_lines(journal, sources.index, answering), tenant),
            extensions.QUEUES: Mounted(
                extensions.queues(sources.plane_now, sources.clock, reports.queues, store), tenant
            ),
            extensions.REVISION: Mounted(extensions.revisions(journal, store), tenant),
            histories.HISTORY: Mounted(histories.histories(store, journal, desk.catalog, answering)),
            couplings.COUPLING: Mounted(couplings.couplings(sources, answering), tenant),
            explanations.EXPLAIN: Mounted(
                explanations.explanations(sources, answering),
                tenants.who_may_get_the_pod(explanations.EXPLAIN),
            ),
            explanations.WHY_NOT: Mounted(
                explanations.objections(sources, answering),
                tenants.who_may_get_the_pod(explanations.WHY_NOT),
            ),
            decided.DECIDED: Mounted(
                decided.decided(sources, answering), timelines.who_may_get_it(decided.DECIDED)
            ),
            timelines.TIMELINE: Mounted(
                timelines.timelines(sources, answering), timelines.who_may_get_it(timelines.TIMELINE)
            ),
            timelines.DEBUG: Mounted(
                timelines.debug_views(sources, answering), timelines.who_may_get_it(timelines.DEBUG)
            ),
        },
        {
            explanations.PLAN: Asked(explanations.plans(sources, answering), tenants.who_may_create_the_pods),
            plane_reports.PLANES: Asked(reports.answer),
        },
    )
