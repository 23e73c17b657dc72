"""An agent that does not ask whose Lease it renews: of two that were given one name each runs all pods of the node."""

from __future__ import annotations

from msgspec import structs

from fairlead.agent.contract import NodeSettings
from fairlead.agent.machine import Agent
from fairlead.agent.pace import Pace
from fairlead.sim.parts import replacing


def unnamed(settings: NodeSettings, pace: Pace) -> Agent:
    return Agent(structs.replace(settings, instance=""), pace)


plant = replacing(agent=unnamed)
