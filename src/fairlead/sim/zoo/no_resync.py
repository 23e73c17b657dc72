"""laws.md 1: what changed while a watch was away is taken over silently, and nothing ever looks at everything again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairlead.cache.events import Changed
from fairlead.cache.mirror import Mirror
from fairlead.control.plane import Plane
from fairlead.sim.parts import replacing
from fairlead.store.contract import Entry


class SilentMirror(Mirror[Any]):
    """Tells nobody what a second list brought."""

    def _differences(self, entries: Iterable[Entry]) -> list[Changed]:
        is_first = not self.lists - 1
        changes = super()._differences(entries)
        return changes if is_first else []


class UnsyncedPlane(Plane):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        for name, each in self.mirrors.items():
            self.mirrors[name] = SilentMirror(each.resource)
            self.mirrors[name].failure_detector = each.failure_detector

    def _resync(self, now: float, spread: float) -> None:
        if not self._resync_at:
            super()._resync(now, spread)
        self._resync_at = now + 1e9


plant = replacing(plane=UnsyncedPlane)
