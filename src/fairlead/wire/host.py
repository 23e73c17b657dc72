"""What `handler.py` asks of the process that it serves for: `runtime/server/` has both, tests their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from fairlead.api.access.client_certificates import ClientCertificate
from fairlead.api.access.users import User
from fairlead.api.plan import Context, NodeQuestion, NodeStream
from fairlead.api.server import Api
from fairlead.port.request import Reply
from fairlead.store.contract import CommitOutcome, Note, Transaction
from fairlead.wire.exchange import Exchange


class Host(Protocol):
    """What the runtime lends: identity, time, chance and the store."""

    api: Api

    def sign_in(self, authorization: str | None, path: str, shown: ClientCertificate | None) -> User: ...

    def context(
        self, user: User, user_agent: str, source: str, impersonator: User | None = None
    ) -> Context: ...

    def submit(self, transaction: Transaction, done: Callable[[CommitOutcome], None]) -> None: ...

    def record(self, notes: tuple[Note, ...], then: Callable[[], None]) -> None:
        """Keep lines that belong to no change, then go on, whether they could be kept or not."""
        ...


class NodeAgents(Protocol):
    """How to ask the agents of nodes; all that is given is called back on the loop, once."""

    def stream(
        self,
        exchange: Exchange,
        asked: NodeStream,
        user: User,
        began: Callable[[], None],
        refused: Callable[[Exception], None],
    ) -> None:
        """Answers the exchange, or calls `refused`."""
        ...

    def ask(self, asked: NodeQuestion, done: Callable[[Reply | Exception], None]) -> None: ...
