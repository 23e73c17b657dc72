"""Which objects their controllers have not reported on yet: those whose status is of an older generation than the spec.

Fed by `object_tallies.py` with every change of such an object. One whose status is behind counts from when this plane
first saw it so, and anew from its next change of the spec; what is up to date costs nothing. Read by metrics.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fairlead.model.key import Key
from fairlead.model.views import (
    AUTOSCALERS,
    BUDGETS,
    DAEMONSETS,
    DEPLOYMENTS,
    EVIDENCE_POLICIES,
    OVERRIDES,
    PLACEMENT_QUOTAS,
    PLANE_SETTINGS,
    REPLICASETS,
    RESERVATIONS,
    SCHEDULING_POLICIES,
    STATEFULSETS,
    Autoscaler,
    DaemonSet,
    Deployment,
    DisruptionBudget,
    EvidencePolicy,
    PlacementQuota,
    PlaneSettings,
    ReplicaSet,
    Reservation,
    SchedulerOverride,
    SchedulingPolicy,
    StatefulSet,
    View,
)
from fairlead.model.views.objectives import OBJECTIVES, ServiceLevelObjective
from fairlead.model.views.runbooks import RUNBOOK_RUNS, RunbookRun

#: bound: plane | objects remembered whose status is behind | not counted
GAPS_MAX = 100_000
# Whose status says of which generation it is, and who writes it.
REPORTERS = {
    AUTOSCALERS.name: "autoscaler",
    BUDGETS.name: "disruption",
    DAEMONSETS.name: "daemonset",
    DEPLOYMENTS.name: "deployment",
    EVIDENCE_POLICIES.name: "evidence-policy",
    OVERRIDES.name: "overrides",
    PLACEMENT_QUOTAS.name: "placement-quota",
    PLANE_SETTINGS.name: "plane-settings",
    REPLICASETS.name: "replicaset",
    RESERVATIONS.name: "reservation",
    RUNBOOK_RUNS.name: "runbook",
    SCHEDULING_POLICIES.name: "scheduling-policy",
    STATEFULSETS.name: "statefulset",
    OBJECTIVES.name: "service-level",
}
_Reported = (
    Autoscaler
    | DaemonSet
    | Deployment
    | DisruptionBudget
    | EvidencePolicy
    | PlacementQuota
    | PlaneSettings
    | ReplicaSet
    | Reservation
    | RunbookRun
    | SchedulerOverride
    | SchedulingPolicy
    | ServiceLevelObjective
    | StatefulSet
)


class Gap(NamedTuple):
    """The status of an object is not of its newest generation, which this plane has known since then."""

    generation: int
    observed: int
    since: float


class GapsOf(NamedTuple):
    """What one controller has not reported on; `oldest`: the one that waits longest."""

    controller: str
    resource: str
    objects: int
    seconds: float
    oldest: Key | None


class GenerationTally:
    def __init__(self) -> None:
        self._gaps: dict[str, dict[Key, Gap]] = {resource: {} for resource in REPORTERS}

    def observe(self, resource: str, key: Key, after: View | None, now: float) -> None:
        """One change of an object of one of REPORTERS; None: it is gone."""
        gaps = self._gaps[resource]
        if not isinstance(after, _Reported) or after.metadata.deletion_timestamp:
            gaps.pop(key, None)
            return
        generation, observed = after.metadata.generation, after.status.observed_generation
        if observed >= generation:
            gaps.pop(key, None)
            return
        known = gaps.get(key)
        if known is None and len(gaps) >= GAPS_MAX:
            return
        since = known.since if known is not None and known.generation == generation else now
        gaps[key] = Gap(generation, observed, since)

    def behind(self, now: float) -> Iterator[GapsOf]:
        """For every resource that is reported on, also where nothing is behind."""
        for resource, gaps in self._gaps.items():
            oldest = min(gaps, key=lambda key: (gaps[key].since, key), default=None)
            seconds = max(0.0, now - gaps[oldest].since) if oldest is not None else 0.0
            yield GapsOf(REPORTERS[resource], resource, len(gaps), seconds, oldest)
