"""Faults of whole processes: every few seconds, while faults are on, the tape may begin one incident.

Kinds and weights stand in `sim/faults.py`; what each does is here.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.sim.faults import Faults
from fairlead.sim.incidents.nodes import NodeIncidents
from fairlead.sim.processes.agents import AgentProcess
from fairlead.sim.processes.planes import PlaneProcess
from fairlead.sim.processes.server import SimulatedServer
from fairlead.sim.tape import Tape
from fairlead.sim.time import Timeline

EVERY_MS = 5_000


class Incidents:
    def __init__(
        self,
        timeline: Timeline,
        tape: Tape,
        server: SimulatedServer,
        planes: Sequence[PlaneProcess],
        agents: Sequence[AgentProcess] = (),
    ) -> None:
        self._timeline = timeline
        self._tape = tape
        self._server = server
        self._planes = planes
        self.of_nodes = NodeIncidents(timeline, tape, planes, agents)

    def perhaps(self, faults: Faults) -> None:
        """Draw whether one begins now, and which."""
        tape = self._tape
        total = sum(weight for _, weight in faults.incidents)
        scale = int(total / faults.incident) if faults.incident else 0
        if not scale:
            return
        drawn = scale - 1 - tape.choose("incident", scale)  # 0 on tape is calm
        for name, weight in faults.incidents:
            drawn -= weight
            if drawn < 0:
                tape.count(name)
                self._begin(name)
                return

    def _begin(self, name: str) -> None:
        tape, server, ms = self._tape, self._server, self._timeline.ms
        plane = self._planes[tape.choose("incident.plane", len(self._planes))]
        if name == "plane_crash":
            plane.crash()
        elif name == "plane_pause":
            plane.pause(1_000 + tape.choose("pause", 45_000))
        elif name == "server_crash":
            server.crash()
            self._timeline.after(200 + tape.choose("server.restart", 8_000), self._restart_server)
        elif name == "partition":
            plane.link.cut_until = ms + 1_000 + tape.choose("partition", 40_000)
        elif name == "partition_of_replies":
            plane.link.deaf_until = ms + 1_000 + tape.choose("partition", 25_000)
        elif name == "watches_expire":
            server.expire_history()
            plane.link.break_watches()
        elif name == "watches_cut":
            plane.link.break_watches()
        elif name == "plane_clock_set":
            plane.set_wall_clock(self.of_nodes.wrong_by())
        else:
            self.of_nodes.begin(name)

    def _restart_server(self) -> None:
        if not self._server.up:
            self._server.start()
