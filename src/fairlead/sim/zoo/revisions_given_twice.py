"""After a loss numbering goes on from the newest change that is left, whatever was promised before."""

from __future__ import annotations

from msgspec import structs

from fairlead.sim.parts import replacing
from fairlead.store.contract import JournalReader, Recovered
from fairlead.store.machine import Store


class UnmarkedStore(Store):
    def __init__(self, recovered: Recovered, journal: JournalReader) -> None:
        if recovered.lost and recovered.revision == recovered.lost[-1].until:
            recovered = structs.replace(recovered, revision=recovered.lost[-1].after, lost=())
        super().__init__(recovered, journal)


plant = replacing(store=UnmarkedStore)
