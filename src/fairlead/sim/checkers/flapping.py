"""no-flapping: what an autoscaler added stays for the window of stabilization, unless maxReplicas asks for less."""

from __future__ import annotations

from typing import Any

from fairlead.model.key import Key
from fairlead.sim.checkers.autoscaling import LATE_SECONDS, Scaling
from fairlead.sim.checkers.contract import SeenChange
from fairlead.sim.violation import Violation


class NoFlapping(Scaling):
    name = "no-flapping"

    def __init__(self) -> None:
        super().__init__()
        self._raised: dict[
            Key, list[tuple[float, int]]
        ] = {}  # by whom and when the number was raised to what

    def _scaled(self, sight: SeenChange, scaler: Any, before: int, after: int, by_autoscaler: bool) -> None:
        if not by_autoscaler:
            self._raised.pop(sight.key, None)  # people know what they do
            return
        raised = self._raised.setdefault(sight.key, [])
        if after > before:
            raised.append((sight.seconds, after))
            return
        rules = (scaler.spec.behavior.get("scaleDown") or {}).get("stabilizationWindowSeconds")
        window = self._knobs["downscaleStabilizationSeconds"] if rules is None else rules
        # The first was decided before its commit: a request may be under way for so long.
        since = sight.seconds - max(0.0, window - LATE_SECONDS)
        recent = [number for at, number in raised if at > since]
        if recent and after < min(max(recent), scaler.spec.max_replicas):
            told = f"Deployment {sight.key.name} was scaled to {max(recent)} and back to {after} within {window:g} s"
            raise Violation(self.name, told)
