"""A second API server on the same store, which is behind: lists and watches through it show the state of some time ago.

Writes and single reads of either server go to the store and are judged there, as with two servers of one Kubernetes
cluster; what a server lists and streams comes from its own memory. How far it is behind is drawn anew every few
seconds, and what it has known it goes on knowing. `network.py` connects a list or a watch to it by the fault
`older_server`; when faults are over it has caught up.
"""

from __future__ import annotations

from fairlead.sim.chance import Chance
from fairlead.sim.time import Timeline

_EVERY_MS = 10_000
_BEHIND_MS_MIN, _BEHIND_MS = 1_000, 14_000
LOOK_AGAIN_MS = 500  # of a watch that waits for the server to learn of a change


class OlderServer:
    def __init__(self, timeline: Timeline, chance: Chance) -> None:
        self._timeline = timeline
        self._behind = chance.stream("older_server.behind")
        self._behind_ms = 0
        self._drawn_at = -_EVERY_MS
        self._known_ms = 0

    def knows_until(self) -> int:
        """The moment up to which it knows what was committed."""
        now = self._timeline.ms
        if now >= self._drawn_at + _EVERY_MS:
            self._drawn_at = now
            self._behind_ms = _BEHIND_MS_MIN + self._behind.choose(_BEHIND_MS)
        self._known_ms = max(self._known_ms, now - self._behind_ms)
        return self._known_ms
