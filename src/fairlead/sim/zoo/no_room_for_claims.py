"""A full disk refuses everything alike, leases and deletions as well: leaders and nodes seem to be gone."""

from __future__ import annotations

from fairlead.sim.parts import replacing
from fairlead.store.contract import JournalReader, Recovered, Transaction
from fairlead.store.machine import Store
from fairlead.store.room import Room


class CrampedRoom(Room):
    __slots__ = ()

    def takes(self, transaction: Transaction) -> bool:
        return not self.short


class CrampedStore(Store):
    def __init__(self, recovered: Recovered, journal: JournalReader) -> None:
        super().__init__(recovered, journal)
        self._room = CrampedRoom()


plant = replacing(store=CrampedStore)
