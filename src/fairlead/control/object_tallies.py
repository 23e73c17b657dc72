"""What a plane counts of the objects that it mirrors: pods on their way, reports that are due, scaling. For metrics.

`plane.py` tells it of every change of every mirror, so for most of them it must cost next to nothing. Nothing is
decided by it.
"""

from __future__ import annotations

from fairlead.control.generations import REPORTERS, GenerationTally
from fairlead.control.settings import BUILT_IN, Settings
from fairlead.control.stages import StageTally
from fairlead.model.key import Key
from fairlead.model.views import AUTOSCALERS, PODS, Autoscaler, View

_STAGE_LIMITS = BUILT_IN.stage_limits


class WorldTally:
    heeds = frozenset({PODS.name, *REPORTERS})  # whose changes are counted

    def __init__(self) -> None:
        self.stages = StageTally(_STAGE_LIMITS)
        self.generations = GenerationTally()
        self.scaled = {"up": 0, "down": 0}  # by autoscalers

    def apply(self, settings: Settings) -> None:
        self.stages.limits = settings.stage_limits

    def observe(
        self, resource: str, key: Key, before: View | None, after: View | None, now: float, *, synced: bool
    ) -> None:
        """`synced`: the change is news, rather than part of what there was when the plane began."""
        if resource == PODS.name:
            if synced:
                self.stages.observe(before, after, now)
        elif resource in REPORTERS:
            self.generations.observe(resource, key, after, now)
            if synced and resource == AUTOSCALERS.name:
                self._scaling(before, after)

    def _scaling(self, before: View | None, after: View | None) -> None:
        if not isinstance(before, Autoscaler) or not isinstance(after, Autoscaler):
            return
        was, now = before.status, after.status
        if now.last_scale_time != was.last_scale_time and now.desired_replicas != now.current_replicas:
            self.scaled["up" if now.desired_replicas > now.current_replicas else "down"] += 1
