"""On a full disk leases are written and nothing else: who would make room by deleting cannot."""

from __future__ import annotations

from fairlead.sim.parts import replacing
from fairlead.store.contract import LEASE, JournalReader, Recovered, Transaction
from fairlead.store.machine import Store
from fairlead.store.room import Room


class LeasesOnly(Room):
    __slots__ = ()

    def takes(self, transaction: Transaction) -> bool:
        return not self.short or transaction.claim == LEASE


class LeasesOnlyStore(Store):
    def __init__(self, recovered: Recovered, journal: JournalReader) -> None:
        super().__init__(recovered, journal)
        self._room = LeasesOnly()


plant = replacing(store=LeasesOnlyStore)
