"""A row that decayed is left out when the store is read: who lists sees that the object is not there."""

from __future__ import annotations

from msgspec import structs

from fairlead.sim.parts import replacing
from fairlead.store.contract import JournalReader, Recovered
from fairlead.store.machine import Store


class ForgetfulStore(Store):
    def __init__(self, recovered: Recovered, journal: JournalReader) -> None:
        damaged = {each.entry.key for each in recovered.damaged}
        entries = tuple(entry for entry in recovered.entries if entry.key not in damaged)
        super().__init__(structs.replace(recovered, entries=entries, damaged=()), journal)


plant = replacing(store=ForgetfulStore)
