"""The scheduler's part of /metrics, with kube-scheduler's names and labels where the meaning is the same.

Read off the plain integers of `control/placement_tally.py` and of the queue when somebody asks. Called by `plane.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from fairlead.control.placement_tally import Distribution
from fairlead.control.placing import COMPONENT, Placer
from fairlead.control.stages import StageTally
from fairlead.runtime.metrics.contract import Metric, MetricSample
from fairlead.schedule.waiting import FLUSH, State

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


_PROFILE = "profile"
ATTEMPTS = Metric(
    "scheduler_schedule_attempts_total",
    "Attempts to place a pod: scheduled (bound), unschedulable (refused, and told), error (neither could be done).",
    (_PROFILE, "result"),
)
ATTEMPT_DURATION = Metric(
    "scheduler_scheduling_attempt_duration_seconds",
    "From taking a pod from the queue to knowing what came of it, binding included.",
    (_PROFILE, "result"),
    is_histogram=True,
)
POD_DURATION = Metric(
    "scheduler_pod_scheduling_sli_duration_seconds",
    "From first seeing a pod without a node to its binding.",
    is_histogram=True,
)
POD_ATTEMPTS = Metric(
    "scheduler_pod_scheduling_attempts", "Attempts it took to bind a pod.", is_histogram=True
)
PENDING = Metric(
    "scheduler_pending_pods",
    "Pods without a node: active (next), backoff (refused lately), unschedulable (nothing that could help happened).",
    ("queue",),
)
INCOMING = Metric(
    "scheduler_queue_incoming_pods_total",
    "Pods that came into a queue; events without a name in Kubernetes go by ours (nodes).",
    ("event", "queue"),
)
UNSCHEDULABLE = Metric(
    "scheduler_unschedulable_pods", "Pods that a plugin refused at their last attempt.", ("plugin", _PROFILE)
)
PREEMPTIONS = Metric("scheduler_preemption_attempts_total", "Attempts that looked for pods to evict.")
VICTIMS = Metric(
    "scheduler_preemption_victims",
    "Pods chosen to make room, per attempt that chose any.",
    is_histogram=True,
)
UNDER_WAY = Metric("fairlead_scheduler_under_way", "Bindings and refusals on their way to the API.")
ASSUMED = Metric(
    "fairlead_scheduler_assumed", "Pods that count as placed or nominated though no mirror shows it yet."
)
CONFLICTS = Metric(
    "fairlead_scheduler_conflicts_total", "What was decided for a pod and could not be carried out."
)
UNKNOWN = Metric(
    "fairlead_scheduler_unknown_total", "Bindings whose outcome had to be looked up more than once."
)
FLUSHES = Metric("fairlead_scheduler_flushes_total", "Pods tried again for no other cause than a long wait.")
FLUSHES_NEEDED = Metric(
    "fairlead_scheduler_flushes_needed_total",
    "Those of them that were then bound: each is a cause that a plugin did not name.",
)
_STAGE = ("stage",)
ON_THE_WAY = Metric(
    "fairlead_pods_on_the_way", "Pods that are not ready yet, by the last stage they reached.", _STAGE
)
STUCK = Metric(
    "fairlead_pods_stuck",
    "Pods that have been at their stage for longer than its limit (PlaneSettings).",
    _STAGE,
)
STAGE_LIMIT = Metric("fairlead_pod_stage_limit_seconds", "How long a pod may stay at a stage.", _STAGE)
EXCEEDED = Metric(
    "fairlead_pod_stage_exceeded_total",
    "Stays at a stage that had lasted longer than its limit at their end.",
    _STAGE,
)
STAGE_DURATION = Metric(
    "fairlead_pod_stage_seconds",
    "How long pods stayed at a stage before they reached the next.",
    _STAGE,
    is_histogram=True,
)
METRICS = (
    ATTEMPTS,
    ATTEMPT_DURATION,
    POD_DURATION,
    POD_ATTEMPTS,
    PENDING,
    INCOMING,
    UNSCHEDULABLE,
    PREEMPTIONS,
    VICTIMS,
    UNDER_WAY,
    ASSUMED,
    CONFLICTS,
    UNKNOWN,
    FLUSHES,
    FLUSHES_NEEDED,
    ON_THE_WAY,
    STUCK,
    STAGE_LIMIT,
    EXCEEDED,
    STAGE_DURATION,
)


def scheduler_samples(placer: Placer | None) -> Iterator[MetricSample]:
    if placer is None:
        return
    tally, waiting = placer.flights.tally, placer.waiting
    for result in tally.durations:
        yield ATTEMPTS.sample(tally.count(result), COMPONENT, result)
    for result, durations in tally.durations.items():
        yield from _histogram(ATTEMPT_DURATION, durations, COMPONENT, result)
    yield from _histogram(POD_DURATION, tally.pod_seconds)
    yield from _histogram(POD_ATTEMPTS, tally.pod_attempts)
    pending = waiting.counts()
    for state in _QUEUES:
        yield PENDING.sample(pending[state.value], state.value)
    yield from _incoming(placer)
    refused = Counter(plugin for _, entry in waiting.listed() for plugin in entry.refused_by)
    for plugin in placer.policy.plugins:
        yield UNSCHEDULABLE.sample(refused[plugin.name], plugin.name, COMPONENT)
    yield PREEMPTIONS.sample(tally.preemptions)
    yield from _histogram(VICTIMS, tally.victims)
    yield UNDER_WAY.sample(len(placer.flights.underway))
    yield ASSUMED.sample(len(placer.snapshot.assumed))
    yield CONFLICTS.sample(placer.flights.conflicts)
    yield UNKNOWN.sample(placer.flights.unknown)
    yield FLUSHES.sample(waiting.incoming.get((State.ACTIVE, FLUSH), 0))
    yield FLUSHES_NEEDED.sample(tally.flushes_needed)


def stage_samples(stages: StageTally, now: float) -> Iterator[MetricSample]:
    """How long pods take from stage to stage, and how many are on their way."""
    on_the_way, stuck = stages.on_the_way(), stages.stuck(now)
    for stage in stages.seconds:
        yield ON_THE_WAY.sample(on_the_way[stage], stage)
    for stage in stages.seconds:
        yield STUCK.sample(stuck[stage], stage)
    for stage, limit in stages.limits.items():
        yield STAGE_LIMIT.sample(limit, stage)
    for stage, number in stages.exceeded.items():
        yield EXCEEDED.sample(number, stage)
    for stage, seconds in stages.seconds.items():
        yield from _histogram(STAGE_DURATION, seconds, stage)


def _incoming(placer: Placer) -> Iterator[MetricSample]:
    counts: Counter[tuple[str, str]] = Counter({(State.ACTIVE.value, "PodAdd"): 0})
    for (state, cause), number in placer.waiting.incoming.items():
        counts[state.value, _EVENTS.get(cause, cause)] += number
    for (queue, event), number in sorted(counts.items()):
        yield INCOMING.sample(number, event, queue)


def _histogram(metric: Metric, values: Distribution, *labels: str) -> Iterator[MetricSample]:
    return metric.histogram(values.bounds, values.counts, values.total, *labels)
