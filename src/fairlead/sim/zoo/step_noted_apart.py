"""An API that does what a step of a runbook asks and leaves it to others to note that it was done."""

from __future__ import annotations

from msgspec import structs

from fairlead.api.plan import Context, Plan, Step
from fairlead.api.server import Api
from fairlead.model.kinds.runbook import RUN
from fairlead.port.request import Request
from fairlead.sim.parts import replacing


class AbsentMindedApi(Api):
    def plan(self, request: Request, context: Context) -> Step:
        step = super().plan(request, context)
        if not isinstance(step, Plan) or request.plural == RUN.plural:
            return step
        given = step.transaction
        kept = tuple(each for each in given.operations if each.key.resource != RUN.resource)
        return structs.replace(step, transaction=structs.replace(given, operations=kept))


plant = replacing(api=AbsentMindedApi)
