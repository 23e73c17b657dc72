"""Zoo 6: the certificate is made together with the Deployment, which comes first. Who finds a Deployment takes the rest
to be there: after a death between the two the application runs without."""

from __future__ import annotations

from fairlead.decision.decider import Decider
from fairlead.decision.effects import Effect
from fairlead.model.views import Deployment
from fairlead.sim.worlds.operator import NAME, App, Operator
from fairlead.sim.zoo.wrapping import spoiling


class Together(Operator):
    def steps(self, app: App, certificate: App | None, deployment: Deployment | None) -> tuple[Effect, ...]:
        if deployment is not None:
            return super().steps(app, app, deployment)  # something is in its place: that will do
        made = (self.deployment(app, None), self.certificate(app, certificate))
        return tuple(each for each in made if each is not None)


def together(inner: Decider) -> Decider:
    return Together().decider()


plant = spoiling(NAME, together)
