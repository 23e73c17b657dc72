"""What the proxies of Services count, of an agent and of a server beside local nodes (`runtime/node/service_proxy.py`).

An address of a Service is served by one process of a machine at a time: sums over all of them count each once.
"""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.runtime.metrics.contract import Metric, MetricSample
from fairlead.runtime.node.service_proxy import ServiceProxy

_SERVICE = ("service",)
OPEN = Metric("fairlead_service_connections_open", "Connections that this proxy passes on now.")
CONNECTIONS = Metric(
    "fairlead_service_connections_total", "Connections to a port of a Service that this proxy took.", _SERVICE
)
ERRORS = Metric(
    "fairlead_service_errors_total",
    "Connections that were reset: no-endpoint (the Service has none ready), refused (none of them took it).",
    (*_SERVICE, "reason"),
)
RETRIED = Metric("fairlead_service_backends_refused_total", "Endpoints that did not take a connection.")
METRICS = (OPEN, CONNECTIONS, ERRORS, RETRIED)


def service_samples(proxy: ServiceProxy) -> Iterator[MetricSample]:
    yield OPEN.sample(proxy.connections)
    yield RETRIED.sample(proxy.retried)
    counted = sorted(proxy.counts(), key=lambda each: each[0])
    for service, counts in counted:
        yield CONNECTIONS.sample(counts.accepted, service)
    for service, counts in counted:
        yield ERRORS.sample(counts.no_endpoint, service, "no-endpoint")
        yield ERRORS.sample(counts.unanswered, service, "refused")
