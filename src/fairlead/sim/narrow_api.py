"""An API that can do no more than Kubernetes: fences and premises mean nothing to it, a binding only binds.

For worlds whose scenario says so (`Scenario.capabilities`). Everything else is the API of production.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from msgspec import structs

from fairlead.api.access.sign_in import SignIn
from fairlead.api.charging import PLACEMENT
from fairlead.api.desk import Desk
from fairlead.api.plan import Context, Step
from fairlead.api.server import Api
from fairlead.port.capabilities import Capabilities
from fairlead.port.request import Request
from fairlead.store.contract import Entry, Reader

MakeApi = Callable[[Desk, SignIn], Api]


class _WithoutQuotas:
    """What is stored, but for placement quotas, which such an API does not know to be limits."""

    def __init__(self, read: Reader) -> None:
        self._read = read

    def list(self, resource: str, namespace: str = "") -> Sequence[Entry]:
        return () if resource == PLACEMENT else self._read.list(resource, namespace)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._read, name)


class _NarrowApi(Api):
    __slots__ = ("_binds", "_rest")

    def __init__(self, make: MakeApi, desk: Desk, sign_in: SignIn) -> None:
        super().__init__(desk, sign_in)
        bare: Any = _WithoutQuotas(desk.read)
        self._rest, self._binds = make(desk, sign_in), make(replace(desk, read=bare), sign_in)

    def plan(self, request: Request, context: Context) -> Step:
        request = structs.replace(request, premises=())
        return (self._binds if request.subresource == "binding" else self._rest).plan(request, context)


def narrow(make: MakeApi, capabilities: Capabilities) -> MakeApi:
    if capabilities.fencing or capabilities.premises or capabilities.charging:
        raise ValueError(
            "the simulator knows an API that can do all of it, and one that can do nothing of it"
        )
    return lambda desk, sign_in: _NarrowApi(make, desk, sign_in)
