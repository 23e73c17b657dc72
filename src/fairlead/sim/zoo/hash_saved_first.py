"""Zoo 7: what is to run is noted before the pods are changed, and what is noted is not done again."""

from __future__ import annotations

from fairlead.decision.decider import Decider
from fairlead.decision.effects import Effect
from fairlead.model.views import Deployment
from fairlead.sim.worlds.operator import NAME, App, Operator
from fairlead.sim.zoo.wrapping import spoiling


class NotesFirst(Operator):
    def steps(self, app: App, certificate: App | None, deployment: Deployment | None) -> tuple[Effect, ...]:
        note = self.note(app)
        if certificate is None or deployment is None:
            return super().steps(app, certificate, deployment)
        if note is None:
            return ()
        update = self.update(app, deployment)
        return (note,) if update is None else (note, update)


def notes_first(inner: Decider) -> Decider:
    return NotesFirst().decider()


plant = spoiling(NAME, notes_first)
