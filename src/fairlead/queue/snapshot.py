"""What a queue looks like at one moment, for the `queues` command, metrics and records. Made by `WorkQueue.snapshot`.

It is made from what the queue keeps anyway; its cost depends on how many keys it names (and how many
are hot), not on how many there are.
"""

from __future__ import annotations

from typing import Generic

import msgspec

from fairlead.queue.entry import K
from fairlead.queue.settings import QueueSettings


class QueueCounts(msgspec.Struct, frozen=True):
    """Since the queue was made. added - collapsed = popped + what still waits."""

    added: int
    collapsed: int
    popped: int
    done: int
    retried: int
    overloads: int  # adds beyond `keys_max`
    quarantined: int


class Retried(msgspec.Struct, Generic[K], frozen=True):
    key: K
    failures: int


class Running(msgspec.Struct, Generic[K], frozen=True):
    key: K
    seconds: float
    again: bool  # it will run once more afterwards


class HotKey(msgspec.Struct, Generic[K], frozen=True):
    """A hot key."""

    key: K
    seconds: float
    turns: int  # within a window, when it was found
    put_off: int  # adds that had to wait because of it
    until: float


class QueueSnapshot(msgspec.Struct, Generic[K], frozen=True):
    now: float
    depth: int  # keys with a turn before them: ready, delayed, or to be run again after the present turn
    ready: int
    ready_by_priority: tuple[tuple[str, int], ...]  # highest first
    delayed: int
    in_progress: int
    again: int
    overloaded: bool
    oldest_waiting_seconds: float  # since it could run; 0 when none can
    oldest_waiting: K | None
    next_ready_at: float | None
    failing: int  # keys with at least one failure
    most_retried: tuple[Retried[K], ...]
    longest_running: tuple[Running[K], ...]
    held: int  # hot keys
    longest_held: tuple[HotKey[K], ...]
    counts: QueueCounts
    settings: QueueSettings
