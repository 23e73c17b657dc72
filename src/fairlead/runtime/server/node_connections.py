"""The plane's connections to the endpoints of nodes (`runtime/node/endpoint.py`), for `kubectl logs` and `kubectl top`.

Given what the API plans (`api/plan.py`: NodeStream, NodeQuestion) by `wire/handler.py`; made by `serving.py`. Nothing
is sent before the node has shown the certificate it announced. A stream holds little: while the client does not read,
the node is not read either; and when the client leaves, the node hears it.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from fairlead.api.access.users import User
from fairlead.api.node_addresses import no_answer
from fairlead.api.plan import NodeAddress, NodeQuestion, NodeStream
from fairlead.core.errors import TooManyRequests, Unavailable
from fairlead.port.request import Reply
from fairlead.runtime.credentials.identity import Identity
from fairlead.wire.client import Address, Broken, HttpClient, NotSent
from fairlead.wire.exchange import Exchange
from fairlead.wire.streaming import Streams, pour

#: bound: endpoint | logs read through one server at a time | 429
LOG_STREAMS_MAX = 256
#: bound: endpoint | nodes to which connections are kept | who was asked longest ago is let go
NODES_KEPT_MAX = 1024  # to how many nodes connections are kept
#: bound: endpoint | nodes asked for usage at a time | they wait
NODES_ASKED_MAX = 64  # at a time
#: bound: endpoint | what one node tells of its usage | left out
NODE_ANSWER_BYTES_MAX = 4 * 1024 * 1024
#: bound: endpoint | a node begins to answer within | 503
NODE_SECONDS = 5.0  # to begin an answer with logs
#: bound: endpoint | all nodes tell their usage within | left out
USAGE_SECONDS = 1.0  # for all nodes together
_REFUSAL_SECONDS = 2.0
_TEXT = b"text/plain"


class NodeConnections:
    """Implements `wire.host.NodeAgents`. What is open is ended by `stop`, or by `keep` when a token was revoked."""

    def __init__(self, loop: asyncio.AbstractEventLoop, known: Identity) -> None:
        self._loop = loop
        self._known = known
        self._tls: ssl.SSLContext | None = None
        self._clients: dict[NodeAddress, HttpClient] = {}
        self._streams = Streams(loop, LOG_STREAMS_MAX)
        self._questions: set[asyncio.Task[None]] = set()
        self._room = asyncio.Semaphore(NODES_ASKED_MAX)
        self._stopping = False

    def __len__(self) -> int:
        return len(self._streams)

    def stream(
        self,
        exchange: Exchange,
        asked: NodeStream,
        user: User,
        began: Callable[[], None],
        refused: Callable[[Exception], None],
    ) -> None:
        if self._stopping:
            raise Unavailable("the server is stopping; connect again", retry_after_seconds=1)
        if self._streams.full:
            raise TooManyRequests(
                f"{LOG_STREAMS_MAX} logs are being read through this server, which is the most at a time; try again",
                retry_after_seconds=1,
            )
        self._streams.start(exchange, self._pass_on(exchange, asked, began, refused), (user, asked.grant))

    def ask(self, asked: NodeQuestion, done: Callable[[Reply | Exception], None]) -> None:
        if self._stopping:
            raise Unavailable("the server is stopping; connect again", retry_after_seconds=1)
        task = self._loop.create_task(self._answer(asked, done))
        self._questions.add(task)
        task.add_done_callback(self._questions.discard)

    def keep(self, allowed: Callable[[Any], bool]) -> None:
        """End the streams of users who may no longer sign in."""
        self._streams.keep(lambda mark: allowed(mark[0]))

    def keep_granted(self, holds: Callable[[str], bool]) -> None:
        """End the streams that were opened by a grant which does not hold any more."""
        self._streams.keep(lambda mark: not mark[1] or holds(mark[1]))

    def renew(self) -> None:
        """New connections show the certificate that is on disk now; those that are open go on."""
        if self._tls is not None:
            self._tls.load_cert_chain(self._known.plane_certificate, self._known.plane_key)

    async def stop(self) -> None:
        self._stopping = True
        await self._streams.stop()
        await asyncio.gather(*self._questions, return_exceptions=True)  # these end by themselves, and soon
        for client in self._clients.values():
            client.close()

    async def _pass_on(
        self,
        exchange: Exchange,
        asked: NodeStream,
        began: Callable[[], None],
        refused: Callable[[Exception], None],
    ) -> None:
        try:
            stream = await self._client(asked.node).stream(asked.target, b"", NODE_SECONDS)
        except (NotSent, Broken, OSError) as error:
            refused(no_answer(asked.node, str(error)))
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, whoever asked must be answered
            refused(error)
            return
        try:
            if stream.status != 200:
                refused(asked.refused(stream.status, await _told(stream.read(_REFUSAL_SECONDS))))
                return
            began()
            await pour(exchange, _TEXT, aiter(stream))
        except Broken:
            exchange.abort()  # whoever reads must see that this is not the end
        finally:
            stream.close()

    async def _answer(self, asked: NodeQuestion, done: Callable[[Reply | Exception], None]) -> None:
        answers: dict[str, bytes] = {}
        try:
            await asyncio.gather(*(self._ask_one(node, asked.target, answers) for node in asked.nodes))
            found: Reply | Exception = asked.finish(answers)
        except Exception as error:  # noqa: BLE001 - whatever it is, whoever asked must be answered
            found = error
        done(found)

    async def _ask_one(self, node: NodeAddress, target: str, answers: dict[str, bytes]) -> None:
        deadline = self._loop.time() + USAGE_SECONDS
        try:
            async with asyncio.timeout_at(deadline), self._room:
                answer = await self._client(node).send("GET", target, b"", b"", USAGE_SECONDS)
        except (NotSent, Broken, TimeoutError, OSError):
            return
        if answer.status == 200:
            answers[node.name] = answer.body

    def _client(self, node: NodeAddress) -> HttpClient:
        """Connections are kept with those that were asked last."""
        client = self._clients.pop(node, None)
        if client is None:
            while len(self._clients) >= NODES_KEPT_MAX:
                self._clients.pop(next(iter(self._clients))).close()
            parts = urlsplit(node.url)
            address = Address(parts.hostname or "", parts.port or 0, self._trust(), node.certificate)
            client = HttpClient(address, answer_bytes_max=NODE_ANSWER_BYTES_MAX)
        self._clients[node] = client
        return client

    def _trust(self) -> ssl.SSLContext:
        """Shows who we are. A node is recognised by the digest of its certificate, not by who signed it."""
        if self._tls is None:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            tls.minimum_version = ssl.TLSVersion.TLSv1_2
            tls.check_hostname = False
            tls.verify_mode = ssl.CERT_NONE
            try:
                tls.load_cert_chain(self._known.plane_certificate, self._known.plane_key)
            except OSError as error:
                raise Unavailable(
                    "this plane has no certificate by which nodes know it: identity/plane.crt could not be made"
                    " without a good identity/ca.key; put that back and restart"
                ) from error
            self._tls = tls
        return self._tls


async def _told(reading: Any) -> str:
    try:
        body: bytes = await reading
    except (Broken, TimeoutError):
        return ""
    return body.decode("utf-8", "replace")[:1000]
