"""One key's place in the queue, and what a worker gets when its turn comes.

A QueuedKey lives from the add that created it to the pop that takes it, and is never used again. While it lives its
priority only rises and its ready time only falls. The ordered structures rely on that: what they hold is out of
date exactly when it no longer agrees with the QueuedKey, so nothing has to be searched for and removed.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Generic, Protocol, TypeVar

import msgspec


class Keyed(Protocol):
    """What a key must offer: it is hashable and says which namespace its turn is charged to ("": the cluster), and
    which object it is about ("": many at once, so that many turns are nothing to wonder about)."""

    @property
    def namespace(self) -> str: ...

    @property
    def name(self) -> str: ...

    def __hash__(self) -> int: ...


K = TypeVar("K", bound=Keyed)


class Priority(IntEnum):
    """Higher goes first. LOW is for resync and cleanup, HIGH for what has lost a pod that served, URGENT for that of a
    workload with a priority of its own (`control/urgency.py`)."""

    LOW = 0
    NORMAL = 1
    HIGH = 2
    URGENT = 3


class QueuedKey(msgspec.Struct, Generic[K], gc=False):
    key: K
    priority: int
    ready_at: float  # when it may run; once it is ready, since when it waits
    is_ready: bool = False  # in a line, and not only in `delayed`


class KeyInProgress(msgspec.Struct, Generic[K], gc=False):
    """A key in progress. `again` is the turn that follows this one."""

    priority: int
    started_at: float
    again: QueuedKey[K] | None = None


class TakenKey(msgspec.Struct, Generic[K], frozen=True, gc=False):
    """A key handed to a worker, with what the record of its turn wants to know."""

    key: K
    priority: int
    waited_seconds: float
    failures: int  # in a row, before this turn
