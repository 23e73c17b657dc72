"""Whose turn it is among the backends of a route: each gets connections in proportion to its weight. Pure.

Used by the node's proxy (`runtime/node/service_proxy.py`), one for every port it listens on. With equal weights the
backends take plain turns. Otherwise each is owed its weight at every turn, and the one that is owed most gets the turn
and pays for it with what all were owed: over as many turns as the weights add up to, each got exactly its share, and a
light one gets its turns spread between those of the others.
"""

from __future__ import annotations

from fairlead.agent.contract import Backend


class BackendTurns:
    __slots__ = ("_backends", "_owed", "_total", "_turn")

    def __init__(self, backends: tuple[Backend, ...]) -> None:
        self._turn = 0
        self._owed: dict[Backend, int] = {}
        self.use(backends)

    def use(self, backends: tuple[Backend, ...]) -> None:
        """These from now on. What one that stays, with its weight, is owed goes on."""
        self._backends = backends
        uneven = len({each.weight for each in backends}) > 1
        self._owed = {each: self._owed.get(each, 0) for each in backends} if uneven else {}
        self._total = sum(each.weight for each in self._owed)

    def next(self) -> tuple[Backend, ...]:
        """All of them: the one whose turn it is, then those to try if it refuses."""
        backends = self._backends
        if not backends:
            return ()
        if not self._owed:
            start = self._turn % len(backends)
            self._turn = start + 1
            return backends[start:] + backends[:start]
        for each in backends:
            self._owed[each] += each.weight
        # Sorting is stable: of those owed as much the first in order.
        ordered = sorted(backends, key=self._owed.__getitem__, reverse=True)
        self._owed[ordered[0]] -= self._total
        return tuple(ordered)
