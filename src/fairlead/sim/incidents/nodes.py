"""Faults of nodes and of whoever watches them. Drawn by `processes.py` where a world's faults name these, or scripted.

agent_crash          an agent dies; its pods go on
agent_pause          an agent is stopped, often for longer than its lease
agent_cut            nothing passes between a node and the API
agent_deaf           what a node says arrives, what it is told does not
agent_mute           a node's watches bring what there is, what it says does not arrive
zone_cut             a whole zone is cut off
node_flaps           a node is cut off and joined again, several times
power_loss           a machine goes dark, and comes back
process_crash        a process ends by itself
plane_away           the control plane is gone for everybody: no node reaches it, and it reaches nobody
monitor_cut          the plane that leads is cut off, or deaf
heartbeats_unheard   the plane that leads hears of everything but leases
agent_clock_set      the wall clock of a machine is set an hour back, ahead, or right
agent_slow           an agent hears everything seconds late
node_lies            a process ends by itself, and its agent does not learn of it for a while
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.ledger.evidence import NO_ZONE
from fairlead.model.marks import ZONE
from fairlead.model.views import LEASES
from fairlead.sim.chance import Chance
from fairlead.sim.processes.agents import AgentProcess
from fairlead.sim.processes.planes import PlaneProcess
from fairlead.sim.time import Timeline

_LONG_MS = 60_000
_FLAPS_MAX = 4
_WRONG_BY = (0.0, -3600.0, 3600.0)


class NodeIncidents:
    def __init__(
        self,
        timeline: Timeline,
        chance: Chance,
        planes: Sequence[PlaneProcess],
        agents: Sequence[AgentProcess],
    ) -> None:
        self.goes_on = False  # faults are on
        self._timeline, self._chance = timeline, chance
        self._planes, self._agents = planes, agents

    def begin(self, name: str) -> None:
        """The node and the duration are drawn, as details of the incident."""
        drawn, details = self._chance.faults("incident"), self._chance.details
        node = self._agents[details("incident.node", drawn, name).choose(len(self._agents))].settings.name
        self.inject(name, node, 1_000 + details("incident.ms", drawn, name).choose(_LONG_MS))

    def inject(self, name: str, node: str, ms: int) -> None:
        agent = next(each for each in self._agents if each.settings.name == node)
        until = self._timeline.ms + ms
        if name == "agent_crash":
            agent.crash()
        elif name == "agent_pause":
            agent.pause(ms)
        elif name == "agent_cut":
            agent.link.cut_until = until
        elif name == "agent_deaf":
            agent.link.deaf_until = until
        elif name == "agent_mute":
            agent.link.mute_until = until
        elif name == "zone_cut":
            for each in self._agents:
                if _zone(each) == _zone(agent):
                    each.link.cut_until = until
        elif name == "node_flaps":
            self._flap(agent, 1 + self._draw("flaps", node, _FLAPS_MAX))
        elif name == "power_loss":
            agent.lose_power(ms)
        elif name == "process_crash":
            agent.machine.crash_one()
        elif name == "plane_away":
            for link in (*(each.link for each in self._agents), *(each.link for each in self._planes)):
                link.cut_until = until
        elif name == "monitor_cut":
            link = self._leader().link
            if self._draw("monitor.deaf", "", 2):
                link.deaf_until = until
            else:
                link.cut_until = until
        elif name == "agent_clock_set":
            agent.set_wall_clock(self.wrong_by())
        elif name == "agent_slow":
            agent.slow_down(ms, 100 + self._draw("slow.late", agent.name, 4_000))
        elif name == "node_lies":
            agent.machine.hush(ms)
            agent.machine.crash_one()
        elif name == "heartbeats_unheard":
            self._leader().link.stalled[LEASES.name] = until
        else:
            raise ValueError(f"no incident is called {name}")

    def wrong_by(self) -> float:
        """Seconds by which a wall clock is now ahead."""
        return _WRONG_BY[self._draw("clock.set", "", len(_WRONG_BY))]

    def _flap(self, agent: AgentProcess, times: int) -> None:
        if not times or not self.goes_on:
            return
        away = 2_000 + self._draw("flap.away", agent.name, 30_000)
        agent.link.cut_until = self._timeline.ms + away
        back = away + 500 + self._draw("flap.back", agent.name, 12_000)
        self._timeline.after(back, self._flap, agent, times - 1)

    def _draw(self, label: str, actor: str, n: int) -> int:
        return self._chance.stream(label, actor).choose(n)

    def _leader(self) -> PlaneProcess:
        leading = [each for each in self._planes if each.up and each.plane.leadership.leads]
        return leading[0] if leading else self._planes[0]


def _zone(agent: AgentProcess) -> str:
    return agent.settings.labels.get(ZONE, NO_ZONE)
