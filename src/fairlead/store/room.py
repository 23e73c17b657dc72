"""Who may write when there is no room: the rule of the store machine for a disk that is full.

From the first append that found no room (or the driver's word that there is little) until the driver has found some,
only transactions with a claim are taken (`contract.py`): leases, and what people lay down for a while, each of them
small; and deletions, as many bytes of them as the driver says there is room for, of which small writes of runs of
runbooks may take one half. What deletions take away makes room for further ones once it is compacted; what runs write
stays, so they leave the other half to deletions.

The driver is `runtime/server/store_driver.py`: it finds the disk full, logs that, and takes what
`runtime/data/reserve.py` kept for such a time.
"""

from __future__ import annotations

from fairlead.store.contract import FREEING, LEASE, RUN, Transaction

#: bound: connections | a lease, or a SchedulerOverride, that is written on a full disk | 507
LEASE_BYTES_MAX = 16 * 1024
#: bound: connections | a run of a runbook that is written on a full disk | 507
RUN_BYTES_MAX = 64 * 1024


class Room:
    __slots__ = ("_kept", "_left", "short")

    def __init__(self) -> None:
        self.short = ""  # why there is no room for ordinary writes; "" while there is
        self._left = self._kept = 0  # bytes, and how many of them are for deletions alone

    def lost(self, why: str, left: int) -> None:
        """`left`: bytes that deletions may take."""
        self.short, self._left, self._kept = why, left, left // 2

    def takes(self, transaction: Transaction) -> bool:
        if not self.short or not (transaction.operations or transaction.notes):
            return True
        size = sum(len(operation.head) + len(operation.tail) for operation in transaction.operations)
        if transaction.claim == LEASE:
            return size <= LEASE_BYTES_MAX
        if transaction.claim == FREEING:
            fits = size <= self._left
        else:
            fits = transaction.claim == RUN and size <= min(RUN_BYTES_MAX, self._left - self._kept)
        if not fits:
            return False
        self._left -= size
        return True
