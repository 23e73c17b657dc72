"""A server that takes the right to an address for the right to what is written there: whoever may write to the approval
of a certificate request may approve it, whoever's signer it is for."""

from __future__ import annotations

from dataclasses import replace

from fairlead.api.access.contract import AccessRules, AccessVerdict, Attributes
from fairlead.api.access.sign_in import SignIn
from fairlead.api.access.users import User
from fairlead.api.desk import Desk
from fairlead.api.server import Api
from fairlead.sim.parts import replacing


class SignerBlindAuthorizer:
    """Asks nobody about signers."""

    def __init__(self, desk: Desk) -> None:
        self._given = desk.authorizer

    def authorize(self, asked: Attributes) -> AccessVerdict:
        if asked.plural == "signers":
            return AccessVerdict("allowed", "")
        return self._given.authorize(asked)

    def rules_for(self, user: User, namespace: str) -> AccessRules:
        return self._given.rules_for(user, namespace)


class AddressApi(Api):
    def __init__(self, desk: Desk, sign_in: SignIn) -> None:
        super().__init__(replace(desk, authorizer=SignerBlindAuthorizer(desk)), sign_in)


plant = replacing(api=AddressApi)
