"""What a mirror does not show of an owner's dependents is taken not to be there, though its watch may lag."""

from __future__ import annotations

from typing import Any

from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.model.key import Key
from fairlead.model.views import Resource
from fairlead.sim.parts import Parts
from fairlead.sim.zoo.wrapping import deciding, wrap


class SureView:
    """A view that claims to show everything."""

    def __init__(self, view: Reading) -> None:
        self._view = view

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)

    def shows(self, resource: Resource[Any], revision: int) -> bool:
        return True


@deciding
def hasty(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    return inner.decide(SureView(view), key, now)


def plant(parts: Parts) -> Parts:
    return wrap(parts, "garbage-collector", hasty)
