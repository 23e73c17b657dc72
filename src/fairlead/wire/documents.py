"""Everything that is not a resource: discovery, OpenAPI, version, health, metrics, and mounted extensions.

Called by the handler for paths that name no resource. Answers are bytes that were encoded once, and again when kinds
have come or gone; those of discovery and OpenAPI carry a digest, by which a client may keep them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from fairlead.api.access.contract import Attributes, Authorizer, forbidden_error, require
from fairlead.api.access.sight import EVERYTHING, Sight
from fairlead.api.access.users import User
from fairlead.api.discovery import AGGREGATED_VERSIONS, Discovery
from fairlead.api.forms import parse_accept
from fairlead.api.plan import Context
from fairlead.core import codec, yaml_text
from fairlead.core.errors import MethodNotAllowed, NotAcceptable, NotFound
from fairlead.port.request import JSON, Reply
from fairlead.wire.exchange import Exchange
from fairlead.wire.openapi import OpenApi
from fairlead.wire.rendering import send

Done = Callable[[Reply | Exception], None]


class Later(NamedTuple):
    """An answer that takes its time. `start` is called once, and calls back on the loop; it may refuse at once."""

    start: Callable[[Done], None]


# A document by path, query, who asks, and what they may be told of.
Extension = Callable[[str, Mapping[str, str], Context, Sight], Reply | Later]
# A question with a body, which changes nothing.
Question = Callable[[bytes, Context, Sight], Reply | Later]
# What a tenant must be allowed to do, who may not read the document as such. None: nothing lets them read it.
Needs = Callable[[User, str, bytes], Iterable[Attributes] | None]


class Mounted(NamedTuple):
    """A document with an address of its own. Who may `get` (or `post` to) its path is told all; a tenant, if there are
    `needs` and all are met, what they may see."""

    answer: Extension
    needs: Needs | None = None


class Asked(NamedTuple):
    """The same for a question."""

    answer: Question
    needs: Needs | None = None


class Documents:
    """`extensions` are mounted by prefix and asked first; `questions` by path, and take POST."""

    def __init__(
        self,
        discovery: Discovery,
        authorizer: Authorizer,
        address: str,
        version: Mapping[str, str],
        openapi: OpenApi,
        extensions: Mapping[str, Mounted],
        questions: Mapping[str, Asked] | None = None,
    ) -> None:
        self._discovery = discovery
        self._authorizer = authorizer
        self._address = address
        self._version = codec.encode(version)
        self._openapi = openapi
        self._extensions = extensions
        self._questions = questions or {}
        self._cache: dict[tuple[str, str], tuple[bytes, bytes]] = {}  # (path, aggregated as) -> (body, etag)
        self._cached_at = discovery.changes

    def answer(
        self, exchange: Exchange, path: str, query: Mapping[str, str], context: Context
    ) -> int | Later:
        """Returns the status it answered with, or what is still to be started and answered."""
        if len(path) > 1:
            path = path.rstrip("/")
        verb = exchange.method.decode("latin-1").lower()
        question = self._questions.get(path)
        extension = self._extension(path)
        needs = question.needs if question is not None else extension.needs if extension is not None else None
        sight = self._sight(context.user, verb, path, exchange.body, needs)
        if question is not None:
            if verb != "post":
                raise MethodNotAllowed(f"{verb.upper()} is not allowed on {path}; only POST is")
            reply = question.answer(exchange.body, context, sight)
            if isinstance(reply, Later):
                return reply
            send(exchange, reply)
            return reply.status
        if verb not in ("get", "head"):
            raise MethodNotAllowed(f"{verb.upper()} is not allowed on {path}; only GET is")
        if extension is not None:
            reply, extra = extension.answer(path, query, context, sight), b""
        else:
            reply, extra = self._reply(exchange, path, query)
        if isinstance(reply, Later):
            return reply
        send(exchange, reply, extra)
        return reply.status

    def _extension(self, path: str) -> Mounted | None:
        for prefix, extension in self._extensions.items():
            if path == prefix or path.startswith(prefix + "/"):
                return extension
        return None

    def _sight(self, user: User, verb: str, path: str, body: bytes, needs: Needs | None) -> Sight:
        """What may be told of. Forbidden if this user may neither read the document nor do what it takes instead."""
        asked = Attributes(user=user, verb=verb, path=path)
        verdict = self._authorizer.authorize(asked)
        if verdict.allowed:
            return EVERYTHING
        wanted = needs(user, path, body) if needs is not None else None
        if wanted is None:
            raise forbidden_error(asked, verdict)
        for each in wanted:
            require(self._authorizer, each)
        return Sight(self._authorizer, user)

    def _reply(self, exchange: Exchange, path: str, query: Mapping[str, str]) -> tuple[Reply | Later, bytes]:
        """The reply and its further header lines."""
        if path == "/version":
            return Reply(200, self._version), b""
        accept = exchange.headers.get(b"accept", b"").decode("latin-1")
        known = exchange.headers.get(b"if-none-match", b"")
        if path.startswith("/openapi"):
            found = self._openapi.answer(path, accept, known, query.get("hash"))
            if found is None:
                raise _nowhere()
            return found
        aggregated = _aggregated_as(accept, of_all=path in ("/api", "/apis"))
        document = self._document(path, aggregated)
        if document is None:
            raise _nowhere()
        if aggregated is None:
            raise NotAcceptable(
                "only the following media types are accepted: application/json, application/yaml"
            )
        body, etag = document
        media = (
            f"{JSON};g=apidiscovery.k8s.io;v={aggregated};as=APIGroupDiscoveryList" if aggregated else JSON
        )
        headers = b"vary: accept\r\netag: %b\r\ncache-control: no-cache, private\r\n" % etag
        if etag in known:
            return Reply(304, b"", media), headers
        return Reply(200, body, media), headers

    def _document(self, path: str, aggregated: str | None) -> tuple[bytes, bytes] | None:
        if self._cached_at != self._discovery.changes:
            self._cached_at = self._discovery.changes
            self._cache.clear()
        key = (path, aggregated or "")
        if key not in self._cache:
            document = self._build(path, aggregated or "")
            if document is None:
                return None  # not kept: paths are the client's to invent
            body = codec.encode(document)
            self._cache[key] = (body, b'"%b"' % codec.digest(body).encode())
        return self._cache[key]

    def _build(self, path: str, aggregated: str) -> Mapping[str, object] | None:
        discovery = self._discovery
        if aggregated:
            return discovery.aggregated(path == "/api", aggregated)
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
                return discovery.paths()
            case _:
                return None


def _nowhere() -> NotFound:
    return NotFound("the server could not find the requested resource; /api and /apis list what there is")


def _aggregated_as(accept: str, of_all: bool) -> str | None:
    """In which version of the aggregated form, "" for the plain one; None if neither is accepted."""
    if not accept:
        return ""
    for media, parameters in parse_accept(accept):
        if media not in (JSON, yaml_text.MEDIA_TYPE, "application/*", "*/*"):
            continue
        if "as" not in parameters:
            return ""
        asked = (parameters.get("g"), parameters["as"])
        version = parameters.get("v", "")
        if (
            of_all
            and asked == ("apidiscovery.k8s.io", "APIGroupDiscoveryList")
            and version in AGGREGATED_VERSIONS
        ):
            return version
    return None
