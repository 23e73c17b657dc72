"""When a policy changes, the nodes that are in trouble are looked at, but not those that are gone: what is still bound
to them stays there until everything is looked at again."""

from __future__ import annotations

from dataclasses import replace

from fairlead.decision.decider import Decider, Wake
from fairlead.decision.wakes import each_of
from fairlead.model.views import EVIDENCE_POLICIES, NODES
from fairlead.reconcile.nodes.release import is_in_trouble
from fairlead.sim.zoo.wrapping import spoiling


def blind(inner: Decider) -> Decider:
    others = (each for each in inner.wakes if each.resource is not EVIDENCE_POLICIES)
    return replace(inner, wakes=(*others, Wake(EVIDENCE_POLICIES, each_of(NODES, is_in_trouble))))


plant = spoiling("release", blind)
