"""Who is signed in while a server runs: takes tokens as they are made and revoked, and ends what is no longer allowed.

Made by `serving.py`. Streams are opened once and go on: watches, and logs and commands that are handed on to nodes.
They end with the token or the grant that they were opened with.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from fairlead.api.access.breakglass.in_force import AccessGrants
from fairlead.api.access.sign_in import SignIn
from fairlead.api.access.users import User
from fairlead.core.errors import OperatorError
from fairlead.runtime.clock import Clock
from fairlead.runtime.credentials.token_file import TokenFile

log = logging.getLogger("fairlead.runtime")

#: bound: tokens | a changed token table is noticed within | -
TOKENS_SECONDS = 1.0


class OpenStreams(Protocol):
    """What was opened for users, and goes on."""

    def keep(self, allowed: Callable[[User], bool]) -> None: ...

    def keep_granted(self, holds: Callable[[str], bool]) -> None: ...


class SignedIn:
    def __init__(
        self,
        sign_in: SignIn,
        tokens: TokenFile,
        grants: AccessGrants,
        streams: tuple[OpenStreams, ...],
        clock: Clock,
    ) -> None:
        self._sign_in = sign_in
        self._tokens = tokens
        self._grants = grants
        self._streams = streams
        self._clock = clock

    async def follow(self) -> None:
        """Tokens that were revoked on the command line stop working within a second, and what was opened with one that
        was revoked, has expired or lost what it was bound to, ends; new ones work at once."""
        while True:
            await asyncio.sleep(TOKENS_SECONDS)
            self.take_new_tokens()
            self._end_what_is_not_signed_in()

    def take_new_tokens(self) -> bool:
        try:
            changed = self._tokens.changed()
        except (OperatorError, OSError) as error:
            log.error("the token table stays as it was: %s", error)
            return False
        if changed is not None:
            self._sign_in.tokens = changed
            self._end_what_is_not_signed_in()
        return changed is not None

    def _end_what_is_not_signed_in(self) -> None:
        now = self._clock()
        for each in self._streams:
            each.keep(lambda user: self._sign_in.knows(user, now))
        self.end_what_is_not_granted()

    def end_what_is_not_granted(self) -> None:
        now = self._clock()
        for each in self._streams:
            each.keep_granted(lambda name: self._grants.holding(name, now) is not None)
