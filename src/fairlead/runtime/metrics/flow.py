"""The part of /metrics about whose turn it is, with kube-apiserver's names and labels where the meaning is the same.

Read off the plain numbers of `api/flow/machine.py` when somebody asks. Called by `server.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fairlead.api.flow.counts import FlowCounts
from fairlead.api.flow.machine import FlowMachine
from fairlead.queue.histogram import BOUNDS_SECONDS
from fairlead.runtime.metrics.contract import Metric, MetricSample
from fairlead.wire.flow_driver import Turns

_PREFIX = "apiserver_flowcontrol"
_FLOW = ("flow_schema", "priority_level")
_LEVEL = ("priority_level",)
_BY_FLOW: tuple[tuple[Metric, Callable[[FlowCounts], float]], ...] = (
    (
        Metric(f"{_PREFIX}_dispatched_requests_total", "Requests whose turn came.", _FLOW),
        lambda counts: counts.dispatched,
    ),
    (
        Metric(f"{_PREFIX}_current_inqueue_requests", "Requests that wait for their turn now.", _FLOW),
        lambda counts: counts.waiting,
    ),
    (
        Metric(f"{_PREFIX}_current_executing_requests", "Requests begun and not answered yet.", _FLOW),
        lambda counts: counts.executing,
    ),
)
REJECTED = Metric(
    f"{_PREFIX}_rejected_requests_total",
    "Requests that were not served: queue-full, concurrency-limit, time-out (429), cancelled (their client left).",
    (*_FLOW, "reason"),
)
_BY_LEVEL: tuple[tuple[Metric, Callable[[FlowMachine[Any], str], float]], ...] = (
    (
        Metric(f"{_PREFIX}_nominal_limit_seats", "Seats a level has for itself.", _LEVEL),
        lambda machine, level: machine.seats_of(level).nominal,
    ),
    (
        Metric(f"{_PREFIX}_upper_limit_seats", "Seats a level has when it borrows all that it may.", _LEVEL),
        lambda machine, level: machine.seats_of(level).nominal + machine.seats_of(level).borrowable,
    ),
    (
        Metric(f"{_PREFIX}_current_executing_seats", "Seats that a level's requests hold now.", _LEVEL),
        lambda machine, level: machine.seats_held(level),
    ),
)
WAITED = Metric(
    f"{_PREFIX}_request_wait_duration_seconds",
    "How long requests waited for their turn, those that did not wait included.",
    _FLOW,
    is_histogram=True,
)
METRICS = (*(metric for metric, _ in _BY_FLOW), REJECTED, *(metric for metric, _ in _BY_LEVEL), WAITED)


def flow_samples(turns: Turns) -> Iterator[MetricSample]:
    machine = turns.machine
    flows = [((schema, level), counts) for (level, schema), counts in sorted(machine.counts.items())]
    for metric, read in _BY_FLOW:
        for labels, counts in flows:
            yield metric.sample(read(counts), *labels)
    for labels, counts in flows:
        refused = {**counts.refused, "cancelled": counts.cancelled}
        for reason, number in sorted(refused.items()):
            yield REJECTED.sample(number, *labels, reason)
    for level_metric, read_level in _BY_LEVEL:
        for level in sorted(each.name for each in turns.levels.values()):
            yield level_metric.sample(read_level(machine, level), level)
    for labels, counts in flows:
        waited = counts.waited  # of those whose turn came; most did not wait at all
        yield from WAITED.histogram(
            BOUNDS_SECONDS, waited.counts, waited.seconds, *labels, below=counts.at_once
        )
