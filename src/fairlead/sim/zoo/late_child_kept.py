"""Garbage is what was there when its owner went. A child that arrives afterwards, as late requests do where the API
judges no premises, is nobody's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fairlead.decision.contract import Reading
from fairlead.model.views import View
from fairlead.reconcile.garbage import NAME
from fairlead.sim.parts import Parts
from fairlead.sim.zoo.wrapping import Wrapped, wrap
from fairlead.store.contract import Key


class Unwary(Wrapped):
    """Looks at everything but at what has just come."""

    def adopters(
        self, view: Reading, resource: str, before: View | None, after: View | None
    ) -> Iterable[Key]:
        found: Iterator[Key] = self.inner.adopters(view, resource, before, after)  # type: ignore[attr-defined]
        return found if before is not None else ()

    def unsettled(self, view: Reading) -> Iterable[Key]:
        return ()


def plant(parts: Parts) -> Parts:
    return wrap(parts, NAME, Unwary)
