"""Faults of the server's disk, as a scenario scripts them; which object, and how much of it, is drawn.

row_rots      the row of an object decays; it is found when server and planes start again, all at once, and people give
              the object up `seconds` later
log_lost      the newest changes are gone from the log, which the mark of the revision tells
disk_full     for `seconds` there is room for leases and deletions only
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.model.key import Key
from fairlead.sim.chance import Chance
from fairlead.sim.incidents.observer import MishapObserver
from fairlead.sim.processes.planes import PlaneProcess
from fairlead.sim.processes.server import SimulatedServer
from fairlead.sim.scenario import DiskMishap
from fairlead.sim.time import Timeline

_RESTART_MS = 4_000
_LOST_MAX = 24  # changes
_MARK_AHEAD = 64  # revisions above the newest that the mark may have promised


class DiskMishaps:
    def __init__(
        self,
        timeline: Timeline,
        chance: Chance,
        server: SimulatedServer,
        planes: Sequence[PlaneProcess],
        told: MishapObserver,
    ) -> None:
        self._timeline, self._chance = timeline, chance
        self._server, self._planes, self._told = server, planes, told

    def begin(self, mishap: DiskMishap) -> None:
        self._chance.count(mishap.name)
        if mishap.name == "row_rots":
            self._rot(mishap)
        elif mishap.name == "log_lost":
            self._lose()
        else:
            self._server.disk.is_full = True
            self._timeline.after(int(mishap.seconds * 1000), self._free)

    def _rot(self, mishap: DiskMishap) -> None:
        self._server.crash()
        for plane in self._planes:
            plane.crash()
        resource = mishap.resources[self._draw("rot.resource", len(mishap.resources))]
        keys = [entry.key for entry in self._server.stored() if entry.key.resource == resource]
        key = keys[self._draw("rot.object", len(keys))]
        self._server.rot(key)
        self._timeline.after(200 + self._draw("server.restart", _RESTART_MS), self._found, key)
        self._timeline.after(int(mishap.seconds * 1000), self._told.give_up, key)

    def _found(self, key: Key) -> None:
        if not self._server.up:
            self._server.start()
        self._told.decayed(key)

    def _lose(self) -> None:
        self._server.crash()
        lost, ahead = (
            self._draw("lost.changes", _LOST_MAX),
            self._draw("lost.mark", _MARK_AHEAD),
        )
        self._server.lose(1 + lost, 1 + ahead)
        self._told.lost_changes(self._server.stored())
        self._timeline.after(200 + self._draw("server.restart", _RESTART_MS), self._start)

    def _start(self) -> None:
        if not self._server.up:
            self._server.start()
        self._told.mishap_over()

    def _draw(self, label: str, n: int) -> int:
        return self._chance.stream(label, "disk").choose(n)

    def _free(self) -> None:
        self._server.free_disk()
        self._told.mishap_over()
