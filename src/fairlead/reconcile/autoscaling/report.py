"""The status of an autoscaler, in Kubernetes' words: conditions, their reasons and messages. Used by `decider.py`."""

from __future__ import annotations

from msgspec import structs

from fairlead.core.times import timestamp
from fairlead.model.views import Autoscaler, AutoscalerStatus, Condition

ABLE, ACTIVE, LIMITED = "AbleToScale", "ScalingActive", "ScalingLimited"


class ScalingReport:
    """What one look at an autoscaler found; begins with what its status says already."""

    def __init__(self, found: Autoscaler, now: float) -> None:
        self._found, self._now = found, now
        self._conditions = {each.type: each for each in found.status.conditions}
        self.current, self.desired = found.status.current_replicas, found.status.desired_replicas
        self.metrics = found.status.current_metrics
        self.scaled_at = found.status.last_scale_time

    def say(self, kind: str, is_true: bool, reason: str, message: str) -> None:
        status = "True" if is_true else "False"
        known = self._conditions.get(kind)
        since = known.last_transition_time if known is not None and known.status == status else ""
        self._conditions[kind] = Condition(kind, status, reason, message, since or timestamp(self._now))

    def rescaled(self) -> None:
        self.scaled_at = timestamp(self._now)

    def status(self) -> AutoscalerStatus:
        return structs.replace(
            self._found.status,
            observed_generation=self._found.metadata.generation,
            last_scale_time=self.scaled_at,
            current_replicas=self.current,
            desired_replicas=self.desired,
            current_metrics=self.metrics,
            conditions=tuple(self._conditions.values()),
        )
