"""An API server elsewhere, as the machines see it: requests become outcomes, lists and watches become cache events.

Driven by `runtime/node/driver.py`; sends through `wire/client.py`. Speaks nothing that is Fairlead's own, so the same
agent works against Kubernetes. What it promises about failures is the port's: Refused "later" if the server surely
never got the request, Unknown if it may have.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Iterable

import msgspec

from fairlead import __version__
from fairlead.api.access.users import MASTERS
from fairlead.cache.events import Broke, Expired, Framed, Listed, ListFailed, Marked, MirrorEvent
from fairlead.model.key import Key
from fairlead.model.views import Resource, View
from fairlead.port.outcome import Done, Outcome, Refused, Unknown, outcome_of
from fairlead.port.request import Reply, Request
from fairlead.store.contract import Entry
from fairlead.wire.client import AnswerStream, HttpClient
from fairlead.wire.client_protocol import Broken, HttpAnswer, NotSent, bearer
from fairlead.wire.routes import request_target

#: bound: plane | an agent waits for an answer | the outcome is unknown
ASK_SECONDS = 10.0
#: bound: plane | objects of one page of an agent's list | the next page
PAGE_ITEMS_MAX = 500
#: bound: plane | one change that an agent reads | the watch is cut
FRAME_BYTES_MAX = 16 * 1024 * 1024
#: bound: plane | an agent's watch lasts at least | it is opened anew; at most twice as long
WATCH_SECONDS = 300.0  # plus up to as much again; then the server ends the watch and it is opened anew
_URGENT = frozenset({"leases"})  # a node that is busy must not seem dead


class _Meta(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""  # noqa: N815 - the wire's name


class _Object(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    code: int = 0  # of a Status
    message: str = ""


class _ListMeta(msgspec.Struct):
    resourceVersion: str = ""  # noqa: N815 - the wire's name
    more: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[msgspec.Raw] | None = None


class _Frame(msgspec.Struct):
    type: str
    object: msgspec.Raw


_object = msgspec.json.Decoder(_Object).decode
_page = msgspec.json.Decoder(_Page).decode
_frame = msgspec.json.Decoder(_Frame).decode


class Remote:
    """`noticed` hears what stands between us and the server whenever that changes; "" when nothing does. `urgent`:
    resources whose requests wait for no free connection. `agent`: how the client calls itself; `impersonating`: as whom
    the server is to take its requests, in the group of those who may do everything; "" for who signed in."""

    def __init__(
        self,
        client: HttpClient,
        prefix: str,
        token: Callable[[], str],
        clock: Callable[[], float],
        seconds: float = ASK_SECONDS,
        noticed: Callable[[str], None] = lambda trouble: None,
        urgent: frozenset[str] = _URGENT,
        *,
        agent: str = "fairlead-agent",
        impersonating: str = "",
    ) -> None:
        self._client = client
        self._prefix = prefix
        self._token = token
        self._clock = clock
        self._seconds = seconds
        self._noticed = noticed
        self._urgent = urgent
        self._trouble = ""
        self._fixed = f"accept: application/json\r\nuser-agent: {agent}/{__version__}\r\n".encode("ascii")
        self._impersonating = impersonating

    async def ask(self, request: Request, traceparent: str = "", user: str = "") -> Outcome:
        """`traceparent`: the span that the request is part of. `user`: whose request it is, where this impersonates."""
        try:
            answer = await self._send(request, traceparent, user)
        except NotSent as error:
            return Refused(503, "ServiceUnavailable", str(error), "later")
        except Broken as error:
            return Unknown(str(error))
        reply = Reply(answer.status, answer.body)
        try:
            return outcome_of(reply)
        except ValueError:  # not the API speaks, but something before it
            if answer.status < 300:
                return Done(0, answer.body)
            return outcome_of(Reply(answer.status, b'{"message": "the answer is not JSON"}'))

    async def document(self, path: str) -> HttpAnswer:
        """What is no object: versions, discovery. Raises NotSent or Broken."""
        answer = await self._client.send("GET", self._prefix + path, self._headers(), b"", self._seconds)
        self._judge(answer.status)
        return answer

    async def post(self, path: str, body: bytes) -> HttpAnswer:
        """The same with a body. Raises NotSent or Broken."""
        headers = self._headers() + b"content-type: application/json\r\n"
        answer = await self._client.send("POST", self._prefix + path, headers, body, self._seconds)
        self._judge(answer.status)
        return answer

    async def list_all(
        self, resource: Resource[View], selector: str, attempt: int
    ) -> Listed | ListFailed | Expired:
        """The whole resource, page by page, as it was when the first page was read."""
        entries: list[Entry] = []
        query = {"limit": str(PAGE_ITEMS_MAX)} | ({"fieldSelector": selector} if selector else {})
        revision = ""
        while True:
            try:
                answer = await self._send(_of(resource, "list", query))
                if answer.status == 410:
                    return Expired(self._clock(), attempt)
                if answer.status != 200:
                    return ListFailed(_told(answer.status, answer.body), self._clock(), attempt)
                page = _page(answer.body)
                entries += [_entry(resource, raw) for raw in page.items or ()]
                revision = revision or page.metadata.resourceVersion
                if not page.metadata.more:
                    return Listed(int(revision), tuple(entries), self._clock(), attempt)
            except (NotSent, Broken) as error:
                return ListFailed(str(error), self._clock(), attempt)
            except ValueError as error:
                return ListFailed(f"the list cannot be read: {error}", self._clock(), attempt)
            query = {**query, "continue": page.metadata.more}

    async def follow(
        self,
        resource: Resource[View],
        selector: str,
        since: int,
        attempt: int,
        tell: Callable[[Iterable[MirrorEvent]], None],
    ) -> None:
        """Watch until it ends; the last event told is Broke or Expired."""
        end: MirrorEvent
        try:
            end = await self._follow(resource, selector, since, attempt, tell)
        except (NotSent, Broken) as error:
            end = Broke(str(error), self._clock(), attempt)
        except ValueError as error:
            end = Broke(f"the watch cannot be read: {error}", self._clock(), attempt)
        tell((end,))

    async def attend(self, resource: str, namespace: str, name: str, tell: Callable[[int], None]) -> None:
        """Watch one object of the core group until the watch ends, for whatever reason; told are the revisions at
        which it is, beginning with the present one, or is gone."""
        query = {"fieldSelector": f"metadata.name={name}", "timeoutSeconds": _watch_seconds()}
        try:
            stream = await self._open(Request("watch", "", "v1", resource, namespace, query=query))
            try:
                if stream.status != 200:
                    return
                async for lines in _lines(stream):
                    for frame in map(_frame, lines):
                        if frame.type in ("ADDED", "MODIFIED", "DELETED"):
                            tell(int(_object(frame.object).metadata.resourceVersion))
            finally:
                stream.close()
        except (NotSent, Broken, ValueError):
            pass  # whoever reads the object says what is wrong

    async def _open(self, request: Request) -> AnswerStream:
        _, target = request_target(request)
        stream = await self._client.stream(self._prefix + target, self._headers(), self._seconds)
        self._judge(stream.status)
        return stream

    async def _follow(
        self,
        resource: Resource[View],
        selector: str,
        since: int,
        attempt: int,
        tell: Callable[[Iterable[MirrorEvent]], None],
    ) -> MirrorEvent:
        query = {
            "resourceVersion": str(since),
            "allowWatchBookmarks": "true",
            "timeoutSeconds": _watch_seconds(),
        } | ({"fieldSelector": selector} if selector else {})
        stream = await self._open(_of(resource, "watch", query))
        try:
            if stream.status != 200:
                body = await stream.read(self._seconds)
                now = self._clock()
                if stream.status == 410:
                    return Expired(now, attempt)
                return Broke(_told(stream.status, body), now, attempt)
            async for lines in _lines(stream):
                now = self._clock()
                events = [self._event(resource, line, now, attempt) for line in lines]
                if events and isinstance(events[-1], Broke | Expired):
                    tell(events[:-1])
                    return events[-1]
                tell(events)
        except TimeoutError:
            return Broke("the refusal did not arrive whole", self._clock(), attempt)
        finally:
            stream.close()
        return Broke("the server ended the watch", self._clock(), attempt)

    def _event(self, resource: Resource[View], line: bytes, now: float, attempt: int) -> MirrorEvent:
        frame = _frame(line)
        if frame.type == "BOOKMARK":
            return Marked(int(_object(frame.object).metadata.resourceVersion), now, attempt)
        if frame.type == "ERROR":
            status = _object(frame.object)
            return Expired(now, attempt) if status.code == 410 else Broke(status.message, now, attempt)
        return Framed(frame.type, _entry(resource, frame.object), now, attempt)

    async def _send(self, request: Request, traceparent: str = "", user: str = "") -> HttpAnswer:
        method, target = request_target(request)
        headers = self._headers(user)
        if traceparent:
            headers += b"traceparent: " + traceparent.encode("ascii") + b"\r\n"
        if request.body:
            headers += b"content-type: " + request.content_type.encode("ascii") + b"\r\n"
        try:
            answer = await self._client.send(
                method,
                self._prefix + target,
                headers,
                request.body,
                self._seconds,
                request.plural in self._urgent,
            )
        except (NotSent, Broken) as error:
            self._client.drop_kept()
            self._notice(str(error))
            raise
        self._judge(answer.status)
        return answer

    def _headers(self, user: str = "") -> bytes:
        fixed = self._fixed
        if self._impersonating:
            lines = f"impersonate-user: {user or self._impersonating}\r\nimpersonate-group: {MASTERS}\r\n"
            fixed += lines.encode("ascii")
        return fixed + bearer(self._token())

    def _judge(self, status: int) -> None:
        self._notice(
            f"{self._client.address.authority} refuses the token (401): give this node one that the server knows"
            if status == 401
            else ""
        )

    def _notice(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            self._noticed(trouble)


def _of(resource: Resource[View], verb: str, query: dict[str, str]) -> Request:
    group, _, version = resource.api_version.rpartition("/")
    return Request(verb, group, version, resource.name.partition(".")[0], query=query)


def _entry(resource: Resource[View], raw: msgspec.Raw) -> Entry:
    meta = _object(raw).metadata
    return Entry(
        Key(resource.name, meta.namespace, meta.name), meta.uid, int(meta.resourceVersion), bytes(raw)
    )


def _watch_seconds() -> str:
    return str(int(WATCH_SECONDS * (1 + random.random())))


async def _lines(stream: AnswerStream) -> AsyncIterator[list[bytes]]:
    """Those that came together. ValueError for one that does not end."""
    rest = b""
    async for chunk in stream:
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > FRAME_BYTES_MAX:
            raise ValueError("a frame is too large")
        yield [line for line in lines if line]


def _told(status: int, body: bytes) -> str:
    try:
        return _object(body).message or f"the server answered {status}"
    except ValueError:
        return f"the server answered {status}"
