"""A server that judges by what is durable alone: of a policy or a role that is on its way to the disk it knows nothing,
and what it plans meanwhile is committed after it."""

from __future__ import annotations

from dataclasses import replace

from fairlead.api.access.sign_in import SignIn
from fairlead.api.desk import Desk
from fairlead.api.pending_rules import RulesUnderWay
from fairlead.api.server import Api
from fairlead.sim.parts import replacing
from fairlead.store.contract import Transaction


class NothingUnderWay(RulesUnderWay):
    def began(self, transaction: Transaction) -> None:
        """Nothing is noted."""

    def ended(self, transaction: Transaction) -> None:
        """Nothing was."""


class DurableApi(Api):
    def __init__(self, desk: Desk, sign_in: SignIn) -> None:
        super().__init__(replace(desk, under_way=NothingUnderWay()), sign_in)


plant = replacing(api=DurableApi)
