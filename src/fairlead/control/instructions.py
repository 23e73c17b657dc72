"""What the plane is told and what it asks for: its events (past tense) and instructions (imperative).

The driver in `runtime/`, or the simulator, carries instructions out and reports back.
"""

from __future__ import annotations

import msgspec

from fairlead.cache import events as mirrored
from fairlead.port.outcome import Outcome
from fairlead.port.request import Request


class Replied(msgspec.Struct, frozen=True):
    """The answer to a Call; exactly one for each."""

    call: int
    outcome: Outcome
    now: float
    chance: float


class Woke(msgspec.Struct, frozen=True):
    """The time asked for with WakeAt has come, or something else calls for a look."""

    now: float
    chance: float


class Stepped(msgspec.Struct, frozen=True):
    """The wall clock was set, and is now so far ahead of the plane's time, which goes on. `message` tells people."""

    ahead_seconds: float
    message: str
    now: float


class Call(msgspec.Struct, frozen=True):
    """Send this request; answer with Replied."""

    call: int
    controller: str
    request: Request


class WakeAt(msgspec.Struct, frozen=True):
    """Send Woke at this time. A later one replaces an earlier one."""

    at: float


class Record(msgspec.Struct, frozen=True):
    """Keep this line of the log of decisions."""

    body: bytes


class Report(msgspec.Struct, frozen=True):
    """Tell whoever runs the plane, in its log: something is wrong that no object can say. `error` is what a Decider
    raised, a fault of the program; each distinct one is reported once."""

    controller: str
    message: str
    error: Exception | None = None


Instruction = Call | WakeAt | Record | Report
MirrorCall = mirrored.ListAll | mirrored.Follow


class MirrorWakeAt(msgspec.Struct, frozen=True):
    """A mirror's own timer, with its name."""

    resource: str
    at: float


class AskProgress(msgspec.Struct, frozen=True):
    """Tell this mirror (Marked) how far its watch is, once that has delivered all there was. No answer is no harm."""

    resource: str


class Forget(msgspec.Struct, frozen=True):
    """A resource is no longer served: end its watch. What still comes of it is ignored."""

    resource: str


PlaneInstruction = Instruction | MirrorCall | MirrorWakeAt | AskProgress | Forget
