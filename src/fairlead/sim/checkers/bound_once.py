"""A pod is bound once: its node never changes, and no pod is bound to a node that was never there."""

from __future__ import annotations

from fairlead.model.views import PODS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation


class BoundOnce:
    name = "bound-once"
    sees = frozenset({PODS.name})

    def saw(self, sight: SeenChange) -> None:
        if sight.key.resource != PODS.name or sight.before is None:
            return
        before, last = sight.before, sight.last
        node = before.spec.node_name
        if node and last.metadata.uid == before.metadata.uid and last.spec.node_name != node:
            raise Violation(self.name, f"{sight.key.name} moved from {node} to {last.spec.node_name}")

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        nodes = {key.name for key in objects.of("nodes")}
        for key, pod in objects.of(PODS.name).items():
            if pod.spec.node_name and pod.spec.node_name not in nodes:
                raise Violation(self.name, f"{key.name} is bound to {pod.spec.node_name}, which is not there")
