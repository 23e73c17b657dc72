"""Pods counted per domain: what is on the nodes that share a value of a topology label, added up.

Used by spreading and pod affinity, which decide per domain and spread the answer over nodes (`over`). Kept up to date
by `add` as pods come and go.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fairlead.schedule.nodes import Ints, Mask, Nodes

_Scalar = TypeVar("_Scalar", np.bool_, np.int64, np.float64)


class Domains:
    """`numbers` is by domain; its nodes have the domain's place in `ids`, and -1 where they are in none."""

    def __init__(
        self, nodes: Nodes, key: str, counts: NDArray[np.int32], counted: Mask | None = None
    ) -> None:
        topology = nodes.topology(key)
        self.ids = topology.ids
        self.has: Mask = topology.ids >= 0
        self._sizes = topology.sizes
        self._counted = self.has if counted is None else self.has & counted
        ids = topology.ids[self._counted]
        size = len(topology.values)
        self.numbers: Ints = np.bincount(ids, weights=counts[self._counted], minlength=size).astype(np.int64)
        self.known: Mask = np.bincount(ids, minlength=size) > 0  # domains that have a counted node

    def over(self, values: NDArray[_Scalar]) -> NDArray[_Scalar]:
        """Values by domain spread over nodes; nought, or false, where a node is in no domain."""
        padded = np.zeros(len(values) + 1, values.dtype)  # the last is what -1 finds
        padded[:-1] = values
        return padded[self.ids]

    def at(self) -> Ints:
        """Per slot the number of its domain."""
        return self.over(self.numbers)

    def number(self, slot: int) -> int:
        """The same for one slot."""
        place: int = self.ids.item(slot)
        return int(self.numbers.item(place)) if place >= 0 else 0

    def alone(self, slot: int) -> bool:
        """Whether this node is a domain by itself: what happens there changes nothing elsewhere."""
        return int(self._sizes.item(self.ids.item(slot))) == 1

    def counts(self, slot: int) -> bool:
        return bool(self._counted.item(slot))

    def add(self, slot: int, number: int) -> bool:
        """That many more pods on that slot; whether it counts."""
        if not self._counted.item(slot):
            return False
        self.numbers[self.ids.item(slot)] += number
        return True

    def least(self) -> int:
        """The smallest number of all domains that have a counted node."""
        return int(self.numbers[self.known].min(initial=np.iinfo(np.int64).max))
