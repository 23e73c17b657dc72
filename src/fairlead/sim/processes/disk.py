"""The room on the disk of the simulated server. Part of `server.py`, which asks before each append. Pure.

On a full disk the first append fails; from then on what was kept for it is used (`runtime/data/reserve.py` does that
outside of simulations): leases take the place of older ones, and everything else takes from what is left.
"""

from __future__ import annotations

from fairlead.model.views import LEASES
from fairlead.store.contract import Batch

RESERVE_BYTES = 64 * 1024


class SimulatedDisk:
    def __init__(self) -> None:
        self.is_full = False
        self.left = 0
        self._reserve_used = False

    def reopen(self) -> None:
        """A process starts on it, and does not know yet that it is full."""
        self._reserve_used = False

    def free(self) -> None:
        """There is room again, and the reserve is held once more."""
        self.is_full = self._reserve_used = False

    def takes(self, batch: Batch) -> bool:
        if not self.is_full:
            return True
        if not self._reserve_used:
            self._reserve_used, self.left = True, RESERVE_BYTES
            return False
        size = sum(len(each.entry.data) for each in batch.changes if each.entry.key.resource != LEASES.name)
        if size > self.left:
            return False
        self.left -= size
        return True
