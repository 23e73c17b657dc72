"""Faults of whole processes: every few seconds, while faults are on, chance may begin one incident.

Kinds and weights stand in `sim/faults.py`; what each does is here.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.sim.chance import Chance
from fairlead.sim.faults import Faults
from fairlead.sim.incidents.nodes import NodeIncidents
from fairlead.sim.processes.agents import AgentProcess
from fairlead.sim.processes.planes import PlaneProcess
from fairlead.sim.processes.server import SimulatedServer
from fairlead.sim.time import Timeline

EVERY_MS = 5_000


class Incidents:
    def __init__(
        self,
        timeline: Timeline,
        chance: Chance,
        server: SimulatedServer,
        planes: Sequence[PlaneProcess],
        agents: Sequence[AgentProcess] = (),
    ) -> None:
        self._timeline = timeline
        self._chance = chance
        self._drawn = chance.faults("incident")
        self._server = server
        self._planes = planes
        self.of_nodes = NodeIncidents(timeline, chance, planes, agents)

    def perhaps(self, faults: Faults) -> None:
        """Draw whether one begins now, and which."""
        total = sum(weight for _, weight in faults.incidents) or 1
        share = faults.incident / total
        name = self._drawn.pick(tuple((each, weight * share) for each, weight in faults.incidents))
        if name:
            self._begin(name)

    def _begin(self, name: str) -> None:
        server, ms = self._server, self._timeline.ms
        plane = self._planes[self._draw("incident.plane", name, len(self._planes))]
        if name == "plane_crash":
            plane.crash()
        elif name == "plane_pause":
            plane.pause(1_000 + self._draw("pause", plane.name, 45_000))
        elif name == "plane_slow":
            late = 100 + self._draw("slow.late", plane.name, 4_000)
            plane.slow_down(1_000 + self._draw("slow", plane.name, 40_000), late)
        elif name == "server_clock_set":
            server.set_clock()
        elif name == "disk_full":
            server.disk.is_full = True
            self._timeline.after(500 + self._draw("disk.full", "", 20_000), server.free_disk)
        elif name == "server_crash":
            server.crash()
            self._timeline.after(200 + self._draw("server.restart", "", 8_000), self._restart_server)
        elif name == "partition":
            plane.link.cut_until = ms + 1_000 + self._draw("partition", plane.name, 40_000)
        elif name == "partition_of_replies":
            plane.link.deaf_until = ms + 1_000 + self._draw("partition.replies", plane.name, 25_000)
        elif name == "partition_of_requests":
            plane.link.mute_until = ms + 1_000 + self._draw("partition.requests", plane.name, 25_000)
        elif name == "watches_expire":
            server.expire_history()
            plane.link.break_watches()
        elif name == "watches_cut":
            plane.link.break_watches()
        elif name == "plane_clock_set":
            plane.set_wall_clock(self.of_nodes.wrong_by())
        else:
            self.of_nodes.begin(name)

    def _draw(self, label: str, actor: str, n: int) -> int:
        """About the incident that begins now."""
        return self._chance.details(label, self._drawn, actor).choose(n)

    def _restart_server(self) -> None:
        if not self._server.up:
            self._server.start()
