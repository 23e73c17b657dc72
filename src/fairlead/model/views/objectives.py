"""Views of ServiceLevelObjectives. Read by their controller and by metrics."""

from __future__ import annotations

from fairlead.core.times import parse_time
from fairlead.model.objectives import DEFAULT_WINDOW_SECONDS, Lacked, ObjectiveAccount, Seen
from fairlead.model.views.common import Condition, Meta, Resource, View


class ObjectiveTarget(View, frozen=True):
    kind: str = ""
    name: str = ""


class ServiceLevelObjectiveSpec(View, frozen=True):
    target: ObjectiveTarget = ObjectiveTarget()
    objective: float = 99.0
    window_seconds: int = DEFAULT_WINDOW_SECONDS


class ObjectiveChange(View, frozen=True):
    at: str = ""
    available: int = 0
    wanted: int = 0


class ObjectiveEarlier(View, frozen=True):
    since: str = ""
    until: str = ""
    lacked_seconds: float = 0.0


class ServiceLevelObjectiveStatus(View, frozen=True):
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()
    changes: tuple[ObjectiveChange, ...] = ()
    earlier: ObjectiveEarlier = ObjectiveEarlier()


class ServiceLevelObjective(View, frozen=True):
    metadata: Meta
    spec: ServiceLevelObjectiveSpec = ServiceLevelObjectiveSpec()
    status: ServiceLevelObjectiveStatus = ServiceLevelObjectiveStatus()


def account_of(spec: ServiceLevelObjectiveSpec, status: ServiceLevelObjectiveStatus) -> ObjectiveAccount:
    earlier = status.earlier
    return ObjectiveAccount(
        spec.objective,
        float(spec.window_seconds),
        [Seen(parse_time(each.at), each.available, each.wanted) for each in status.changes],
        Lacked(
            parse_time(earlier.since) if earlier.since else 0.0,
            parse_time(earlier.until) if earlier.until else 0.0,
            earlier.lacked_seconds,
        ),
    )


OBJECTIVES = Resource(
    "servicelevelobjectives.fairlead.dev", "fairlead.dev/v1", "ServiceLevelObjective", ServiceLevelObjective
)
