"""A head that is known is not parsed anew: however a client's bytes are cut, the requests are those that parsing gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.wire.exchange import Exchange
from fairlead.wire.heads import HEAD_BYTES_KEPT_MAX
from fairlead.wire.http import ServerConnection
from fairlead.wire.listener import Listener
from fairlead.wire.receiving import RequestReader
from tests.unit.wire.test_http import Peer


class _Forgetful(RequestReader):
    def _remember_head(self, data: bytes) -> None:
        pass


class Parsed(ServerConnection):
    """One that remembers no head."""

    def __init__(self, listener: Listener, handle: Callable[[Exchange], None]) -> None:
        super().__init__(listener, handle)
        self.requests = _Forgetful(self, listener)


def request(method: bytes, target: bytes, headers: tuple[bytes, ...], body: bytes, framing: str) -> bytes:
    lines = [method + b" " + target + b" HTTP/1.1", b"Host: h", *headers]
    if framing == "chunked":
        lines.append(b"Transfer-Encoding: chunked")
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"
    elif body:
        lines.append(b"Content-Length: %d" % len(body))
    after = b"\r\n" if framing == "and an empty line" else b""
    return b"\r\n".join(lines) + b"\r\n\r\n" + body + after


requests = st.builds(
    request,
    st.sampled_from([b"POST", b"GET", b"PUT"]),
    st.sampled_from([b"/a", b"/b?x=1"]),
    st.sampled_from(
        [
            (),
            (b"Authorization: Bearer known",),
            (b"Authorization: Bearer unknown",),
            (b"Accept: application/json", b"X-Other: 1"),
            (b"Impersonate-User: eve",),
            (b"Connection: close",),
            (b"Expect: 100-continue",),
            (b"Upgrade: h2c",),
            (b"Authorization: Bearer known", b"Authorization: Bearer t"),
        ]
    ),
    st.sampled_from([b"", b"aaaa", b"bbbb", b"\r\nab", b"c\r\n\r\n", b"longer one"]),
    st.sampled_from(["whole", "whole", "chunked", "and an empty line"]),
)


def seen(connection: type[ServerConnection], pieces: list[bytes]) -> Any:
    peer = Peer(connection)
    for piece in pieces:
        peer.send(piece)
        for exchange in list(peer.exchanges):
            exchange.respond(200, b"text/plain", b"ok")
        peer.listener.loop.turn()
    told = [
        (each.method, each.target, each.headers, list(each.impersonation), each.body, each.body_unread)
        for each in peer.exchanges
    ]
    return (
        told,
        peer.listener.refused,
        peer.transport.written,
        peer.transport.closed,
        peer.listener.bodies.held,
    )


@settings(max_examples=300, deadline=None)
@given(st.lists(requests, min_size=1, max_size=6), st.data())
def test_the_same_requests_as_parsing_gives(sent: list[bytes], data: st.DataObject) -> None:
    repeated = [each for each in sent for _ in range(data.draw(st.integers(1, 3)))]
    stream = b"".join(repeated)
    if data.draw(st.booleans()):
        pieces = repeated
    else:
        cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(stream) - 1)), max_size=5)))
        pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert seen(ServerConnection, pieces) == seen(Parsed, pieces)


def test_a_known_head_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    peer = Peer()
    first = request(b"POST", b"/a", (), b"aaaa", "whole")
    peer.send(first)
    peer.exchanges[0].respond(200, b"text/plain", b"ok")
    monkeypatch.setattr(peer.connection.requests, "_parse", lambda data: pytest.fail("it was parsed"))
    peer.send(request(b"POST", b"/a", (), b"bbbb", "whole"))
    assert [each.body for each in peer.exchanges] == [b"aaaa", b"bbbb"]


def test_a_token_that_is_revoked_in_between_is_none_for_the_same_head() -> None:
    peer = Peer()
    post = request(b"POST", b"/a", (b"Authorization: Bearer t",), b"aaaa", "whole")
    peer.send(post)
    peer.exchanges[0].respond(200, b"text/plain", b"ok")
    del peer.listener.known[b"Bearer t"]
    peer.send(post)
    assert (peer.exchanges[1].body_unread, peer.exchanges[1].body) == (True, b"")


def test_a_long_head_is_not_kept() -> None:
    """Nobody who has not signed in has more of it kept than there is a bound for."""
    peer = Peer()
    peer.send(request(b"GET", b"/a", (b"X-Long: " + b"x" * HEAD_BYTES_KEPT_MAX,), b"", "whole"))
    assert peer.connection.requests._head is None
    peer.exchanges[0].respond(200, b"text/plain", b"ok")
    peer.send(request(b"GET", b"/a", (), b"", "whole"))
    assert peer.connection.requests._head is not None
