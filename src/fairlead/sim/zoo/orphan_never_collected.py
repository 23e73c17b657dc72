"""Zoo 16: garbage is what its owner's deletion was seen to leave behind. Whatever lost its owner unseen stays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fairlead.decision.contract import Reading
from fairlead.model.views import View
from fairlead.reconcile.garbage import NAME
from fairlead.sim.parts import Parts
from fairlead.sim.zoo.wrapping import Wrapped, wrap
from fairlead.store.contract import Key


class SightedCollector(Wrapped):
    """Looks at what belongs to an object when that goes, and at nothing else, ever."""

    def adopters(
        self, view: Reading, resource: str, before: View | None, after: View | None
    ) -> Iterable[Key]:
        found: Iterator[Key] = self.inner.adopters(view, resource, before, after)  # type: ignore[attr-defined]
        return found if before is not None else ()

    def unsettled(self, view: Reading) -> Iterable[Key]:
        return ()


def plant(parts: Parts) -> Parts:
    return wrap(parts, NAME, SightedCollector)
