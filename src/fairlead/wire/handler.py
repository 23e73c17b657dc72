"""From an HTTP exchange to the API and back. The only place where HTTP and the API's words meet.

Given every Exchange by the listener. Authenticates, tells resource addresses from documents, plans, waits for the
store by callback, and answers. Whatever goes wrong becomes a Status; nothing of our insides reaches a client.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping

from fairlead.api.access import impersonation
from fairlead.api.access.users import ANONYMOUS, User
from fairlead.api.audit.recording import audit_record
from fairlead.api.audit.rules import AuditTarget
from fairlead.api.conversation import Conversation, Next
from fairlead.api.plan import (
    Context,
    NodeQuestion,
    NodeStream,
    Watch,
)
from fairlead.api.status import failure
from fairlead.core.errors import (
    ApiError,
    BadRequest,
    HeadersTooLarge,
    InternalError,
    TooLarge,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from fairlead.port.request import Reply, Request
from fairlead.store.contract import CommitOutcome, Note, Transaction
from fairlead.wire.documents import Documents, Later
from fairlead.wire.exchange import Exchange, Sender
from fairlead.wire.flow_driver import Turns
from fairlead.wire.host import Host, NodeAgents
from fairlead.wire.rated_log import RatedLog
from fairlead.wire.rendering import send
from fairlead.wire.routes import FENCE, resource_request, split_target, with_premises
from fairlead.wire.tally import RequestTally
from fairlead.wire.validity import client_certificate
from fairlead.wire.watching import Watches

log = logging.getLogger("fairlead.wire")

# Clients make up paths: what is kept of them is bounded.
_PATH_MAX = 200
_ANSWERS = (Reply, Watch)
# Refusals that somebody may ask about. What is not there or gone (404, 410) and what is too much (429) is everyday.
_LOGGED = frozenset({400, 401, 403, 405, 409, 413, 415, 422, 500, 503})


# What was asked, the status, and the seconds it took.
Answered = Callable[[Exchange, Request, int, float], None]


class Handler:
    """One per server. Without `nodes`, what only they know is refused; without `turns`, all begin as they come."""

    def __init__(
        self,
        host: Host,
        documents: Documents,
        watches: Watches,
        nodes: NodeAgents | None = None,
        turns: Turns | None = None,
        answered: Answered | None = None,
    ) -> None:
        """`answered` hears of every answer to a request for a resource that is no stream."""
        self._host = host
        self._documents = documents
        self._watches = watches
        self._nodes = nodes
        self._turns = turns
        self._answered = answered
        self.tally = RequestTally(host.api)
        self._refusals = RatedLog(log, "refusals")

    def __call__(self, exchange: Exchange) -> None:
        """Answer, now or from a later callback."""
        exchange.arrived = time.perf_counter()
        user, impersonator = ANONYMOUS, None
        headers = exchange.headers
        request: Request | None = None
        path = ""
        try:
            sender = exchange.sender if exchange.body else None
            path, query, user = sender or self._sender(exchange)
            if user is not ANONYMOUS:
                exchange.recognize()
                if exchange.body_unread:
                    raise Unauthorized("the bearer token was unknown when the request came; send it again")
            if exchange.impersonation:
                user, impersonator = impersonation.parse_impersonation(exchange.impersonation), user
            request = resource_request(
                exchange.method,
                path,
                query,
                exchange.body,
                headers.get(b"content-type", b"").decode("latin-1"),
                headers.get(b"accept", b"").decode("latin-1"),
            )
            if request is not None and FENCE in query:
                request = with_premises(request)
            if (
                impersonator is not None
            ):  # after the address was read, so that a refusal tells what was wanted
                impersonation.authorize(self._host.api.desk.authorizer, impersonator, user)
        except ApiError as error:
            self.refuse(exchange, request, self._context(exchange, user, impersonator), error, path)
            return
        except Exception:
            log.exception("a request could not be handled: %s %s", exchange.method, path)
            self.apologise(exchange, request)
            return
        call = _Call(self, exchange, request, user, impersonator, path, query)
        if self._turns is None:
            call.begin()
        else:
            self._turns.arrive(exchange, user, request, path, call.begin, call.turn_away)

    def owner_of_body(self, exchange: Exchange) -> str | None:
        """Who sends a body, by the headers alone. None: nobody who is known; then it is not read."""
        try:
            exchange.sender = self._sender(exchange)
        except ApiError:
            return None  # the refusal is told, and audited, when the request's turn comes
        user = exchange.sender[2]
        return None if user is ANONYMOUS else user.name

    def _sender(self, exchange: Exchange) -> Sender:
        path, query = split_target(exchange.target)
        header = exchange.headers.get(b"authorization")
        authorization = header.decode("latin-1") if header is not None else None
        certificate = exchange.certificate
        shown = client_certificate(certificate) if certificate else None
        return path, query, self._host.sign_in(authorization, path, shown)

    def _context(self, exchange: Exchange, user: User, impersonator: User | None) -> Context:
        user_agent = exchange.headers.get(b"user-agent", b"").decode("latin-1")
        context = self._host.context(user, user_agent, exchange.peer, impersonator)
        exchange.about = b"audit-id: %b\r\n%b" % (context.request_id.encode(), exchange.flow)
        return context

    def _document(self, exchange: Exchange, path: str, query: Mapping[str, str], context: Context) -> None:
        answered = self._documents.answer(exchange, path, query, context)
        if isinstance(answered, Later):
            answered.start(lambda found: self._told_later(exchange, context, path, found))
        else:
            self.count(exchange, None, answered)

    def _told_later(self, exchange: Exchange, context: Context, path: str, found: Reply | Exception) -> None:
        """An answer that took its time is there."""
        if isinstance(found, Reply):
            self.count(exchange, None, found.status)
            self.reply(exchange, found)
        elif isinstance(found, ApiError):
            self.refuse(exchange, None, context, found, path)
        else:
            log.error("a request could not be handled: %s %s", exchange.method, path, exc_info=found)
            self.apologise(exchange, None)

    def refuse(
        self, exchange: Exchange, request: Request | None, context: Context, error: ApiError, path: str = ""
    ) -> None:
        """Answer with an error and keep what audit wants to know of it."""
        verb = request.verb if request is not None else exchange.method.decode("latin-1").lower()
        target = _target(request) if request is not None else AuditTarget(path=path[:_PATH_MAX])
        notes = self._host.api.desk.audit.refused(
            context, verb, target, error.status, error.reason, error.policies
        )
        if notes:
            self._host.record(notes, _nothing)
        if error.status in _LOGGED and self._refusals.has_room():
            self._tell_refusal(context, verb, target, error)
        self.count(exchange, request, error.status)
        self.reply(exchange, failure(error), challenge=isinstance(error, Unauthorized))

    def _tell_refusal(self, context: Context, verb: str, target: AuditTarget, error: ApiError) -> None:
        """Who was refused what, and by which word; the reason's text may hold values of the object."""
        resource = f"{target.plural}.{target.group}" if target.group else target.plural
        at = "/".join(filter(None, (resource, target.namespace, target.name, target.subresource)))
        user = context.user.name
        fields = {
            "request": context.request_id,
            "user": user,
            "verb": verb,
            "object": at or target.path,
            "code": error.status,
            "reason": error.reason,
            "policies": error.policies,
        }
        self._refusals.write(f"{user} was refused {verb} {at or target.path}: {error.reason}", fields)

    def apologise(self, exchange: Exchange, request: Request | None) -> None:
        """Answer what we could not deal with, through no fault of the client's."""
        error = InternalError("an internal error occurred; the server's log has the details")
        self.count(exchange, request, error.status)
        self.reply(exchange, failure(error))

    def reply(self, exchange: Exchange, reply: Reply, *, challenge: bool = False) -> None:
        extra = b""
        for warning in reply.warnings:
            extra += b'warning: 299 - "%b"\r\n' % _quoted(warning)
        if reply.retry_after_seconds:
            extra += b"retry-after: %d\r\n" % reply.retry_after_seconds
        if challenge:
            extra += b'www-authenticate: Bearer realm="fairlead"\r\n'
        send(exchange, reply, extra)

    def count(self, exchange: Exchange, request: Request | None, status: int) -> None:
        """One answer; how long it took is kept where it was no stream, whose time is the client's."""
        verb, resource = self.tally.count(request, status)
        if not exchange.streaming:
            seconds = time.perf_counter() - exchange.arrived
            self.tally.latencies.add(verb, resource, seconds)
            if self._answered is not None and request is not None:
                self._answered(exchange, request, status, seconds)

    def malformed(self, exchange: Exchange, status: int, message: str) -> None:
        """Answer what never became a request: too large, or not HTTP."""
        self.reply(exchange, failure(_MALFORMED[status](message)))


class _Call:
    """One request over HTTP: who sends it and what it asks for, for which nothing is done before its turn; then its
    conversation, what audit wants to know of reads, and the answer. `request` is None for a document."""

    __slots__ = (
        "_conversation",
        "_exchange",
        "_handler",
        "_impersonator",
        "_path",
        "_query",
        "_request",
        "_user",
    )

    def __init__(
        self,
        handler: Handler,
        exchange: Exchange,
        request: Request | None,
        user: User,
        impersonator: User | None,
        path: str,
        query: Mapping[str, str],
    ) -> None:
        self._handler = handler
        self._exchange = exchange
        self._request = request
        self._user = user
        self._impersonator = impersonator
        self._path = path
        self._query = query

    def turn_away(self, error: TooManyRequests) -> None:
        """Counted, and not audited: what is too much must not be written down at length."""
        self._handler._context(self._exchange, self._user, self._impersonator)
        self._handler.count(self._exchange, self._request, error.status)
        self._handler.reply(self._exchange, failure(error))

    def begin(self) -> None:
        """It is its turn."""
        handler, exchange, request, path = self._handler, self._exchange, self._request, self._path
        context = handler._context(exchange, self._user, self._impersonator)
        try:
            if request is None:
                handler._document(exchange, path, self._query, context)
            else:
                self._conversation = Conversation(handler._host.api, request, context)
                self._go(self._conversation.begin())
        except ApiError as error:
            handler.refuse(exchange, request, context, error, path)
        except Exception:
            log.exception("a request could not be handled: %s %s", exchange.method, path)
            handler.apologise(exchange, request)

    def _go(self, step: Next) -> None:
        if isinstance(step, Transaction):
            self._handler._host.submit(step, self._resolved)
        elif isinstance(step, _ANSWERS):
            notes = () if self._conversation.has_written else self._read(step)
            if notes:  # who reads what is audited is answered when its line is kept
                self._handler._host.record(notes, lambda: self._answer_late(step))
            else:
                self._answer(step)
        elif isinstance(step, ApiError):
            self._refuse(step)
        else:
            self._ask_nodes(step)

    # Called back: whatever goes wrong is answered.

    def _resolved(self, outcome: CommitOutcome) -> None:
        try:
            self._go(self._conversation.resolved(outcome))
        except ApiError as error:
            self._refuse(error)
        except Exception:
            log.exception("a request could not be finished: %s", self._what)
            self._handler.apologise(self._exchange, self._conversation.request)

    def _answer_late(self, step: Reply | Watch) -> None:
        try:
            self._answer(step)
        except ApiError as error:
            self._refuse(error)
        except Exception:
            log.exception("a request could not be finished: %s", self._what)
            self._handler.apologise(self._exchange, self._conversation.request)

    # What is done

    def _read(self, step: Reply | Watch) -> tuple[Note, ...]:
        """Audit's lines about what this request is about to be shown."""
        status = step.status if isinstance(step, Reply) else 200
        api, request = self._handler._host.api, self._conversation.request
        target = _target(request)
        notes = api.desk.audit.read(self._conversation.context, request.verb, target, status)
        if not notes:
            return notes
        context = api.grant_of(request, self._conversation.context)
        return (Note(notes[0].stream, audit_record(context, request.verb, target, status)),)

    def _answer(self, step: Reply | Watch) -> None:
        request = self._conversation.request
        if isinstance(step, Watch):
            self._handler._watches.open(self._exchange, step, self._conversation.context.signed_in)
            self._handler.count(self._exchange, request, 200)
        else:
            self._handler.count(self._exchange, request, step.status)
            self._handler.reply(self._exchange, step)

    def _ask_nodes(self, step: NodeStream | NodeQuestion) -> None:
        nodes = self._handler._nodes
        if nodes is None:
            raise Unavailable("this server asks no nodes")
        if isinstance(step, NodeQuestion):
            nodes.ask(step, self._told)
        elif self._exchange.method == b"HEAD":
            self._go(Reply(200, b"", "text/plain"))
        else:
            nodes.stream(
                self._exchange,
                step,
                self._conversation.context.signed_in,
                lambda: self._handler.count(self._exchange, self._conversation.request, 200),
                self._told,
            )

    def _told(self, found: Reply | Exception) -> None:
        """What the nodes answered, or why they could not."""
        if isinstance(found, Reply | ApiError):
            self._go(found)
        else:
            log.error("nodes could not be asked: %s", self._conversation.request.plural, exc_info=found)
            self._handler.apologise(self._exchange, self._conversation.request)

    def _refuse(self, error: ApiError) -> None:
        self._handler.refuse(self._exchange, self._conversation.request, self._conversation.context, error)

    @property
    def _what(self) -> str:
        request = self._conversation.request
        return f"{request.verb} {request.plural}"


_MALFORMED: dict[int, Callable[[str], ApiError]] = {
    400: BadRequest,
    413: TooLarge,
    429: lambda message: TooManyRequests(message, retry_after_seconds=1),
    431: HeadersTooLarge,
}


def _nothing() -> None:
    """Nobody waits for it."""


def _target(request: Request) -> AuditTarget:
    return AuditTarget(request.group, request.plural, request.namespace, request.name, request.subresource)


def _quoted(text: str) -> bytes:
    """A warning as a quoted-string: printable ASCII only, so that no client's header parser chokes."""
    plain = "".join(c if " " <= c <= "~" else "?" for c in text)
    return plain.replace("\\", "\\\\").replace('"', '\\"').encode()
