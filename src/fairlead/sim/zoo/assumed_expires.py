"""Zoo 11: a placement that is not confirmed within a few seconds is forgotten, and its room given away once more."""

from __future__ import annotations

from fairlead.control.instructions import Outbox
from fairlead.control.placing import Placer
from fairlead.model.key import Key
from fairlead.sim.parts import Parts

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
        super().step(now, out)


def plant(parts: Parts) -> Parts:
    return {**parts, "scheduler": ForgetfulPlacer}
