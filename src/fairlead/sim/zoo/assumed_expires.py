"""Zoo 11: a placement that is not confirmed within a few seconds is forgotten, and its room given away once more."""

from __future__ import annotations

from fairlead.control.instructions import Outbox
from fairlead.control.placing import Placer
from fairlead.model.key import Key
from fairlead.sim.parts import replacing

_TTL_SECONDS = 3.0


class ForgetfulPlacer(Placer):
    _since: dict[Key, float]

    def step(self, now: float, out: Outbox) -> None:
        assumed = self.snapshot.assumed
        known = getattr(self, "_since", {})
        self._since = {key: known.get(key, now) for key in assumed}
        for key, since in self._since.items():
            if now - since > _TTL_SECONDS:
                self.snapshot.forget(key, assumed[key].uid)
                self.waiting.caused("pods.deleted", now)  # there is room again
        super().step(now, out)

    def next_at(self, now: float) -> float:
        """Also when the oldest of them is to be forgotten."""
        due = [
            since + 1.1 * _TTL_SECONDS for key, since in self._since.items() if key in self.snapshot.assumed
        ]
        return min(filter(None, (super().next_at(now), *due)), default=0.0)


plant = replacing(scheduler=ForgetfulPlacer)
