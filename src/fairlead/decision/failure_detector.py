"""A failure detector: when each object's version arrived, and how long another could have been heard since.

Kept by the mirror (`cache/mirror.py`) of a resource whose silence somebody judges, such as the leases of nodes, and by
the API for these leases (`api/heard_nodes.py`). Silence is measured by the observer's own clock, and only up to when
anything was heard of the server: an observer that is cut off, or that was stopped, hears of nobody, which says nothing
about them. A pause longer than `PAUSE_SECONDS_MAX` therefore counts as that long and no longer. No clock: instants come
with the events.
"""

from __future__ import annotations

from fairlead.decision.contract import Sighting, Silent
from fairlead.model.key import Key

# The leader renews its own lease every few seconds, and hears of it through the same watch.
#: bound: plane | a pause that counts as silence | nobody's
PAUSE_SECONDS_MAX = 15.0


class FailureDetector:
    __slots__ = ("_deaf", "_sightings", "heard_at")

    def __init__(self) -> None:
        self.heard_at = 0.0
        self._deaf = 0.0  # seconds in which nothing could be heard, all in all
        self._sightings: dict[Key, tuple[float, float]] = {}  # -> (when, deaf then)

    def heartbeat(self, now: float) -> None:
        """Anything at all arrived."""
        if self.heard_at:
            self._deaf += max(0.0, now - self.heard_at - PAUSE_SECONDS_MAX)
        self.heard_at = max(self.heard_at, now)

    def observe(self, key: Key) -> None:
        """This version arrived with what was just heard."""
        self._sightings[key] = (self.heard_at, self._deaf)

    def forget(self, key: Key) -> None:
        self._sightings.pop(key, None)

    def sighting(self, key: Key) -> Sighting | None:
        found = self._sightings.get(key)
        return None if found is None else Sighting(found[0], self._silence(*found))

    def silent(self, namespace: str, seconds: float) -> Silent:
        """Objects whose present version has been the newest for so long."""
        names: dict[str, Sighting] = {}
        longest = -1.0
        for key, found in self._sightings.items():
            if key.namespace != namespace:
                continue
            silence = self._silence(*found)
            if silence >= seconds:
                names[key.name] = Sighting(found[0], silence)
            elif silence > longest:
                longest = silence
        # In the order of names: two mirrors that know the same tell it alike.
        return Silent(
            {name: names[name] for name in sorted(names)}, seconds - longest if longest >= 0 else 0.0
        )

    def _silence(self, at: float, deaf: float) -> float:
        return self.heard_at - at - (self._deaf - deaf)
