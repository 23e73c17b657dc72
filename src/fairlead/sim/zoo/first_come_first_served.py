"""The queue hands out keys in the order in which they came: repair waits behind whatever was there before."""

from __future__ import annotations

from fairlead.model.key import Key
from fairlead.queue.lines import FairLine
from fairlead.sim.parts import replacing
from fairlead.sim.processes.queues import DrawnQueue


class PlainQueue(DrawnQueue):
    def _choose(self) -> FairLine[Key]:
        while not self._arrivals[0].is_ready:
            self._arrivals.popleft()
        return self._lines[self._arrivals[0].priority]


plant = replacing(queue=PlainQueue)
