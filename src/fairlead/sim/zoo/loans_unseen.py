"""A lender gets all of its own though others have borrowed of it: whoever charges does not see who borrows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fairlead.api.access.sign_in import SignIn
from fairlead.api.charging import PLACEMENT
from fairlead.api.desk import Desk
from fairlead.api.server import Api
from fairlead.sim.parts import replacing
from fairlead.store.contract import Entry, Reader


class WithoutLoans:
    """Reads as another does, but that a look at the quotas of all namespaces leaves out those that borrow."""

    def __init__(self, inner: Reader) -> None:
        self._inner = inner

    def list(self, resource: str, namespace: str = "") -> Sequence[Entry]:
        found = self._inner.list(resource, namespace)
        if resource != PLACEMENT or namespace:
            return found
        return [each for each in found if b'"borrowed"' not in each.data]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class GenerousApi(Api):
    __slots__ = ()

    def __init__(self, desk: Desk, sign_in: SignIn) -> None:
        blind: Any = WithoutLoans(desk.read)
        super().__init__(replace(desk, read=blind), sign_in)


plant = replacing(api=GenerousApi)
