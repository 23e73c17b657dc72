"""A PlacementQuota is never exceeded: neither by what it says is used, nor by what the pods it counts request.

Judged at every revision at which a pod comes to a node, and at which what is used rises. A limit that was lowered below
what is used already is nobody's fault; then nothing may be added.
"""

from __future__ import annotations

from typing import Any

from fairlead.model.selectors import matches_label_selector
from fairlead.model.views import NODES, PLACEMENT_QUOTAS
from fairlead.sim.checkers.contract import Objects, Sight
from fairlead.sim.checkers.room import Amounts, Bound, add, amounts, exceeded
from fairlead.sim.violation import Violation
from fairlead.store.contract import Key


class QuotaKept:
    name = "quota-kept"

    def __init__(self) -> None:
        self._quotas: dict[Key, Any] = {}
        self._labels: dict[str, dict[str, str]] = {}  # of nodes
        self._bound = Bound()

    def saw(self, sight: Sight) -> None:
        key = sight.key
        if key.resource == PLACEMENT_QUOTAS.name:
            self._quota(sight)
        elif key.resource == NODES.name:
            self._labels[key.name] = sight.last.metadata.labels
        elif node := self._bound.saw(sight):
            for at, quota in self._quotas.items():
                if at.namespace == key.namespace and _is_about(quota, self._labels.get(node, {})):
                    self._judge(at, self._used(at, quota), quota, key.name)

    def quiesced(self, objects: Objects, seconds: float) -> None:
        """Says nothing about rest."""

    def _quota(self, sight: Sight) -> None:
        if sight.after is None:
            self._quotas.pop(sight.key, None)
            return
        self._quotas[sight.key] = quota = sight.after
        used = amounts(quota.status.used)
        before = amounts(sight.before.status.used) if sight.before is not None else {}
        if any(value > before.get(name, 0) for name, value in used.items()):
            self._judge(sight.key, used, quota, "what it says is used")

    def _used(self, at: Key, quota: Any) -> Amounts:
        found: Amounts = {}
        for node, beside in self._bound.on.items():
            if _is_about(quota, self._labels.get(node, {})):
                for pod, needs in beside.items():
                    if pod.namespace == at.namespace:
                        add(found, needs)
        return found

    def _judge(self, at: Key, used: Amounts, quota: Any, what: str) -> None:
        over = exceeded(used, amounts(quota.spec.hard))
        if over:
            raise Violation(self.name, f"{at.name} has {over} with {what}")


def _is_about(quota: Any, labels: dict[str, str]) -> bool:
    selector = quota.spec.node_selector
    return not selector or matches_label_selector(selector, labels)
