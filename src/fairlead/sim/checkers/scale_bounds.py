"""scales-within-bounds: what an autoscaler asks for is within minReplicas and maxReplicas as they are then."""

from __future__ import annotations

from typing import Any

from fairlead.sim.checkers.autoscaling import Scaling
from fairlead.sim.checkers.contract import SeenChange
from fairlead.sim.violation import Violation


class ScalesWithinBounds(Scaling):
    name = "scales-within-bounds"

    def _scaled(self, sight: SeenChange, scaler: Any, before: int, after: int, by_autoscaler: bool) -> None:
        least, most = scaler.spec.min_replicas, scaler.spec.max_replicas
        if by_autoscaler and not least <= after <= most:
            told = f"Deployment {sight.key.name} was scaled from {before} to {after}, and {least} to {most} are allowed"
            raise Violation(self.name, told)
