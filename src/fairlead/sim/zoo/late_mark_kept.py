"""A node that is given up has its pods marked, and only what becomes of the node is looked at after that: a mark that
comes late, when the node is heard again, stays for ever."""

from __future__ import annotations

from dataclasses import replace

from fairlead.decision.decider import Decider
from fairlead.model.views import PODS
from fairlead.sim.zoo.wrapping import spoiling


def blind(inner: Decider) -> Decider:
    return replace(inner, wakes=tuple(each for each in inner.wakes if each.resource is not PODS))


plant = spoiling("release", blind)
