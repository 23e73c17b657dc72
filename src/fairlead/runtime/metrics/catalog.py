"""Every metric there is, and which processes tell it. The documentation's table is made of it, and tests compare it
with what running processes say.
"""

from __future__ import annotations

from typing import NamedTuple

from fairlead.runtime.metrics import (
    agent,
    flow,
    mirrors,
    objectives,
    plane,
    scheduler,
    server,
    services,
    traces,
)
from fairlead.runtime.metrics.contract import Metric

SERVER, CONTROL, AGENT = "server", "control", "agent"


class ListedMetric(NamedTuple):
    metric: Metric
    told_by: tuple[str, ...]


def _listed() -> tuple[ListedMetric, ...]:
    of_agents = {mirrors.MIRROR_REVISION, mirrors.MIRROR_FOLLOWING, mirrors.MIRROR_LAG}
    found = [ListedMetric(mirrors.BUILD, (SERVER, CONTROL, AGENT))]
    found += [ListedMetric(each, (SERVER,)) for each in (*server.METRICS, *flow.METRICS)]
    for each in (*plane.METRICS, *scheduler.METRICS, *objectives.METRICS):
        found.append(ListedMetric(each, (SERVER, CONTROL, AGENT) if each in of_agents else (SERVER, CONTROL)))
    found += [ListedMetric(each, (SERVER, CONTROL)) for each in traces.METRICS]
    found += [ListedMetric(each, (SERVER, AGENT)) for each in services.METRICS]
    found += [ListedMetric(each, (AGENT,)) for each in agent.METRICS]
    return tuple(found)


CATALOG = _listed()


def series_labels() -> dict[str, tuple[str, ...]]:
    """Every series that a server tells, by its name, but for buckets: what a runbook may name."""
    found: dict[str, tuple[str, ...]] = {}
    for metric, tellers in CATALOG:
        if SERVER in tellers:
            for suffix in ("_count", "_sum") if metric.is_histogram else ("",):
                found[f"{metric.name}{suffix}"] = metric.labels
    return found
