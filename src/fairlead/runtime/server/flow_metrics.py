"""The part of /metrics about whose turn it is, with kube-apiserver's names and labels where the meaning is the same.

Read off the plain numbers of `api/flow/machine.py` when somebody asks. Called by `metrics.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fairlead.api.flow.counts import FlowCounts
from fairlead.api.flow.levels import Level
from fairlead.queue.histogram import BOUNDS_SECONDS
from fairlead.runtime.server.extensions import Label, MetricSample
from fairlead.wire.turns import Turns

_PREFIX = "apiserver_flowcontrol"
_BY_FLOW: tuple[tuple[str, Callable[[FlowCounts], float], str], ...] = (
    ("dispatched_requests_total", lambda counts: counts.dispatched, "Requests whose turn came."),
    ("current_inqueue_requests", lambda counts: counts.waiting, "Requests that wait for their turn now."),
    ("current_executing_requests", lambda counts: counts.executing, "Requests begun and not answered yet."),
)
_REJECTED = f"{_PREFIX}_rejected_requests_total"
_WAITED = f"{_PREFIX}_request_wait_duration_seconds"


def flow_samples(turns: Turns) -> Iterator[MetricSample]:
    machine = turns.machine
    flows = [
        ((("flow_schema", schema), ("priority_level", level)), counts)
        for (level, schema), counts in sorted(machine.counts.items())
    ]
    for name, read, told in _BY_FLOW:
        for labels, counts in flows:
            yield MetricSample(f"{_PREFIX}_{name}", read(counts), labels, told=told)
    for labels, counts in flows:
        refused = {**counts.refused, "cancelled": counts.cancelled}
        for reason, number in sorted(refused.items()):
            told = "Requests that were not served, and why; cancelled: their client left."
            yield MetricSample(_REJECTED, number, (*labels, ("reason", reason)), told=told)
    levels = sorted(turns.levels.values(), key=lambda level: level.name)
    yield from _by_level(
        levels,
        "nominal_limit_seats",
        lambda name: machine.seats_of(name).nominal,
        "Seats a level has for itself.",
    )
    yield from _by_level(
        levels,
        "upper_limit_seats",
        lambda name: machine.seats_of(name).nominal + machine.seats_of(name).borrowable,
        "Seats a level has when it borrows all that it may.",
    )
    yield from _by_level(
        levels, "current_executing_seats", machine.seats_held, "Seats that a level's requests hold now."
    )
    for labels, counts in flows:
        yield from _waited(labels, counts)


def _by_level(
    levels: list[Level], name: str, read: Callable[[str], float], told: str
) -> Iterator[MetricSample]:
    for level in levels:
        label = (("priority_level", level.name),)
        yield MetricSample(f"{_PREFIX}_{name}", read(level.name), label, told=told)


def _waited(labels: tuple[Label, ...], counts: FlowCounts) -> Iterator[MetricSample]:
    """Of those whose turn came; most did not wait at all."""
    told = "How long requests waited for their turn, those that did not wait included."
    below = counts.at_once
    for bound, number in zip((*BOUNDS_SECONDS, None), counts.waited.counts, strict=True):
        below += number
        at_most = ("le", "+Inf" if bound is None else f"{bound:g}")
        yield MetricSample(f"{_WAITED}_bucket", below, (*labels, at_most), _WAITED, told)
    yield MetricSample(f"{_WAITED}_sum", round(counts.waited.seconds, 6), labels, _WAITED, told)
    yield MetricSample(f"{_WAITED}_count", below, labels, _WAITED, told)
