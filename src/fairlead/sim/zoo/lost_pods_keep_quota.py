"""A quota equal to the replicas is full for ever: the server counts the pod of a lost node beside its replacement.

Released pods look like any others where quotas are charged, so that none of them hands anything over.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from msgspec import structs

from fairlead.api.access.sign_in import SignIn
from fairlead.api.desk import Desk
from fairlead.api.server import Api
from fairlead.model.key import Key
from fairlead.model.marks import RELEASED
from fairlead.sim.parts import replacing
from fairlead.store.contract import Entry, Reader

_RELEASED, _UNKNOWN = RELEASED.encode(), RELEASED.lower().encode()


class Unheard:
    """Reads as another does, but that pods bear no mark of a release in their newest version."""

    def __init__(self, inner: Reader) -> None:
        self._inner = inner

    def newest(self, key: Key) -> Entry | None:
        found = self._inner.newest(key)
        if found is None or _RELEASED not in found.data:
            return found
        return structs.replace(found, data=found.data.replace(_RELEASED, _UNKNOWN))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class StingyApi(Api):
    __slots__ = ()

    def __init__(self, desk: Desk, sign_in: SignIn) -> None:
        unheard: Any = Unheard(desk.read)
        super().__init__(replace(desk, read=unheard), sign_in)


plant = replacing(api=StingyApi)
