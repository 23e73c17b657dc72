"""When the API last heard each node renew its lease: whom an eviction may count on.

Whoever publishes commits (runtime, simulator) hands them to `observe`. A node that has a lease and was not heard since
the server started is not counted on either: it may have died meanwhile, and renews soon if it lives. The same measure
as controllers have (`decision/failure_detector.py`), and the same rule of when a renewal was missed
(`ledger/evidence.py`). No clock: instants come with commits and requests.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fairlead.decision.failure_detector import FailureDetector
from fairlead.ledger.evidence import is_closed, is_overdue
from fairlead.model.key import Key
from fairlead.model.marks import NODE_LEASES
from fairlead.model.views import LEASES, NODES, Lease, Node
from fairlead.store.contract import DELETED, CommittedChange, Reader

_node = msgspec.json.Decoder(Node).decode
_lease = msgspec.json.Decoder(Lease).decode


class HeardNodes:
    """One per server, on its desk."""

    __slots__ = ("_hearing",)

    def __init__(self) -> None:
        self._hearing = FailureDetector()

    def observe(self, changes: Iterable[CommittedChange], now: float) -> None:
        self._hearing.heartbeat(now)
        for change in changes:
            key = change.entry.key
            if key.resource == LEASES.name and key.namespace == NODE_LEASES:
                (self._hearing.forget if change.type == DELETED else self._hearing.observe)(key)

    def is_out_of_reach(self, read: Reader, node: str, now: float) -> bool:
        """At any stage of the node's silence. `read`: of sound objects only."""
        return self.is_marked(read, node) or self._is_overdue(read, node, now)

    def is_marked(self, read: Reader, node: str) -> bool:
        entry = read.get(Key(NODES.name, "", node)) if node else None
        return entry is not None and is_closed(_node(entry.data))

    def _is_overdue(self, read: Reader, node: str, now: float) -> bool:
        key = Key(LEASES.name, NODE_LEASES, node)
        entry = read.get(key) if node else None
        self._hearing.heartbeat(now)
        seen = self._hearing.sighting(key)
        return entry is not None and (seen is None or is_overdue(_lease(entry.data), seen.silent_seconds))
