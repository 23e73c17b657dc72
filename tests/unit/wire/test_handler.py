"""The handler's books: every answer is counted once, under what it was."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from fairlead.api.access.users import ANONYMOUS, User
from fairlead.api.plan import Context, NodeAddress, NodeQuestion, NodeStream, Plan, Watch
from fairlead.core.errors import NotFound, Unavailable
from fairlead.port.request import Reply
from fairlead.store.contract import CommitFailed, Transaction
from fairlead.wire.documents import Documents
from fairlead.wire.exchange import Exchange
from fairlead.wire.handler import Handler
from fairlead.wire.host import Host
from fairlead.wire.watching import Watches

PODS = b"/api/v1/pods"


class Answer:
    """An exchange that keeps what it was answered with."""

    def __init__(self, target: bytes) -> None:
        self.method, self.target, self.body = b"GET", target, b""
        self.headers: dict[bytes, bytes] = {}
        self.impersonation: list[tuple[bytes, bytes]] = []
        self.peer, self.certificate = "127.0.0.1", None
        self.flow = b""
        self.arrived, self.streaming = 0.0, False
        self.status, self.text = 0, b""

    def respond(self, status: int, content_type: bytes, body: bytes, extra: bytes = b"") -> None:
        assert not self.status, "answered twice"
        self.status, self.text = status, body


def ask(
    step: Any, target: bytes = PODS, *, open_watch: Any = None, nodes: Any = None, method: bytes = b"GET"
) -> tuple[Answer, Handler]:
    """One request to a handler whose API plans `step`, or raises it."""

    def plan(*_: object) -> Any:
        if isinstance(step, Exception):
            raise step
        return step

    def context(user: User, user_agent: str, source: str, impersonator: User | None) -> Context:
        return Context(user, 0.0, b"0" * 16, impersonator=impersonator)

    audit = SimpleNamespace(refused=lambda *_, **__: (), read=lambda *_: ())
    host = SimpleNamespace(
        api=SimpleNamespace(plan=plan, serves=lambda _: True, desk=SimpleNamespace(audit=audit)),
        sign_in=lambda *_: ANONYMOUS,
        context=context,
        submit=lambda transaction, done: done(CommitFailed("StorageFull", "no room")),
    )
    documents = SimpleNamespace(answer=lambda exchange, *_: exchange.respond(304, b"", b"") or 304)
    watches = SimpleNamespace(open=open_watch)
    handler = Handler(cast(Host, host), cast(Documents, documents), cast(Watches, watches), nodes)
    exchange = Answer(target)
    exchange.method = method
    handler(cast(Exchange, exchange))
    return exchange, handler


def _broken(_: object) -> Any:
    raise KeyError("a secret")


@pytest.mark.parametrize(
    ("step", "status"),
    [
        (Reply(200, b"{}"), 200),
        (NotFound("no such thing"), 404),
        (KeyError("a secret"), 500),
        (Plan(Transaction(), _broken), 500),
    ],
)
def test_every_answer_is_counted_also_those_that_were_not_foreseen(step: Any, status: int) -> None:
    exchange, handler = ask(step)
    assert exchange.status == status
    assert handler.tally.requests == {("list", "pods", status): 1}
    assert b"secret" not in exchange.text


def test_a_watch_that_could_not_be_opened_is_counted_as_that_alone() -> None:
    def stopping(*_: object) -> None:
        raise Unavailable("the server is stopping")

    watch = Watch(
        resource="pods",
        namespace="",
        since=0,
        initial=(),
        accepts=None,
        encode=None,
        bookmarks=False,
        bookmark=lambda *_: b"",
        initial_end=False,
        timeout_seconds=1.0,
    )
    exchange, handler = ask(watch, PODS + b"?watch=1", open_watch=stopping)
    assert exchange.status == 503
    assert handler.tally.requests == {("watch", "pods", 503): 1}


def test_what_only_nodes_know_is_refused_where_none_can_be_asked() -> None:
    exchange, handler = ask(NodeQuestion((), "/stats", lambda answers: Reply(200, b"")))
    assert exchange.status == 503
    assert handler.tally.requests == {("list", "pods", 503): 1}


@pytest.mark.parametrize(
    ("found", "status"),
    [(Reply(200, b"{}"), 200), (NotFound("no such thing"), 404), (KeyError("a secret"), 500)],
)
def test_what_nodes_answer_is_counted_once(found: Any, status: int) -> None:
    nodes = SimpleNamespace(ask=lambda question, done: done(found))
    exchange, handler = ask(NodeQuestion((), "/stats", lambda answers: Reply(200, b"")), nodes=nodes)
    assert exchange.status == status
    assert handler.tally.requests == {("list", "pods", status): 1}
    assert b"secret" not in exchange.text


def test_a_head_of_a_log_asks_nobody() -> None:
    node = NodeAddress("one", "https://127.0.0.1:1", "")
    exchange, _ = ask(
        NodeStream(node, "/logs", lambda *_: KeyError()), nodes=SimpleNamespace(), method=b"HEAD"
    )
    assert (exchange.status, exchange.text) == (200, b"")


def test_documents_are_counted_together() -> None:
    _, handler = ask(None, b"/openapi/v2")
    assert handler.tally.requests == {("document", "", 304): 1}
