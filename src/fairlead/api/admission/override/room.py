"""What a SchedulerOverride cannot do while the server's disk is full: a warning for whoever makes one then. Asked by
`steps.py`.

It is written all the same, and holds (`store/room.py`): whoever intervenes may mean just that, and the disk may have
room again before it ends.
"""

from __future__ import annotations

from fairlead.api.attempt import Attempt
from fairlead.model.views import SchedulerOverride


def warn_of_full_disk(attempt: Attempt, wanted: SchedulerOverride) -> None:
    why = attempt.read.short
    if not why:
        return
    changes = wanted.spec.changes
    if changes.drain:
        attempt.warnings.append(f"pods that it takes away are not made again yet: {why}")
    if changes.allow_reserved_capacity_class:
        attempt.warnings.append(f"it lends nothing yet, as no Reservation can be made: {why}")
    if changes.traffic_weights:
        attempt.warnings.append(f"traffic goes on as it does, as no EndpointSlice can be written: {why}")
