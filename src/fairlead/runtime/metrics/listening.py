"""/metrics, /livez and /readyz of a process that serves no API: plain HTTP, on this machine alone.

For `fairlead control`, where it was asked for. What it tells names controllers, resources and numbers, no object: so
nobody signs in.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable

from fairlead.control.diagnosis import CHECKS, Check
from fairlead.core.errors import ApiError, OperatorError
from fairlead.runtime.checks import told
from fairlead.runtime.metrics.contract import CONTENT_TYPE, MetricSample, exposition
from fairlead.wire.exchange import Exchange
from fairlead.wire.listener import Listener
from fairlead.wire.routes import split_target

HOST = "127.0.0.1"
#: bound: connections | connections to the metrics of `fairlead control` | a further one is closed at once
METRICS_CONNECTIONS_MAX = 32
_TEXT = "text/plain; charset=utf-8"


class MetricsListener:
    """`samples` and `checks` are asked with every request."""

    def __init__(
        self, samples: Callable[[], Iterable[MetricSample]], checks: Callable[[], tuple[Check, ...]]
    ) -> None:
        loop = asyncio.get_running_loop()
        self._samples, self._checks = samples, checks
        self._listener = Listener(loop, self._handle, _refuse, _reads_no_body, METRICS_CONNECTIONS_MAX)

    async def listen(self, port: int) -> int:
        try:
            return await self._listener.listen(HOST, port, None)
        except OSError as error:
            raise OperatorError(
                f"cannot listen on {HOST} port {port} for metrics: {os.strerror(error.errno or 0).lower()};"
                " choose another with --metrics-port"
            ) from error

    async def close(self) -> None:
        await self._listener.stop(0.0)

    def _handle(self, exchange: Exchange) -> None:
        try:
            path, query = split_target(exchange.target)
        except ApiError as error:
            _refuse(exchange, 400, str(error))
            return
        if exchange.method not in (b"GET", b"HEAD"):
            _refuse(exchange, 405, "only GET is understood here")
        elif path == "/metrics":
            exchange.respond(200, CONTENT_TYPE.encode(), exposition(self._samples()))
        elif path == "/livez":
            exchange.respond(200, _TEXT.encode(), b"ok")
        elif path == "/readyz":
            reply = told("readyz", self._checks(), query, frozenset(CHECKS))
            exchange.respond(reply.status, _TEXT.encode(), reply.body)
        else:
            _refuse(exchange, 404, "there is /metrics, /livez and /readyz")


def _reads_no_body(exchange: Exchange) -> None:
    """Only GET is understood here, and that has none."""
    return


def _refuse(exchange: Exchange, status: int, message: str) -> None:
    exchange.respond(status, _TEXT.encode(), message.encode() + b"\n")
