"""A mirror takes from a list only what is newer than its copy: what the store lost stays in it for ever."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairlead.cache.events import Changed
from fairlead.cache.mirror import Mirror
from fairlead.control.plane import Plane
from fairlead.sim.parts import replacing
from fairlead.store.contract import Entry


class ProudMirror(Mirror[Any]):
    def _differences(self, entries: Iterable[Entry]) -> list[Changed]:
        held = self._revisions
        known = [entry for entry in entries if entry.revision >= held.get(entry.key, -1)]
        older = [entry.key for entry in entries if entry.revision < held.get(entry.key, -1)]
        kept = {key: held.pop(key) for key in older}
        changes = super()._differences(known)
        held.update(kept)
        return changes


class ProudPlane(Plane):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        for name, each in self.mirrors.items():
            self.mirrors[name] = ProudMirror(each.resource)
            self.mirrors[name].failure_detector = each.failure_detector


plant = replacing(plane=ProudPlane)
