"""A plane that takes the wall clock for the time: set back, it neither renews its lease nor tells Events until the
clock has come to where it was; set ahead, what lasts seems to be over.

Its timers are set by the same clock and go off when they were meant to; what it makes of them is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import structs

from fairlead.cache import events as mirrored
from fairlead.control.instructions import MirrorWakeAt, PlaneInstruction, Replied, Stepped, WakeAt, Woke
from fairlead.control.plane import Plane
from fairlead.sim.parts import Parts


class ByTheWall(Plane):
    _ahead = 0.0

    def stepped(self, event: Stepped) -> Iterator[PlaneInstruction]:
        self._ahead = event.ahead_seconds
        return iter(())

    def mirror(self, resource: str, *events: mirrored.Event) -> Iterator[PlaneInstruction]:
        told = (structs.replace(each, now=each.now + self._ahead) for each in events)
        return self._by_the_wall(super().mirror(resource, *told))

    def replied(self, *events: Replied) -> Iterator[PlaneInstruction]:
        told = (structs.replace(each, now=each.now + self._ahead) for each in events)
        return self._by_the_wall(super().replied(*told))

    def woke(self, event: Woke) -> Iterator[PlaneInstruction]:
        return self._by_the_wall(super().woke(structs.replace(event, now=event.now + self._ahead)))

    def _by_the_wall(self, asked: Iterable[PlaneInstruction]) -> Iterator[PlaneInstruction]:
        for each in asked:
            if isinstance(each, WakeAt | MirrorWakeAt):
                yield structs.replace(each, at=each.at - self._ahead)
            else:
                yield each


def plant(parts: Parts) -> Parts:
    return {**parts, "plane": ByTheWall}
