"""Zoo: an autoscaler forgets what it has added once its own policies look back to it no more: each look begins a window
of its own, and a number that the bound allows becomes the base of the next."""

from __future__ import annotations

from typing import ClassVar

from fairlead.sim.zoo.waiting_read_as_demand import Unbounded
from fairlead.sim.zoo.wrapping import looking_through, spoiling


class Forgetful(Unbounded):
    """It reacts to what is blocked, within the bound of a window that is no longer than the period of a policy."""

    LIMITS: ClassVar[dict[str, float]] = {"amplificationMax": 1e6, "amplificationWindowSeconds": 1.0}


plant = spoiling("autoscaler", looking_through(Forgetful))
