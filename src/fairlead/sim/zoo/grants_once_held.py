"""A server that takes a grant which it once let pass for one that holds: its end is not looked at again."""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from fairlead.api.access.authz import builtin_chain
from fairlead.api.access.breakglass.in_force import AccessGrants, HeldGrant
from fairlead.api.access.contract import AccessVerdict, Attributes
from fairlead.api.access.sign_in import SignIn
from fairlead.api.desk import Desk
from fairlead.api.server import Api
from fairlead.sim.parts import replacing


class RememberedGrants(AccessGrants):
    """Asks with the instant at which it last said yes."""

    __slots__ = ("_let_pass",)

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk.grants)
        self._by_name = desk.access_grants._by_name  # what is committed reaches it
        self._let_pass: dict[str, float] = {}  # by user

    def authorize(self, asked: Attributes) -> AccessVerdict:
        verdict = super().authorize(asked)
        if verdict.allowed:
            self._let_pass.setdefault(asked.user.name, asked.now)
            return verdict
        earlier = self._let_pass.get(asked.user.name)
        return super().authorize(structs.replace(asked, now=earlier)) if earlier and asked.now else verdict

    def holding(self, name: str, now: float) -> HeldGrant | None:
        return self._by_name.get(name)


class RememberingApi(Api):
    def __init__(self, desk: Desk, sign_in: SignIn) -> None:
        grants = RememberedGrants(desk)
        chain = builtin_chain(desk.read, desk.grants, grants)
        super().__init__(replace(desk, authorizer=chain, access_grants=grants), sign_in)


plant = replacing(api=RememberingApi)
