"""Zoo: a pod that its deadline ended runs again only after its status was written: where the server has no room for
that, it never does."""

from __future__ import annotations

from fairlead.agent.machine import Agent
from fairlead.agent.pod.worker import PodWorker
from fairlead.agent.pod.writes import Writes
from fairlead.sim.parts import replacing


class Insisting(Writes):
    @property
    def stuck(self) -> bool:
        return False


class TellingFirst(Agent):
    def _work(self, uid: str) -> PodWorker:
        work = super()._work(uid)
        if not isinstance(work.writes, Insisting):
            work.writes = Insisting()
        return work


plant = replacing(agent=TellingFirst)
