"""The work queue of a simulated plane: production's, but that chance may have another ready key come first.

Nothing may rest on the order in which a queue hands out what is ready: it depends on when changes arrived. The world
gives every controller of a plane one of these (`world.py`), as production gives it a `WorkQueue`.
"""

from __future__ import annotations

from collections.abc import Callable

from fairlead.model.key import Key
from fairlead.queue.lines import FairLine
from fairlead.queue.settings import QueueSettings
from fairlead.queue.work import WorkQueue
from fairlead.sim.chance import FaultStream


class DrawnQueue(WorkQueue[Key]):
    def __init__(self, settings: QueueSettings, reorders: FaultStream, likely: Callable[[], float]) -> None:
        super().__init__(settings)
        self._reorders, self._likely = reorders, likely

    def _choose(self) -> FairLine[Key]:
        """The first goes to the end of its line, as if it had come later, and the one behind it has the turn."""
        line = super()._choose()
        if line.live > 1 and self._reorders.happens(self._likely()):
            line.push(line.take())
        return line
