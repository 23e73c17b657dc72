"""Zoo 17: a turn begins although the mirror does not show the controller's last writes, and counts too few."""

from __future__ import annotations

from fairlead.control.own_writes import Write
from fairlead.control.plane import Plane
from fairlead.sim.parts import Parts
from fairlead.sim.zoo.wrapping import fresh_names, wrap


class ForgetfulPlane(Plane):
    def _seen(self, write: Write) -> bool:
        return True


def plant(parts: Parts) -> Parts:
    return {**wrap(parts, "replicaset", fresh_names), "plane": ForgetfulPlane}
