"""events-flow: where pods are bound, people are told; Events do not wait for a clock to come back."""

from __future__ import annotations

from fairlead.model.views import PODS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation

# Those of a few may have been lost with planes that crashed and requests that were lost.
_UNTOLD_MAX = 5

_UNTOLD_SECONDS = 60.0


class EventsFlow:
    name = "events-flow"
    sees = frozenset({"events", PODS.name})

    def __init__(self) -> None:
        self._untold: list[float] = []  # when pods were bound since an Event was last written

    def saw(self, sight: SeenChange) -> None:
        if sight.key.resource == "events":
            self._untold.clear()
        elif sight.key.resource == PODS.name and sight.by_scheduler and _is_binding(sight):
            self._untold.append(sight.seconds)

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        waited = [at for at in self._untold if at < seconds - _UNTOLD_SECONDS]
        if len(waited) > _UNTOLD_MAX:
            raise Violation(
                self.name, f"{len(waited)} pods were bound since {waited[0]:.0f} s, and no Event was written"
            )


def _is_binding(sight: SeenChange) -> bool:
    before, after = sight.before, sight.after
    return after is not None and bool(after.spec.node_name) and not (before and before.spec.node_name)
