"""What the wire borrows from the runtime: who is calling, what time it is, chance, and the store.

Also how code in this process uses the API: `call` takes the same Request through the same verbs, admission and
audit as any client's, without HTTP.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable

from fairlead.api.access.client_certificates import ClientCertificate
from fairlead.api.access.users import MASTERS, User
from fairlead.api.conversation import Conversation, Next, stored_reply
from fairlead.api.plan import Context
from fairlead.api.server import Api
from fairlead.core.errors import Unauthorized
from fairlead.port.request import Reply, Request
from fairlead.runtime.server.store_driver import StoreDriver
from fairlead.store.contract import CommitFailed, CommitOutcome, Note, Transaction

log = logging.getLogger("fairlead.runtime")

_ENTROPY_BYTES = 4096

# The plane's own hand, in audit and in messages.
PLANE = User("system:fairlead", groups=(MASTERS,))


class ServingHost:
    """Implements `wire.host.Host`."""

    def __init__(
        self,
        api: Api,
        driver: StoreDriver,
        tokens_changed: Callable[[], bool],
        clock: Callable[[], float],
    ) -> None:
        """`tokens_changed` looks whether the token table was replaced, and takes the new one over if so."""
        self.api = api
        self._tokens_changed = tokens_changed
        self._clock = clock
        self._entropy = b""  # drawn ahead; what is used is never used again
        self._entropy_used = 0
        self.submit: Callable[[Transaction, Callable[[CommitOutcome], None]], None] = driver.submit
        self.note: Callable[[tuple[Note, ...]], None] = driver.note
        self._losing = False  # lines of the audit log were not taken, and none was since

    def sign_in(self, authorization: str | None, path: str, shown: ClientCertificate | None = None) -> User:
        known = self.api.sign_in.remembered(authorization, shown)
        if known is not None:
            return known
        try:
            return self.api.sign_in.authenticate(authorization, path, self._clock(), shown)
        except Unauthorized:
            # A token that was made a moment ago must work at once; looking costs one stat.
            if authorization is None or not self._tokens_changed():
                raise
        return self.api.sign_in.authenticate(authorization, path, self._clock(), shown)

    def context(self, user: User, user_agent: str, source: str, impersonator: User | None = None) -> Context:
        # Asking the system costs as much for one request as for many.
        start = self._entropy_used
        if start == len(self._entropy):
            self._entropy, start = os.urandom(_ENTROPY_BYTES), 0
        self._entropy_used = start + 16
        entropy = self._entropy[start : start + 16]
        return Context(
            user=user,
            now=self._clock(),
            entropy=entropy,
            request_id=entropy[:8].hex(),
            user_agent=user_agent,
            source=source,
            impersonator=impersonator,
        )

    def record(self, notes: tuple[Note, ...], then: Callable[[], None]) -> None:
        """Keep lines of the audit log, then go on: also if they are not taken, as on a full disk. Those are counted."""

        def noted(outcome: CommitOutcome) -> None:
            audit = self.api.desk.audit
            if isinstance(outcome, CommitFailed):
                audit.lost(len(notes))
                if not self._losing:
                    log.error("lines of the audit log are not recorded, only counted: %s", outcome.message)
                self._losing = True
            elif self._losing:
                self._losing = False
                log.warning("%d lines of the audit log were not recorded", audit.unrecorded)
                self.record(audit.made_up(self.context(PLANE, "fairlead", "")), lambda: None)
            then()

        self.submit(Transaction(notes=notes), noted)

    def send(
        self, request: Request, user: User, done: Callable[[Reply], None], context: Context | None = None
    ) -> None:
        """One request from inside; `done` gets the reply, errors included, now or from a later callback. `context`: as
        it was made for it, by who wants to know its instant and its ids."""
        conversation = Conversation(self.api, request, context or self.context(user, "fairlead", ""))

        def go(step: Next) -> None:
            if isinstance(step, Transaction):
                self.submit(step, lambda outcome: go(conversation.resolved(outcome)))
            else:
                done(stored_reply(step))

        go(conversation.begin())

    async def call(self, request: Request, user: User = PLANE) -> Reply:
        """The same, awaited."""
        answered: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self.send(request, user, answered.set_result)
        return await answered
