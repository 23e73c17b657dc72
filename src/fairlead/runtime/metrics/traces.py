"""What becomes of spans, where traces go somewhere (`runtime/tracing/exporter.py`)."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.runtime.metrics.contract import Metric, MetricSample
from fairlead.runtime.tracing.exporter import Exporter

SENT = Metric("fairlead_trace_spans_sent_total", "Spans that the collector took.")
DROPPED = Metric(
    "fairlead_trace_spans_dropped_total", "Spans that came too fast, or that the collector did not take."
)
METRICS = (SENT, DROPPED)


def trace_samples(exporter: Exporter | None) -> Iterator[MetricSample]:
    yield SENT.sample(exporter.sent if exporter is not None else 0)
    yield DROPPED.sample(exporter.dropped if exporter is not None else 0)
