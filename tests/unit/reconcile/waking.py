"""Which keys a change wakes, as the plane finds them, for tests of what a Decider declares in `wakes`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.decision.contract import Reading
from fairlead.decision.decider import Decider, WatchEvent, key_of
from fairlead.model.key import Key
from fairlead.model.views import View
from tests.unit.reconcile.world import World


def woken(
    decider: Decider, resource: str, before: View | None, after: View | None, view: Any = None
) -> Iterator[Key]:
    """`view`: what there is besides; None: nothing."""
    newest = after if after is not None else before
    key = key_of(resource, newest) if newest is not None else Key(resource, "", "default")
    shown: Reading = view if view is not None else World()
    return decider.woken_by(WatchEvent(shown, key, before, after))
