"""What the plane is told and what it asks for, beside the vocabulary of `port/driving.py` and what mirrors are told
(`cache/events.py`): its events (past tense) and instructions (imperative).

The driver in `runtime/`, or the simulator, carries instructions out and reports back.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from fairlead.cache.events import Mirrored
from fairlead.port.driving import Follow, ListAll, Started, Stepped, WakeAt, Woke
from fairlead.port.outcome import Outcome
from fairlead.port.request import Request


class Replied(msgspec.Struct, frozen=True):
    """The answer to a Call; exactly one for each."""

    call: int
    outcome: Outcome
    now: float
    chance: float


class Answers(msgspec.Struct, frozen=True):
    """What was answered together, at least one: all of it is taken in before anything is decided."""

    replies: tuple[Replied, ...]

    @property
    def now(self) -> float:
        return self.replies[-1].now


PlaneEvent = Started | Woke | Mirrored | Answers | Stepped


class Call(msgspec.Struct, frozen=True):
    """Send this request; answer with Replied. `decision`: the one that it carries out, by its id."""

    call: int
    controller: str
    request: Request
    decision: str = ""


# The logs that a plane keeps: what was decided, turns that had nothing to do; its driver adds what it was told.
DECISIONS, TURNS, DELIVERIES = "decisions", "turns", "deliveries"


class Record(msgspec.Struct, frozen=True):
    """Keep this line of a log."""

    body: bytes
    stream: str = DECISIONS


class Report(msgspec.Struct, frozen=True):
    """Tell whoever runs the plane, in its log: something is wrong that no object can say. `error` is what a Decider
    raised, a fault of the program; each distinct one is reported once."""

    controller: str
    message: str
    error: Exception | None = None


class AskProgress(msgspec.Struct, frozen=True):
    """See to it that this mirror passes a revision which it is not known to show. Tell it how far its watch is
    (Marked), once that has delivered all there was, or list anew where a watch does not tell. No answer is no harm."""

    resource: str
    revision: int


Instruction = Call | Record | Report | AskProgress


class Outbox(Protocol):
    """Where a part of the plane puts what its step leads to, in order."""

    def append(self, instruction: Instruction, /) -> None: ...


class Forget(msgspec.Struct, frozen=True):
    """A resource is no longer served: end its watch. What still comes of it is ignored."""

    resource: str


PlaneDeed = Call | AskProgress | Report | WakeAt | ListAll | Follow | Forget
PlaneInstruction = Record | PlaneDeed
