"""An append that found no room is answered as if it were durable: the caller has its word, and nothing else."""

from __future__ import annotations

from fairlead.sim.parts import replacing
from fairlead.store.events import Instruction, Resolve
from fairlead.store.machine import Store


class HastyStore(Store):
    def _append_failed(self, reason: str, message: str, left: int) -> tuple[Instruction, ...]:
        outcomes = {each.ticket: each.outcome for each in self._in_flight}
        return tuple(
            Resolve(each.ticket, outcomes.get(each.ticket, each.outcome))
            if isinstance(each, Resolve)
            else each
            for each in super()._append_failed(reason, message, left)
        )


plant = replacing(store=HastyStore)
