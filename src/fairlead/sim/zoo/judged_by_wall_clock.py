"""A plane that takes the wall clock for the time: set back, it neither renews its lease nor tells Events until the
clock has come to where it was; set ahead, what lasts seems to be over.

Its timers are set by the same clock and go off when they were meant to; what it makes of them is wrong.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec import structs

from fairlead.cache.events import Mirrored, MirrorEvent
from fairlead.control.instructions import Answers, PlaneEvent, PlaneInstruction, Replied
from fairlead.control.plane import Plane
from fairlead.port.driving import Started, Stepped, WakeAt, Woke
from fairlead.sim.parts import replacing

T = TypeVar("T", bound=Woke | MirrorEvent | Replied)


class ByTheWall(Plane):
    _ahead = 0.0

    def handle(self, event: PlaneEvent) -> tuple[PlaneInstruction, ...]:
        match event:
            case Stepped():
                self._ahead = event.ahead_seconds
                return ()
            case Mirrored(resource, events):
                event = Mirrored(resource, tuple(map(self._misread, events)))
            case Answers(replies):
                event = Answers(tuple(map(self._misread, replies)))
            case Woke():
                event = self._misread(event)
            case Started():
                pass  # before any step
        return tuple(
            structs.replace(each, at=each.at - self._ahead) if isinstance(each, WakeAt) else each
            for each in super().handle(event)
        )

    def _misread(self, event: T) -> T:
        return structs.replace(event, now=event.now + self._ahead)


plant = replacing(plane=ByTheWall)
