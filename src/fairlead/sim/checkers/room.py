"""What pods take of nodes, counted by checkers for themselves: nothing here is the scheduler's own arithmetic.

Amounts are in thousandths. Containers side by side are added, an init container needs its share before them; sidecars
are in no world, so they are counted with the init containers.
"""

from __future__ import annotations

from typing import Any

from fairlead.core import quantity
from fairlead.model.key import Key
from fairlead.model.views import PODS
from fairlead.sim.checkers.contract import SeenChange

Amounts = dict[str, int]


def parse_amounts(told: dict[str, Any]) -> Amounts:
    return {name: quantity.milli(str(value)) for name, value in told.items()}


def sum_requests(pod: Any) -> Amounts:
    found: Amounts = {"pods": 1000}
    for container in pod.spec.containers:
        add(found, parse_amounts(container.resources.requests))
    for container in pod.spec.init_containers:
        for name, value in parse_amounts(container.resources.requests).items():
            found[name] = max(found.get(name, 0), value)
    found.update(parse_amounts(pod.spec.resources.requests))
    add(found, parse_amounts(pod.spec.overhead))
    return found


def sum_limits(pod: Any) -> Amounts:
    found: Amounts = {}
    for container in pod.spec.containers:
        add(found, parse_amounts(container.resources.limits))
    return found


def add(total: Amounts, more: Amounts) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def describe_excess(total: Amounts, limit: Amounts) -> str:
    """The first amount that is over its limit, in words; "" if none is. What has no limit is not counted."""
    for name in sorted(limit):
        if total.get(name, 0) > limit[name]:
            return f"{total[name] / 1000:g} {name} of {limit[name] / 1000:g}"
    return ""


class Bound:
    """Who takes what of which node, at the newest revision."""

    def __init__(self) -> None:
        self.on: dict[str, dict[Key, Amounts]] = {}
        self._node_of: dict[Key, str] = {}

    def saw(self, sight: SeenChange) -> str:
        """The node that a pod came to take room of with this commit; "" if it did not."""
        if sight.key.resource != PODS.name:
            return ""
        key, pod = sight.key, sight.after
        node = pod.spec.node_name if pod is not None and not pod.finished else ""
        former = self._node_of.get(key, "")
        if node == former and (sight.before is None or sight.before.metadata.uid == sight.last.metadata.uid):
            return ""
        if former:
            del self._node_of[key]
            del self.on[former][key]
            if not self.on[former]:
                del self.on[former]
        if node:
            self._node_of[key] = node
            self.on.setdefault(node, {})[key] = sum_requests(pod)
        return str(node)

    def total(self, node: str) -> Amounts:
        found: Amounts = {}
        for each in self.on.get(node, {}).values():
            add(found, each)
        return found
