"""Ways in which an API is unkind, on purpose and by seed: answers that come late, get lost, or are refusals.

`Door` stands between the listener and the handler of a Server in this process (`in_process.py`). What clients send
passes it; what the plane's own controllers do does not. Chance is drawn from the seed, once for each request in the
order in which they arrive: with one client that asks in turn, the same seed is the same run.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from fairlead.api.status import failure
from fairlead.core.errors import TooManyRequests, UsageError
from fairlead.wire.exchange import Exchange

Handle = Callable[[Exchange], None]

_RETRY_AFTER_SECONDS = 1
_READS = (b"GET", b"HEAD")


@dataclass(slots=True)
class Unkindness:
    """Shares are of all requests, from 0 to 1. `counts` says what was done to how many.

    `delay_seconds`: each request waits up to so long before it is looked at.
    `lost_requests`: the connection is cut before anything is done.
    `lost_replies`: what was asked is done, and the connection is cut instead of an answer.
    `refused`: 429 with Retry-After, and nothing is done.
    """

    seed: int = 0
    delay_seconds: float = 0.0
    lost_requests: float = 0.0
    lost_replies: float = 0.0
    refused: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    _chance: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        shares = {name: getattr(self, name) for name in ("lost_requests", "lost_replies", "refused")}
        for name, share in shares.items():
            if not 0 <= share <= 1:
                raise UsageError(f"{name}={share}: choose a share from 0 to 1")
        if sum(shares.values()) > 1:
            raise UsageError(
                f"{' + '.join(shares)} is more than all requests: choose shares of at most 1 together"
            )
        if self.delay_seconds < 0:
            raise UsageError(f"delay_seconds={self.delay_seconds}: choose 0 or more")
        self._chance.seed(self.seed)

    def meet(self, exchange: Exchange, handle: Handle) -> None:
        fate, wait = self._chance.random(), self._chance.random() * self.delay_seconds
        act = self._fate(fate, exchange, handle)
        if not wait:
            act()
            return
        self.counts["delayed"] += 1
        left: list[None] = []
        exchange.on_gone = lambda: left.append(None)

        def after() -> None:
            exchange.on_gone = None
            # Whoever only wanted to read has nothing to be read to; a write is done all the same.
            if not left or exchange.method not in _READS:
                act()

        asyncio.get_running_loop().call_later(wait, after)

    def _fate(self, drawn: float, exchange: Exchange, handle: Handle) -> Callable[[], None]:
        if drawn < self.refused:
            self.counts["refused"] += 1
            return lambda: _refuse(exchange)
        drawn -= self.refused
        if drawn < self.lost_requests:
            self.counts["lost_requests"] += 1
            return exchange.abort
        if drawn - self.lost_requests < self.lost_replies:
            self.counts["lost_replies"] += 1
            if exchange.method in _READS:
                return exchange.abort
            return lambda: handle(_Unheard.of(exchange))
        self.counts["kind"] += 1
        return lambda: handle(exchange)


class Door:
    """Passes everything on, unless told to be unkind."""

    def __init__(self) -> None:
        self.unkindness: Unkindness | None = None

    def around(self, handle: Handle) -> Handle:
        def pass_on(exchange: Exchange) -> None:
            if self.unkindness is None:
                handle(exchange)
            else:
                self.unkindness.meet(exchange, handle)

        return pass_on


class _Unheard(Exchange):
    """A write whose answer cuts the connection."""

    __slots__ = ()

    @classmethod
    def of(cls, exchange: Exchange) -> _Unheard:
        unheard = cls(exchange._connection, exchange.method, exchange.target, exchange.headers)
        unheard.body, unheard.body_unread = exchange.body, exchange.body_unread
        unheard.impersonation = exchange.impersonation
        return unheard

    def respond(self, status: int, content_type: bytes, body: bytes, extra: bytes = b"") -> None:
        self.abort()


def _refuse(exchange: Exchange) -> None:
    error = TooManyRequests("refused on purpose; try again", retry_after_seconds=_RETRY_AFTER_SECONDS)
    extra = b"retry-after: %d\r\n" % _RETRY_AFTER_SECONDS
    exchange.respond(error.status, b"application/json", failure(error).body, extra)
