"""objectives-remember: what a ServiceLevelObjective has written down of the past stays written down.

A status has the instants at which availability changed. A write may add one, and may sum the oldest up; what it keeps
of them is what was there, and instants only go forwards. At rest the newest is what there is.
"""

from __future__ import annotations

from typing import Any

from fairlead.model.key import Key
from fairlead.model.views import DEPLOYMENTS
from fairlead.model.views.objectives import OBJECTIVES
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation


class ObjectivesRemember:
    name = "objectives-remember"

    def saw(self, sight: SeenChange) -> None:
        if sight.key.resource != OBJECTIVES.name or sight.before is None or sight.after is None:
            return
        before, after = sight.before.status, sight.after.status
        kept = before.changes
        if after.earlier.until != before.earlier.until:  # the oldest were summed up
            kept = tuple(each for each in kept if each.at >= after.earlier.until)
        if after.changes[: len(kept)] != kept:
            told = (
                f"objective {sight.key.name} had {len(kept)} changes and now says {len(after.changes)} others"
            )
            raise Violation(self.name, told)
        instants = [each.at for each in after.changes]
        if instants != sorted(instants):
            raise Violation(self.name, f"objective {sight.key.name}: instants go back: {instants[-2:]}")

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        for key, found in objects.of(OBJECTIVES.name).items():
            target = found.spec.target
            if target.kind != DEPLOYMENTS.kind:
                continue
            there: Any = objects.of(DEPLOYMENTS.name).get(Key(DEPLOYMENTS.name, key.namespace, target.name))
            wanted = there.spec.replicas if there is not None else 0
            available = min(there.status.available_replicas, wanted) if there is not None else 0
            last = found.status.changes[-1] if found.status.changes else None
            if last is None or (last.available, last.wanted) != (available, wanted):
                told = f"objective {key.name} says {last}, and {available} of {wanted} are available"
                raise Violation(self.name, told)
