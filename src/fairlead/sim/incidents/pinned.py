"""Faults of planes and the server at an instant that a scenario names.

plane_crash            it dies, and is started again a little later
plane_pause            it stands still for `seconds`
partition              nothing passes between it and the server for `seconds`
partition_of_replies   what it says arrives, what it is told does not, for `seconds`
partition_of_requests  its watches bring what there is, what it asks for does not arrive, for `seconds`
watch_delay            its lists and its watch of one resource bring nothing for `seconds`
watch_relist           its watch of one resource expires: it looks through all of them again
watches_cut            all its watches break
watches_expire         and there is nothing they could go on from
server_crash           the API server dies, and is started again a little later

Those of one write are choices like any other, forced from here: `nth` of them from this instant on.

request_lost, request_late, reply_lost     what becomes of the call (`sim/network.py`)
crash_before_write, crash_after_write      the plane dies as it is sent, or when it is on its way
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.sim.calls import FATES
from fairlead.sim.chance import Chance
from fairlead.sim.processes.planes import PlaneProcess
from fairlead.sim.processes.server import SimulatedServer
from fairlead.sim.scenario import PinnedFault
from fairlead.sim.time import Timeline

LEADER, STANDBY, EVERY = "leader", "standby", "every plane"
CRASHES = ("crash_before_write", "crash_after_write")
_RESTART_MS = 8_000
_LATE_MS = 2_000


class PinnedFaults:
    def __init__(
        self, timeline: Timeline, chance: Chance, server: SimulatedServer, planes: Sequence[PlaneProcess]
    ) -> None:
        self._timeline, self._chance, self._server, self._planes = timeline, chance, server, planes

    def begin(self, fault: PinnedFault) -> None:
        if fault.name == "server_crash":
            self._chance.count(fault.name, "server")
            self._crash_server()
            return
        for plane in self._meant(fault.process):
            if fault.name in FATES:
                self._pin_fate(plane, fault)
            elif fault.name in CRASHES:
                self._pin_crash(plane, fault)
            else:
                self._chance.count(fault.name, f"{plane.name} {fault.resource}".rstrip())
                self._strike(plane, fault)

    def _meant(self, process: str) -> list[PlaneProcess]:
        if process == EVERY:
            return list(self._planes)
        leads = next(
            (each for each in self._planes if each.up and each.plane.leadership.leads), self._planes[0]
        )
        if process == LEADER:
            return [leads]
        return [
            each
            for each in self._planes
            if (each is not leads if process == STANDBY else each.name == process)
        ]

    def _strike(self, plane: PlaneProcess, fault: PinnedFault) -> None:
        link, ms = plane.link, int(fault.seconds * 1000)
        until = self._timeline.ms + ms
        match fault.name:
            case "plane_crash":
                plane.crash()
            case "plane_pause":
                plane.pause(ms)
            case "partition":
                link.cut_until = until
            case "partition_of_replies":
                link.deaf_until = until
            case "partition_of_requests":
                link.mute_until = until
            case "watch_delay":
                link.stalled[fault.resource] = until
            case "watch_relist":
                link.expire(fault.resource)
            case "watches_cut":
                link.break_watches()
            case "watches_expire":
                self._server.expire_history()
                link.break_watches()
            case name:
                raise ValueError(f"no fault is called {name}")

    def _pin_fate(self, plane: PlaneProcess, fault: PinnedFault) -> None:
        actor = f"{plane.name} {fault.call}"
        self._chance.faults("call", actor).pin(1 + FATES.index(fault.name), fault.nth)
        if fault.name == "request_late":
            self._chance.stream("call.late", actor).pin(_LATE_MS)

    def _pin_crash(self, plane: PlaneProcess, fault: PinnedFault) -> None:
        actor = f"{plane.name} {fault.call}"
        self._chance.faults("crash_at_write", actor).pin(1, fault.nth)
        self._chance.stream("crash.sent", actor).pin(CRASHES.index(fault.name))

    def _crash_server(self) -> None:
        self._server.crash()
        self._timeline.after(
            200 + self._chance.stream("server.restart", "").choose(_RESTART_MS), self._restart_server
        )

    def _restart_server(self) -> None:
        if not self._server.up:
            self._server.start()
