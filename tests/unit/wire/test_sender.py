"""Who sends a request is found once while it is in one hand, and again for one that had to wait."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fairlead.api.access.users import User
from fairlead.api.plan import Context
from fairlead.core.errors import Unauthorized
from fairlead.port.request import Reply
from fairlead.wire.documents import Documents
from fairlead.wire.exchange import Exchange
from fairlead.wire.handler import Handler
from fairlead.wire.host import Host
from fairlead.wire.watching import Watches
from tests.unit.wire.test_http import Peer

ANN = User("ann")
POST = (
    b"POST /api/v1/namespaces/default/pods HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer a\r\n"
    b"Content-Length: 2\r\n\r\n{}"
)
OPEN = b"GET /api/v1/pods HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer a\r\n\r\n"


class Served(Peer):
    """A connection whose requests go to a handler; it counts how often somebody signed in."""

    def __init__(self) -> None:
        super().__init__()
        self.signed_in = 0
        self.revoked = False
        self.held: list[Exchange] = []  # those of GET, which nobody has answered yet

        def sign_in(*_: object) -> User:
            self.signed_in += 1
            if self.revoked:
                raise Unauthorized("the bearer token is unknown or was revoked")
            return ANN

        audit = SimpleNamespace(refused=lambda *_, **__: (), read=lambda *_: ())
        desk = SimpleNamespace(audit=audit)
        host = SimpleNamespace(
            api=SimpleNamespace(plan=lambda *_: Reply(200, b"{}"), serves=lambda _: True, desk=desk),
            sign_in=sign_in,
            context=lambda user, *_: Context(user, 0.0, b"0" * 16),
        )
        nothing = cast(Documents, None), cast(Watches, None)
        handler = Handler(cast(Host, host), *nothing)
        self.listener.owner_of_body = handler.owner_of_body  # type: ignore[method-assign]
        self.listener.recognized = lambda _: None  # type: ignore[attr-defined]

        def handle(exchange: Exchange) -> None:
            self.exchanges.append(exchange)
            if exchange.method == b"GET":
                self.held.append(exchange)
            else:
                handler(exchange)

        self.connection._handle = handle
        self.connection.certificate = None

    def signs_in(self, act: Callable[[], Any]) -> int:
        """How often, while this is done."""
        before = self.signed_in
        act()
        return self.signed_in - before

    @property
    def refusals(self) -> int:
        return self.transport.written.count(b"HTTP/1.1 401")


@pytest.fixture
def served() -> Served:
    served = Served()
    served.send(POST)  # its head is known from now on
    assert served.transport.written.count(b"HTTP/1.1 200") == 1
    return served


def test_a_request_that_came_whole_signs_in_once(served: Served) -> None:
    assert served.signs_in(lambda: served.send(POST)) == 1
    served.revoked = True
    assert served.signs_in(lambda: served.send(POST)) >= 1
    assert served.refusals == 1


def test_one_whose_body_comes_later_signs_in_when_it_is_there(served: Served) -> None:
    assert served.signs_in(lambda: served.send(POST[:-1])) == 1
    served.revoked = True
    assert served.signs_in(lambda: served.send(POST[-1:])) == 1
    assert served.refusals == 1


def test_one_that_waits_for_another_signs_in_when_its_turn_comes(served: Served) -> None:
    served.send(OPEN, POST)  # the head of the last one was parsed
    [held] = served.held
    held.respond(200, b"text/plain", b"")
    served.listener.loop.turn()
    served.send(POST)  # and is known from now on
    served.connection._open = held
    assert served.signs_in(lambda: served.send(POST)) == 1
    served.revoked = True
    held.respond(200, b"text/plain", b"")
    assert served.signs_in(served.listener.loop.turn) == 1
    assert served.refusals == 1
