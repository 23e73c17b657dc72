"""The server shows the stand-in of a damaged object, and the plane's mirrors, which cannot decode it, leave it out."""

from __future__ import annotations

from typing import Any

from fairlead.cache.events import Changed
from fairlead.cache.mirror import Mirror
from fairlead.control.plane import Plane
from fairlead.sim.parts import replacing
from fairlead.store.contract import Entry
from fairlead.store.damage import is_stand_in


class NarrowMirror(Mirror[Any]):
    def _hold(self, entry: Entry) -> tuple[Changed, ...]:
        changes = super()._hold(entry)
        if is_stand_in(entry.data):
            del self.unreadable[entry.key]
        return changes


class NarrowPlane(Plane):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        for name, each in self.mirrors.items():
            self.mirrors[name] = NarrowMirror(each.resource)
            self.mirrors[name].failure_detector = each.failure_detector


plant = replacing(plane=NarrowPlane)
