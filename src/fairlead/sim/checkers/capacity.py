"""Never more on a node than it has: what its pods request, at every revision at which one comes to it.

Judged by the node as it is at that revision. What is restored comes in any order: a node that is not there yet, or has
not told what it has, is not judged.
"""

from __future__ import annotations

from fairlead.model.views import NODES, PODS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.checkers.room import Amounts, Bound, describe_excess, parse_amounts
from fairlead.sim.violation import Violation


class Capacity:
    name = "capacity"
    sees = frozenset({NODES.name, PODS.name})

    def __init__(self) -> None:
        self._bound = Bound()
        self._room: dict[str, Amounts] = {}

    def saw(self, sight: SeenChange) -> None:
        if sight.key.resource == NODES.name:
            if sight.after is None:
                self._room.pop(sight.key.name, None)
            elif sight.before is None or sight.before.status.allocatable != sight.last.status.allocatable:
                self._room[sight.key.name] = parse_amounts(sight.last.status.allocatable)
            return
        node = self._bound.saw(sight)
        if node and (room := self._room.get(node)):
            over = describe_excess(self._bound.total(node), room)
            if over:
                raise Violation(self.name, f"{node} has {over} with {sight.key.name}")

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""
