"""Progress tells the truth: its numbers never grow along the way, and at rest it says what the counters say.

At rest nothing holds up what is ready as a whole. A rollout that waits for one more pod has as many ready as are
wanted, and is held up all the same.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from fairlead.model.views import DAEMONSETS, DEPLOYMENTS, JOBS, STATEFULSETS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation

_WORKLOADS = frozenset(each.name for each in (DEPLOYMENTS, STATEFULSETS, DAEMONSETS, JOBS))
_WAY = ("admitted", "queued", "scheduled", "bound", "starting", "ready", "serving")


class TruthfulProgress:
    name = "truthful-progress"
    sees = frozenset(_WORKLOADS)

    def saw(self, sight: SeenChange) -> None:
        if sight.key.resource not in _WORKLOADS or sight.after is None:
            return
        told = sight.after.status.progress
        numbers = [told[stage] for stage in _WAY if stage in told]
        if any(later > earlier for earlier, later in pairwise(numbers)):
            raise Violation(self.name, f"{sight.key.name} gained pods on the way: {numbers}")

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        for resource, counted in ((DEPLOYMENTS, "ready_replicas"), (STATEFULSETS, "ready_replicas")):
            for key, view in objects.of(resource.name).items():
                told: dict[str, Any] = view.status.progress
                ready = getattr(view.status, counted)
                if not told or (told.get("desired"), told.get("ready")) != (view.spec.replicas, ready):
                    raise Violation(
                        self.name,
                        f"at rest {key.name} has {ready}/{view.spec.replicas} ready and tells {told}",
                    )
                status = view.status
                done = {ready, status.replicas, status.updated_replicas} == {view.spec.replicas}
                if done and told.get("limit") and told["limit"]["stage"] != "ready":
                    raise Violation(self.name, f"at rest {key.name} is held up by {told['limit']}")
