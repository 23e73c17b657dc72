"""Garbage is what was there when its owner went. A child that arrives afterwards, as late requests do where the API
judges no premises, is nobody's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from fairlead.decision.decider import Decider, KeysOf, WatchEvent
from fairlead.model.key import Key
from fairlead.model.views import View
from fairlead.reconcile.garbage import NAME
from fairlead.sim.zoo.wrapping import spoiling


def unwary(inner: Decider) -> Decider:
    """Looks at everything but at what has just come."""
    wakes = tuple(replace(each, keys=partial(_unless_new, each.keys)) for each in inner.wakes)
    return replace(inner, wakes=wakes, unsettled=lambda view: ())


def _unless_new(keys: KeysOf[View], event: WatchEvent[View]) -> Iterable[Key]:
    return keys(event) if event.before is not None else ()


plant = spoiling(NAME, unwary)
