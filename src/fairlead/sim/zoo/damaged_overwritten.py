"""The store does not look whether a write rests on what is damaged: a stand-in has a revision, so it may be there."""

from __future__ import annotations

from fairlead.sim.parts import replacing
from fairlead.store.contract import JournalReader, Recovered
from fairlead.store.machine import Store


class TrustingStore(Store):
    def __init__(self, recovered: Recovered, journal: JournalReader) -> None:
        super().__init__(recovered, journal)
        self._durable.damaged.clear()


plant = replacing(store=TrustingStore)
