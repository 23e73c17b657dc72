"""What the machine of turns is told, and what it has its driver do. Time arrives with the events.

`T` is the driver's ticket of a request: whatever it likes to get back, one for each request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

import msgspec

from fairlead.api.flow.in_force import Flow
from fairlead.api.flow.levels import PriorityLevel

T = TypeVar("T")


class Configured(msgspec.Struct, frozen=True, gc=False):
    """These are the levels from now on. Who waits or is served in one that is gone is served to the end."""

    levels: Mapping[str, PriorityLevel]
    now: float


class Arrived(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """`room`: there is time left in this turn of the loop, so that a request may begin at once."""

    ticket: T
    flow: Flow
    width: int
    in_turn: bool
    now: float
    room: bool


class TurnCame(msgspec.Struct, frozen=True, gc=False):
    """There is time for one more."""

    now: float


class RequestEnded(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """A request is answered, has become a stream, or nobody waits for it any more."""

    ticket: T


class Looked(msgspec.Struct, frozen=True, gc=False):
    """The instant of the last LookAt is there."""

    now: float


Event = Configured | Arrived[T] | TurnCame | RequestEnded[T] | Looked


class Begin(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """It is this one's turn."""

    ticket: T


class Refuse(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """It is not served: 429. `reason` is QUEUE_FULL, CONCURRENCY_LIMIT or TIME_OUT."""

    ticket: T
    reason: str


class TurnSoon(msgspec.Struct, frozen=True, gc=False):
    """Somebody waits who could begin: a TurnCame is wanted once others had theirs."""


class LookAt(msgspec.Struct, frozen=True, gc=False):
    """A Looked is wanted then: somebody may have waited for too long."""

    at: float


Instruction = Begin[T] | Refuse[T] | TurnSoon | LookAt

QUEUE_FULL, CONCURRENCY_LIMIT, TIME_OUT = "queue-full", "concurrency-limit", "time-out"
