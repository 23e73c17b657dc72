"""Everything that is not a resource: discovery, OpenAPI, version, health, metrics, and mounted extensions.

Called by the handler for paths that name no resource. Built once; answers are bytes that were encoded once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from fairlead.api.access import Attributes, Authorizer, forbidden
from fairlead.api.discovery import AGGREGATED, Discovery
from fairlead.api.plan import Context
from fairlead.core import codec
from fairlead.core.errors import MethodNotAllowed, NotFound
from fairlead.port.request import JSON, Reply
from fairlead.wire.http import Exchange
from fairlead.wire.openapi import OpenApi

Done = Callable[[Reply | Exception], None]


class Later(NamedTuple):
    """An answer that takes its time. `start` is called once, and calls back on the loop; it may refuse at once."""

    start: Callable[[Done], None]


# A document by path, query and who asks.
Extension = Callable[[str, Mapping[str, str], Context], Reply | Later]
# A question with a body, which changes nothing.
Question = Callable[[bytes, Context], Reply | Later]


class Documents:
    """`extensions` are mounted by prefix and asked first; `questions` by path, and take POST."""

    def __init__(
        self,
        discovery: Discovery,
        authorizer: Authorizer,
        address: str,
        version: Mapping[str, str],
        openapi: OpenApi,
        extensions: Mapping[str, Extension],
        questions: Mapping[str, Question] | None = None,
    ) -> None:
        self._discovery = discovery
        self._authorizer = authorizer
        self._address = address
        self._version = codec.encode(version)
        self._openapi = openapi
        self._extensions = extensions
        self._questions = questions or {}
        self._cache: dict[tuple[str, bool], bytes | None] = {}

    def answer(
        self, exchange: Exchange, path: str, query: Mapping[str, str], context: Context
    ) -> int | Later:
        """Returns the status it answered with, or what is still to be started and answered."""
        if len(path) > 1:
            path = path.rstrip("/")
        verb = exchange.method.decode("latin-1").lower()
        asked = Attributes(user=context.user, verb=verb, path=path)
        verdict = self._authorizer.authorize(asked)
        if not verdict.allowed:
            raise forbidden(asked, verdict)
        question = self._questions.get(path)
        if question is not None:
            if verb != "post":
                raise MethodNotAllowed(f"{verb.upper()} is not allowed on {path}; only POST is")
            reply = question(exchange.body, context)
            if isinstance(reply, Later):
                return reply
            exchange.respond(reply.status, reply.content_type.encode(), reply.body, b"")
            return reply.status
        if verb not in ("get", "head"):
            raise MethodNotAllowed(f"{verb.upper()} is not allowed on {path}; only GET is")
        reply, extra = self._reply(exchange, path, query, context)
        if isinstance(reply, Later):
            return reply
        exchange.respond(reply.status, reply.content_type.encode(), reply.body, extra)
        return reply.status

    def _reply(
        self, exchange: Exchange, path: str, query: Mapping[str, str], context: Context
    ) -> tuple[Reply | Later, bytes]:
        """The reply and its further header lines."""
        for prefix, extension in self._extensions.items():
            if path == prefix or path.startswith(prefix + "/"):
                return extension(path, query, context), b""
        if path == "/version":
            return Reply(200, self._version), b""
        accept = exchange.headers.get(b"accept", b"").decode("latin-1")
        if path.startswith("/openapi"):
            known = exchange.headers.get(b"if-none-match", b"")
            found = self._openapi.answer(path, accept, known, "hash" in query)
            if found is None:
                raise _nowhere()
            return found
        aggregated = path in ("/api", "/apis") and _wants_aggregated(accept)
        body = self._document(path, aggregated)
        if body is None:
            raise _nowhere()
        return Reply(200, body, AGGREGATED if aggregated else JSON), b"vary: accept\r\n"

    def _document(self, path: str, aggregated: bool) -> bytes | None:
        key = (path, aggregated)
        if key not in self._cache:
            document = self._build(path, aggregated)
            if document is None:
                return None  # not kept: paths are the client's to invent
            self._cache[key] = codec.encode(document)
        return self._cache[key]

    def _build(self, path: str, aggregated: bool) -> Mapping[str, object] | None:
        discovery = self._discovery
        if aggregated:
            return discovery.aggregated(core=path == "/api")
        match path.split("/")[1:]:
            case ["api"]:
                return discovery.core_versions(self._address)
            case ["apis"]:
                return discovery.groups()
            case ["api", version]:
                return discovery.resources("", version)
            case ["apis", group]:
                return discovery.group(group)
            case ["apis", group, version]:
                return discovery.resources(group, version)
            case [""]:
                return {
                    "paths": [
                        "/api",
                        "/apis",
                        "/healthz",
                        "/livez",
                        "/metrics",
                        "/openapi/v2",
                        "/openapi/v3",
                        "/readyz",
                        "/version",
                    ]
                }
            case _:
                return None


def _nowhere() -> NotFound:
    return NotFound("the server could not find the requested resource; /api and /apis list what there is")


def _wants_aggregated(accept: str) -> bool:
    """True if the first choice we can give is the aggregated document."""
    for choice in accept.split(","):
        parts = {part.strip() for part in choice.split(";")}
        if "application/json" not in parts:
            continue
        if "g=apidiscovery.k8s.io" in parts:
            if "v=v2" in parts and "as=APIGroupDiscoveryList" in parts:
                return True
            continue
        return False
    return False
