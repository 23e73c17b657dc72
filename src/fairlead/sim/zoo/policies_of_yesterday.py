"""A server that judges by the policies as they were when it started: changes reach its store, and not its judgement."""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from fairlead.api.access.sign_in import SignIn
from fairlead.api.admission.policies.in_force import RESOURCES, Policies
from fairlead.api.desk import Desk
from fairlead.api.plan import Context, Plan, Step
from fairlead.api.server import Api
from fairlead.port.request import Request
from fairlead.sim.parts import replacing


class YesterdaysApi(Api):
    def __init__(self, desk: Desk, sign_in: SignIn) -> None:
        policies = Policies()
        policies.learn(desk.read)
        super().__init__(replace(desk, policies=policies), sign_in)

    def plan(self, request: Request, context: Context) -> Step:
        """Nor does it notice that what it judged by is no longer there."""
        step = super().plan(request, context)
        if not isinstance(step, Plan):
            return step
        given = step.transaction
        kept = tuple(
            each
            for each in given.preconditions
            if each.key.resource not in RESOURCES or each.key == given.operations[-1].key
        )
        return structs.replace(step, transaction=structs.replace(given, preconditions=kept))


plant = replacing(api=YesterdaysApi)
