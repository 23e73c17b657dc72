"""The scheduler's part of /metrics, with kube-scheduler's names and labels where the meaning is the same.

Read off the plain integers of `control/tally.py` and of the queue when somebody asks. Mounted by `process.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from fairlead.control.placing import COMPONENT, Placer
from fairlead.control.stages import StageTally
from fairlead.control.tally import Distribution
from fairlead.runtime.server.extensions import Label, MetricSample
from fairlead.schedule.waiting import FLUSH, State

_PROFILE: Label = ("profile", COMPONENT)
_QUEUES = (State.ACTIVE, State.RESTING, State.WAITING)
# What wakes pods is called as in Kubernetes where Kubernetes has it; the rest goes by our own names.
_EVENTS = {
    "PodAdded": "PodAdd",
    "PodUpdated": "PodUpdate",
    "BindFailed": "ScheduleAttemptFailure",
    FLUSH: "UnschedulableTimeout",
    "pods.added": "AssignedPodAdd",
    "pods.deleted": "AssignedPodDelete",
}


def scheduler_samples(placer: Placer | None) -> Iterator[MetricSample]:
    if placer is None:
        return
    tally, waiting = placer.flights.tally, placer.waiting
    for result in tally.durations:
        labels = (_PROFILE, ("result", result))
        yield MetricSample("scheduler_schedule_attempts_total", tally.count(result), labels)
    for result, durations in tally.durations.items():
        labels = (_PROFILE, ("result", result))
        yield from _histogram("scheduler_scheduling_attempt_duration_seconds", durations, labels)
    yield from _histogram("scheduler_pod_scheduling_sli_duration_seconds", tally.pod_seconds)
    yield from _histogram("scheduler_pod_scheduling_attempts", tally.pod_attempts)
    pending = waiting.counts()
    for state in _QUEUES:
        yield MetricSample("scheduler_pending_pods", pending[state.value], (("queue", state.value),))
    yield from _incoming(placer)
    refused = Counter(plugin for _, entry in waiting.listed() for plugin in entry.refused_by)
    for plugin in placer.policy.plugins:
        labels = (("plugin", plugin.name), _PROFILE)
        yield MetricSample("scheduler_unschedulable_pods", refused[plugin.name], labels)
    yield MetricSample("scheduler_preemption_attempts_total", tally.preemptions)
    yield from _histogram("scheduler_preemption_victims", tally.victims)
    yield MetricSample("fairlead_scheduler_under_way", len(placer.flights.underway))
    yield MetricSample("fairlead_scheduler_assumed", len(placer.snapshot.assumed))
    yield MetricSample("fairlead_scheduler_conflicts_total", placer.flights.conflicts)
    yield MetricSample("fairlead_scheduler_unknown_total", placer.flights.unknown)
    yield MetricSample("fairlead_scheduler_flushes_total", waiting.incoming.get((State.ACTIVE, FLUSH), 0))
    yield MetricSample("fairlead_scheduler_flushes_needed_total", tally.flushes_needed)


def stage_samples(stages: StageTally, now: float) -> Iterator[MetricSample]:
    """How long pods take from stage to stage, and how many are on their way."""
    on_the_way, stuck = stages.on_the_way(), stages.stuck(now)
    for stage in stages.seconds:
        yield MetricSample("fairlead_pods_on_the_way", on_the_way[stage], (("stage", stage),))
    for stage in stages.seconds:
        yield MetricSample("fairlead_pods_stuck", stuck[stage], (("stage", stage),))
    for stage, seconds in stages.seconds.items():
        yield from _histogram("fairlead_pod_stage_seconds", seconds, (("stage", stage),))


def _incoming(placer: Placer) -> Iterator[MetricSample]:
    counts: Counter[tuple[str, str]] = Counter({(State.ACTIVE.value, "PodAdd"): 0})
    for (state, cause), number in placer.waiting.incoming.items():
        counts[state.value, _EVENTS.get(cause, cause)] += number
    for (queue, event), number in sorted(counts.items()):
        yield MetricSample(
            "scheduler_queue_incoming_pods_total", number, (("event", event), ("queue", queue))
        )


def _histogram(name: str, values: Distribution, labels: tuple[Label, ...] = ()) -> Iterator[MetricSample]:
    below = 0
    for bound, number in zip((*values.bounds, None), values.counts, strict=True):
        below += number
        at_most = ("le", "+Inf" if bound is None else f"{bound:g}")
        yield MetricSample(f"{name}_bucket", below, (*labels, at_most), name)
    yield MetricSample(f"{name}_sum", values.total, labels, name)
    yield MetricSample(f"{name}_count", below, labels, name)
