"""Numbering goes on above the mark, but whoever has seen what was lost may watch on from there, and keeps it."""

from __future__ import annotations

from msgspec import structs

from fairlead.sim.parts import replacing
from fairlead.store.contract import JournalReader, Recovered
from fairlead.store.machine import Store


class ObligingStore(Store):
    def __init__(self, recovered: Recovered, journal: JournalReader) -> None:
        super().__init__(structs.replace(recovered, lost=()), journal)


plant = replacing(store=ObligingStore)
