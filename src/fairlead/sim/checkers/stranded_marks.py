"""At rest no node that renews its lease bears a mark of silence, and none of its pods waits for a release."""

from __future__ import annotations

from fairlead.model.marks import NODE_LEASES, RELEASED, SILENT_SINCE, SUSPECT, UNREACHABLE
from fairlead.model.views import LEASES, NODES, PODS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation

_FRESH_SECONDS = 15.0


class NoStrandedMarks:
    name = "no-stranded-marks"
    sees = frozenset({LEASES.name})

    def __init__(self) -> None:
        self._renewed: dict[str, float] = {}

    def saw(self, sight: SeenChange) -> None:
        key = sight.key
        if key.resource == LEASES.name and key.namespace == NODE_LEASES:
            if sight.after is None:
                self._renewed.pop(key.name, None)
            else:
                self._renewed[key.name] = sight.seconds

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        fresh = {name for name, at in self._renewed.items() if at > seconds - _FRESH_SECONDS}
        for key, node in objects.of(NODES.name).items():
            if key.name not in fresh:
                continue
            taints = {each.get("key") for each in node.spec.taints} & {SUSPECT, UNREACHABLE}
            if taints or SILENT_SINCE in node.metadata.annotations:
                raise Violation(
                    self.name, f"{key.name} renews its lease and is marked as silent: {sorted(taints)}"
                )
        for key, pod in objects.of(PODS.name).items():
            if pod.spec.node_name in fresh and not pod.finished:
                left = [each for each in pod.status.conditions if each.type == RELEASED]
                if left:
                    raise Violation(
                        self.name, f"{key.name} is on {pod.spec.node_name}, which is heard: {left[0].reason}"
                    )
