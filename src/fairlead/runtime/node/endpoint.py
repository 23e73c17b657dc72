"""What a node tells about itself, at an HTTPS address of its own: what its containers printed, and what they use.

    GET /logs/NAMESPACE/POD/CONTAINER?uid=UID&...    text, as PodLogOptions of Kubernetes ask for it
    GET /stats                                       `port/usage.py` as JSON
    GET /metrics                                     `runtime/metrics/agent.py`, as Prometheus reads it

Made by `process.py`; asked by `runtime/server/node_connections.py` in the plane. Only the plane may ask: it shows a
certificate with its name, signed by the authority the agent trusts. The endpoint's own certificate is signed by itself
and known by its digest, which the agent announces with the address in annotations of the Node.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any, Protocol, cast

from fairlead.agent.drivers.logs import LogOptions
from fairlead.agent.drivers.usage import Usage, usage
from fairlead.agent.usage import USAGE_WINDOW_SECONDS, UsageHistory, UsageReading, UsageSample
from fairlead.core import codec
from fairlead.core.errors import BadRequest, OperatorError
from fairlead.core.times import parse_time
from fairlead.model.marks import NODE_CERTIFICATE, NODE_ENDPOINT
from fairlead.port.query import parse_flag, parse_whole
from fairlead.port.usage import NODE_METRICS, NODE_STATS, NodeUsage
from fairlead.runtime.clock import Clock
from fairlead.runtime.credentials.identity import PLANE_NAME
from fairlead.runtime.credentials.kubeconfig import server_url
from fairlead.runtime.metrics.contract import CONTENT_TYPE, MetricSample, exposition
from fairlead.runtime.node import certificate as node_certificate
from fairlead.wire.exchange import Exchange
from fairlead.wire.listener import Listener
from fairlead.wire.routes import split_target
from fairlead.wire.streaming import Streams, pour
from fairlead.wire.validity import common_name, leave_time_out, time_trouble

log = logging.getLogger("fairlead.agent")

#: bound: endpoint | connections to one node's endpoint | a further one is closed at once
ENDPOINT_CONNECTIONS_MAX = 192
#: bound: endpoint | logs read at one node at a time | 429
NODE_STREAMS_MAX = 128  # logs read at a time from one node
_FRESH_SECONDS = 1.0  # a sample that is younger is told again
_JSON, _TEXT = b"application/json", b"text/plain"


class Source(Protocol):
    """What knows; `agent/drivers/process.py` is one."""

    def logs(self, uid: str, container: str, wanted: LogOptions) -> AsyncIterator[bytes]: ...

    async def usage(self) -> Mapping[str, Mapping[str, Usage]]: ...


class NodeEndpoint:
    """`authority` is PEM text: who signs for the plane."""

    def __init__(self, authority: str, clock: Clock) -> None:
        loop = asyncio.get_running_loop()
        self._source: Source | None = None
        self._measured: Callable[[NodeUsage], None] = lambda usage: None
        self._samples: Callable[[], Iterable[MetricSample]] = lambda: ()
        self._authority = authority
        self._clock = clock
        self._listener = Listener(loop, self._handle, _refuse, _reads_no_body, ENDPOINT_CONNECTIONS_MAX)
        self._streams = Streams(loop, NODE_STREAMS_MAX)
        self._history = UsageHistory()
        self._sampling = asyncio.Lock()
        self._sampler: asyncio.Task[None] | None = None

    def serve(
        self,
        source: Source,
        measured: Callable[[NodeUsage], None] = lambda usage: None,
        samples: Callable[[], Iterable[MetricSample]] = lambda: (),
    ) -> None:
        """From now on there is something to tell. `measured` hears of usage at intervals, whether anybody asks or not;
        `samples` are for /metrics."""
        self._source, self._measured, self._samples = source, measured, samples
        self._sampler = asyncio.create_task(self._sample_for_ever(source))

    async def listen(self, host: str, port: int, directory: Path) -> dict[str, str]:
        """Begin to answer; returns the annotations that say where."""
        tls, digest = await asyncio.to_thread(_context, directory, host, self._authority, self._clock())
        try:
            port = await self._listener.listen(host, port, tls)
        except OSError as error:
            raise OperatorError(
                f"cannot listen on {host} port {port} for logs and usage: {os.strerror(error.errno or 0).lower()};"
                " choose another with --address and --endpoint-port"
            ) from error
        return {NODE_ENDPOINT: server_url(host, port), NODE_CERTIFICATE: digest}

    async def close(self) -> None:
        if self._sampler is not None:
            self._sampler.cancel()
            await asyncio.gather(self._sampler, return_exceptions=True)
        await self._streams.stop()
        await self._listener.stop(0.0)

    # Requests

    def _handle(self, exchange: Exchange) -> None:
        try:
            shown = exchange.certificate
            if common_name(shown) != PLANE_NAME:
                _refuse(exchange, 403, f"only {PLANE_NAME} may ask here")
                return
            if trouble := time_trouble(shown, self._clock()):
                _refuse(exchange, 403, f"your certificate is not valid: {trouble}")
                return
            path, query = split_target(exchange.target)
            if exchange.method != b"GET":
                _refuse(exchange, 405, "only GET is understood here")
            elif self._source is None:
                _refuse(exchange, 503, "the agent has just started and is looking what runs here")
            elif path == NODE_STATS:
                self._streams.start(exchange, self._tell_usage(exchange, self._source))
            elif path == NODE_METRICS:
                exchange.respond(200, CONTENT_TYPE.encode(), exposition(self._samples()))
            else:
                self._tell_logs(exchange, path, query, self._source)
        except LookupError as error:
            _refuse(exchange, 404, str(error))
        except (BadRequest, ValueError) as error:
            _refuse(exchange, 400, str(error))
        except Exception:
            log.exception("a question could not be answered: %s", exchange.target)
            _refuse(exchange, 500, "the agent's log says why")

    def _tell_logs(self, exchange: Exchange, path: str, query: Mapping[str, str], source: Source) -> None:
        parts = path.split("/")
        if len(parts) != 5 or parts[1] != "logs" or not query.get("uid"):
            raise BadRequest("there is /logs/NAMESPACE/POD/CONTAINER?uid=UID, /stats and /metrics")
        if self._streams.full:
            _refuse(
                exchange, 429, f"{NODE_STREAMS_MAX} logs are being read here, which is the most at a time"
            )
            return
        pieces = source.logs(
            query["uid"], parts[4], wanted(query, self._clock.wall())
        )  # which stamps their lines
        self._streams.start(exchange, _send(exchange, pieces))

    async def _tell_usage(self, exchange: Exchange, source: Source) -> None:
        if self._clock() - self._history.newest_at >= _FRESH_SECONDS:
            await self._sample(source)
        told = self._history.latest()
        if told is None:
            _refuse(exchange, 404, "nothing was measured yet")
        else:
            exchange.respond(200, _JSON, codec.encode(told))

    # Usage

    async def _sample_for_ever(self, source: Source) -> None:
        while True:
            try:
                await self._sample(source)
                if (told := self._history.latest()) is not None:
                    self._measured(told)
            except OSError as error:
                log.warning("what pods use cannot be read: %s", error)
            await asyncio.sleep(USAGE_WINDOW_SECONDS)

    async def _sample(self, source: Source) -> None:
        async with self._sampling:
            found = await source.usage()
            pods = {uid: {name: _reading(of) for name, of in each.items()} for uid, each in found.items()}
            self._history.add(UsageSample(self._clock(), pods, _reading(usage({}, {os.getpid()}))))


def _reading(used: Usage) -> UsageReading:
    return UsageReading(used.cpu_seconds, used.memory_bytes)


async def _send(exchange: Exchange, pieces: AsyncIterator[bytes]) -> None:
    async with aclosing(cast(Any, pieces)) as read:
        await pour(exchange, _TEXT, read)


def wanted(query: Mapping[str, str], now: float) -> LogOptions:
    since = parse_time(query["sinceTime"]) if query.get("sinceTime") else None
    seconds = parse_whole(query, "sinceSeconds")
    return LogOptions(
        previous=bool(parse_flag(query, "previous")),
        tail_lines=parse_whole(query, "tailLines"),
        since=now - seconds if seconds is not None else since,
        timestamps=bool(parse_flag(query, "timestamps")),
        limit_bytes=parse_whole(query, "limitBytes"),
        follow=bool(parse_flag(query, "follow")),
    )


def _reads_no_body(exchange: Exchange) -> None:
    """Only GET is understood here, and that has none."""
    return


def _refuse(exchange: Exchange, status: int, message: str) -> None:
    exchange.respond(status, _TEXT, message.encode())


def _context(directory: Path, host: str, authority: str, now: float) -> tuple[ssl.SSLContext, str]:
    """With the certificate of the start before, if it is there and good; and the digest it is known by."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.minimum_version = ssl.TLSVersion.TLSv1_2
    tls.set_alpn_protocols(["http/1.1"])
    tls.verify_mode = ssl.CERT_REQUIRED
    leave_time_out(tls)  # judged for each request, by the agent's clock
    try:
        tls.load_verify_locations(cadata=authority)
    except (ssl.SSLError, ValueError) as error:
        raise OperatorError(
            f"what --ca-file names is no certificate ({error}): name the plane's ca.crt"
        ) from error
    for obtain in (node_certificate.ensure, node_certificate.make):  # one that is torn is made anew
        content = obtain(directory, host, now)
        try:
            tls.load_cert_chain(directory / node_certificate.FILE)
            return tls, node_certificate.digest(content)
        except (ssl.SSLError, ValueError):
            continue
    raise OperatorError(
        f"{directory / node_certificate.FILE} cannot be used: remove it, and start the agent again"
    )
