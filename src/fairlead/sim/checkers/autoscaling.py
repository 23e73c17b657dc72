"""What the checkers of autoscalers share: each of their writes, and the objects it is judged by.

The invariants are in `scale_bounds.py`, `amplification.py` and `flapping.py`.
"""

from __future__ import annotations

from typing import Any

from fairlead.model.key import Key
from fairlead.model.policy import plane_knobs
from fairlead.model.views import AUTOSCALERS, DEPLOYMENTS, PLANE_SETTINGS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange

_BY = "autoscaler of plane-"

REACT_TO_BLOCKED = "fairlead.dev/react-to-blocked"

LATE_SECONDS = 16.0


class Scaling:
    """What the checkers of autoscalers share: autoscalers by the Deployment that they scale."""

    name = ""
    sees = frozenset({AUTOSCALERS.name, PLANE_SETTINGS.name, DEPLOYMENTS.name})

    def __init__(self) -> None:
        self._scalers: dict[Key, Any] = {}
        self._knobs = plane_knobs.numbers({}, "autoscaling")

    def saw(self, sight: SeenChange) -> None:
        key = sight.key
        if key.resource == AUTOSCALERS.name:
            target = Key(DEPLOYMENTS.name, key.namespace, sight.last.spec.scale_target_ref.name)
            if sight.after is None:
                self._scalers.pop(target, None)
            else:
                self._scalers[target] = sight.after
        elif key.resource == PLANE_SETTINGS.name:
            spec = sight.after.spec if sight.after is not None else {}
            self._knobs = plane_knobs.numbers(spec, "autoscaling")
        elif key.resource == DEPLOYMENTS.name and sight.before is not None and sight.after is not None:
            before, after = sight.before.spec.replicas, sight.after.spec.replicas
            scaler = self._scalers.get(key)
            if before != after and scaler is not None:
                self._scaled(sight, scaler, before, after, by_autoscaler=_BY in sight.origin)

    def _scaled(self, sight: SeenChange, scaler: Any, before: int, after: int, by_autoscaler: bool) -> None:
        """The number changed."""
        raise NotImplementedError

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """All is said on the way."""
