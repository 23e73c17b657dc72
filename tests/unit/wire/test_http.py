"""HTTP on one connection, driven byte by byte through a transport that only remembers."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator
from typing import Any, cast

import pytest

from fairlead.wire.budget import ByteBudget
from fairlead.wire.exchange import Exchange
from fairlead.wire.http import ServerConnection
from fairlead.wire.receiving import BODY_BYTES_MAX, HEADER_BYTES_MAX


class Transport:
    def __init__(self) -> None:
        self.written = b""
        self.closed = self.aborted = self.paused = False

    def write(self, data: bytes) -> None:
        self.written += data

    def set_write_buffer_limits(self, high: int | None = None) -> None: ...

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = self.aborted = True

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False

    def get_extra_info(self, name: str) -> Any:
        return ("127.0.0.1", 1234)


class Soon:
    def __init__(self, callback: Any) -> None:
        self.callback = callback

    def cancel(self) -> None:
        self.callback = lambda: None


class Loop:
    """Collects what was to run soon; `turn` runs it."""

    def __init__(self) -> None:
        self.soon: list[Soon] = []

    def call_soon(self, callback: Any) -> Soon:
        self.soon.append(Soon(callback))
        return self.soon[-1]

    def turn(self) -> None:
        soon, self.soon = self.soon, []
        for each in soon:
            each.callback()


class Listener:
    def __init__(self) -> None:
        self.loop = Loop()
        self.stopping = False
        self.refused: list[tuple[int, str]] = []
        self.bodies = ByteBudget(8 * BODY_BYTES_MAX)
        self.known = {b"Bearer known": "ann", b"Bearer t": "tom"}

    def now(self) -> float:
        return 1.0

    def joined(self, connection: ServerConnection) -> None: ...

    def owner_of_body(self, exchange: Exchange) -> str | None:
        return self.known.get(exchange.headers.get(b"authorization", b"Bearer known"))

    def left(self, connection: ServerConnection) -> None: ...

    def refuse(self, exchange: Exchange, status: int, message: str) -> None:
        self.refused.append((status, message))
        exchange.respond(status, b"text/plain", message.encode())


class Peer:
    """A connection with both ends in view."""

    def __init__(self, connection: type[ServerConnection] = ServerConnection) -> None:
        self.listener = Listener()
        self.exchanges: list[Exchange] = []
        self.connection = connection(cast(Any, self.listener), self.exchanges.append)
        self.transport = Transport()
        self.connection.connection_made(cast(asyncio.BaseTransport, self.transport))

    def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.connection.data_received(piece)


def get(path: str = "/x", extra: str = "") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: h\r\n{extra}\r\n".encode()


def test_a_request_in_single_bytes_is_the_same_request() -> None:
    peer = Peer()
    whole = b"POST /a?b=c HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\nContent-Length: 3\r\n\r\nabc"
    peer.send(*[whole[i : i + 1] for i in range(len(whole))])
    [exchange] = peer.exchanges
    assert (exchange.method, exchange.target, exchange.body) == (b"POST", b"/a?b=c", b"abc")
    assert exchange.headers[b"authorization"] == b"Bearer t"


def test_an_answer_is_one_write_with_its_length() -> None:
    peer = Peer()
    peer.send(get())
    peer.exchanges[0].respond(200, b"text/plain", b"hello", b"x-more: 1\r\n")
    assert peer.transport.written == (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\nx-more: 1\r\n\r\nhello"
    )
    assert not peer.transport.closed


def test_a_head_request_gets_the_length_but_no_body() -> None:
    peer = Peer()
    peer.send(b"HEAD /x HTTP/1.1\r\nHost: h\r\n\r\n")
    peer.exchanges[0].respond(200, b"text/plain", b"hello")
    assert peer.transport.written.endswith(b"content-length: 5\r\n\r\n")


def test_pipelined_requests_are_answered_in_order_one_at_a_time() -> None:
    peer = Peer()
    peer.send(get("/1") + get("/2") + get("/3"))
    assert [exchange.target for exchange in peer.exchanges] == [b"/1"]
    assert peer.transport.paused, "what a client sends ahead is bounded by not reading"
    for number in (1, 2, 3):
        peer.exchanges[number - 1].respond(200, b"t", b"%d" % number)
        peer.listener.loop.turn()
    assert [exchange.target for exchange in peer.exchanges] == [b"/1", b"/2", b"/3"]
    assert [line for line in peer.transport.written.split(b"\r\n\r\n") if line[:1].isdigit()][-1] == b"3"
    assert not peer.transport.paused


@pytest.mark.parametrize(
    ("request_bytes", "kept"),
    [
        (get(), True),
        (get(extra="Connection: close\r\n"), False),
        (b"GET /x HTTP/1.0\r\n\r\n", False),
        (b"GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", True),
    ],
)
def test_connections_are_kept_as_the_client_asked(request_bytes: bytes, kept: bool) -> None:
    peer = Peer()
    peer.send(request_bytes)
    peer.exchanges[0].respond(200, b"t", b"")
    assert peer.transport.closed is not kept
    assert (b"connection: close" in peer.transport.written) is not kept


@pytest.mark.parametrize(
    ("pieces", "status"),
    [
        ((b"NOT HTTP AT ALL\r\n\r\n",), 400),
        ((b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % (BODY_BYTES_MAX + 1),), 413),
        (
            (
                b"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
                b"400000\r\n" + b"x" * 0x400000 + b"\r\n",
            ),
            413,
        ),
        ((get(extra=f"X-Long: {'y' * HEADER_BYTES_MAX}\r\n"),), 431),
    ],
)
def test_what_is_too_large_or_no_http_is_answered_and_never_handled(
    pieces: tuple[bytes, ...], status: int
) -> None:
    peer = Peer()
    peer.send(*pieces)
    assert [code for code, _ in peer.listener.refused] == [status]
    assert peer.exchanges == []
    assert b"connection: close" in peer.transport.written


def test_a_client_that_waits_to_be_told_to_go_on_is_told() -> None:
    peer = Peer()
    peer.send(b"POST /x HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    assert peer.transport.written == b"HTTP/1.1 100 Continue\r\n\r\n"
    peer.send(b"ok")
    assert peer.exchanges[0].body == b"ok"


def test_a_stream_is_chunked_ends_cleanly_and_leaves_the_connection_usable() -> None:
    peer = Peer()
    peer.send(get("/watch"))
    exchange = peer.exchanges[0]
    exchange.stream(b"application/json")
    exchange.send(b"one\n")
    exchange.end()
    assert peer.transport.written.endswith(b"\r\n\r\n4\r\none\n\r\n0\r\n\r\n")
    peer.send(get("/next"))
    assert peer.exchanges[1].target == b"/next"


def test_a_client_that_leaves_during_a_stream_is_noticed_once() -> None:
    peer = Peer()
    peer.send(get("/watch"))
    gone: list[bool] = []
    exchange = peer.exchanges[0]
    exchange.on_gone = lambda: gone.append(True)
    exchange.stream(b"t")
    peer.connection.connection_lost(None)
    assert gone == [True]
    exchange.respond(200, b"t", b"late")
    assert b"late" not in peer.transport.written


def test_a_stream_knows_when_the_client_does_not_read() -> None:
    peer = Peer()
    peer.send(get("/watch"))
    exchange = peer.exchanges[0]
    exchange.stream(b"t")
    resumed: list[bool] = []
    exchange.on_writable(lambda: resumed.append(True))
    peer.connection.pause_writing()
    assert not exchange.writable
    peer.connection.resume_writing()
    assert exchange.writable
    assert resumed == [True]
    exchange.abort()
    assert peer.transport.aborted


def test_who_does_not_read_the_answers_gets_no_further_ones() -> None:
    peer = Peer()
    peer.send(get("/1") + get("/2"))
    peer.connection.pause_writing()
    peer.exchanges[0].respond(200, b"t", b"1")
    peer.listener.loop.turn()
    assert len(peer.exchanges) == 1, "the second answer would gather behind the first"
    peer.connection.resume_writing()
    peer.listener.loop.turn()
    peer.exchanges[1].respond(200, b"t", b"2")
    assert not peer.transport.paused
    peer.connection.pause_writing()
    peer.send(get("/3"), b"no HTTP")
    assert len(peer.exchanges) == 2
    assert not peer.listener.refused, "what came before it is answered first"
    peer.connection.resume_writing()
    peer.listener.loop.turn()
    peer.exchanges[2].respond(200, b"t", b"3")
    assert [status for status, _ in peer.listener.refused] == [400]


LONG = [bytes([65 + number]) * 200_000 for number in range(12)]


def test_a_long_answer_goes_out_in_turns_and_then_the_next_request_is_answered() -> None:
    peer = Peer()
    peer.send(get("/1") + get("/2"))
    peer.exchanges[0].respond_long(200, b"t", sum(map(len, LONG)), iter(LONG))
    sent = len(peer.transport.written)
    assert sent < 1_000_000, "others had no turn"
    assert len(peer.exchanges) == 1
    while len(peer.exchanges) == 1:
        peer.listener.loop.turn()
    head, _, body = peer.transport.written.partition(b"\r\n\r\n")
    assert b"content-length: 2400000" in head
    assert body == b"".join(LONG)
    peer.exchanges[1].respond(200, b"t", b"2")
    assert peer.transport.written.endswith(b"\r\n\r\n2")


def test_of_a_long_answer_no_more_is_made_than_the_client_reads() -> None:
    peer = Peer()
    peer.send(get())
    made: list[bytes] = []

    def pieces() -> Iterator[bytes]:
        for piece in LONG:
            made.append(piece)
            yield piece

    peer.connection.pause_writing()
    peer.exchanges[0].respond_long(200, b"t", sum(map(len, LONG)), pieces())
    peer.listener.loop.turn()
    assert not made
    assert peer.connection.pouring
    peer.connection.resume_writing()
    assert 0 < len(made) < len(LONG)
    peer.connection.pause_writing()
    peer.connection.resume_writing()  # before the turn that was waiting
    peer.listener.loop.turn()
    assert len(peer.listener.loop.soon) == 1, "two chains of turns"
    while peer.listener.loop.soon:
        peer.listener.loop.turn()
    assert peer.transport.written.endswith(b"".join(LONG))
    assert peer.connection.idle
    assert not peer.connection.pouring


def test_a_head_request_for_a_long_answer_gets_no_body() -> None:
    peer = Peer()
    peer.send(b"HEAD /x HTTP/1.1\r\nHost: h\r\n\r\n")
    peer.exchanges[0].respond_long(200, b"t", 2_400_000, iter(LONG))
    assert peer.transport.written.endswith(b"content-length: 2400000\r\n\r\n")


def test_who_leaves_in_the_middle_of_a_long_answer_is_forgotten_at_once() -> None:
    peer = Peer()
    peer.send(get())
    peer.exchanges.pop().respond_long(200, b"t", sum(map(len, LONG)), iter(LONG))
    loop, transport = peer.listener.loop, peer.transport
    peer.connection.connection_lost(None)
    lost = weakref.ref(peer.connection)
    written = len(transport.written)
    gc.disable()
    try:
        del peer
        assert lost() is None
    finally:
        gc.enable()
    loop.turn()
    assert len(transport.written) == written


def test_a_connection_that_is_lost_is_freed_at_once_with_what_was_never_read() -> None:
    peer = Peer()
    peer.send(get())
    peer.exchanges.pop().respond(200, b"t", b"never read")
    peer.connection.connection_lost(None)
    lost = weakref.ref(peer.connection)
    gc.disable()  # counting references must do; a collection may be far away
    try:
        del peer
        assert lost() is None
    finally:
        gc.enable()


def post(extra: bytes = b"", token: bytes = b"known", path: bytes = b"/x") -> bytes:
    return b"POST %b HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %b\r\n%b\r\n" % (path, token, extra)


LENGTH = b"Content-Length: 1000\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
EXPECT = b"Expect: 100-continue\r\n"


@pytest.mark.parametrize("framing", [LENGTH, CHUNKED, EXPECT + LENGTH])
def test_the_body_of_somebody_unknown_is_never_kept_and_the_request_is_handled_at_once(
    framing: bytes,
) -> None:
    peer = Peer()
    smuggled = b"3e8\r\n" + b"x" * 1000 + b"\r\n0\r\n\r\n" + get("/smuggled")
    peer.send(post(framing, b"wrong") + smuggled[:500], smuggled[500:])
    [exchange] = peer.exchanges
    assert (exchange.body_unread, exchange.body, peer.connection.requests._body) == (True, b"", [])
    assert peer.listener.bodies.held == 0
    assert peer.transport.written == b"", "nobody unknown is told to go on"
    exchange.respond(401, b"t", b"who are you?")
    assert b"connection: close" in peer.transport.written
    assert peer.transport.closed
    peer.send(get("/later"))
    assert len(peer.exchanges) == 1, "what follows a body that was not read is no request"


def test_a_request_of_somebody_unknown_waits_for_its_turn_and_meanwhile_nothing_is_read() -> None:
    peer = Peer()
    peer.send(get("/1") + post(LENGTH, b"wrong") + b"x" * 300)
    assert [exchange.target for exchange in peer.exchanges] == [b"/1"]
    assert peer.transport.paused
    peer.exchanges[0].respond(200, b"t", b"1")
    peer.listener.loop.turn()
    peer.exchanges[1].respond(401, b"t", b"")
    assert peer.transport.written.index(b" 200 ") < peer.transport.written.index(b" 401 ")
    assert peer.transport.closed


def test_who_waits_to_be_told_to_go_on_is_told_after_the_answers_before() -> None:
    peer = Peer()
    peer.send(get("/watch"), post(EXPECT + LENGTH))
    peer.exchanges[0].stream(b"t")
    peer.exchanges[0].send(b"one")
    assert b"100 Continue" not in peer.transport.written
    peer.exchanges[0].end()
    assert peer.transport.written.endswith(b"0\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n")
    peer.send(b"x" * 1000)
    assert peer.exchanges[1].body == b"x" * 1000


@pytest.mark.parametrize(
    ("head", "says"),
    [
        (b"GET /x HTTP/1.1\r\n\r\n", "0 Host headers"),
        (b"GET /x HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "2 Host headers"),
        (b"GET /x HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", "2 Host headers"),
        (b"GET /x HTTP/1.1\r\nHost: a/b\r\n\r\n", "names no host"),
        (post(b"Transfer-Encoding: gzip, chunked\r\n"), "chunked"),
        (b"GET /x HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t\r\nAuthorization: Bearer t\r\n\r\n", "one"),
        (post(b"Authorization: Bearer t\r\n" + LENGTH), "more than one Authorization"),
    ],
)
def test_an_ambiguous_head_is_refused(head: bytes, says: str) -> None:
    peer = Peer()
    peer.send(head)
    [(status, message)] = peer.listener.refused
    assert (status, peer.exchanges) == (400, [])
    assert says in message


def test_bodies_are_paid_for_until_they_are_answered_or_their_client_is_gone() -> None:
    peer = Peer()
    bodies = peer.listener.bodies
    peer.send(post(LENGTH))
    assert bodies.held == 1000, "what is announced is paid for before it is read"
    peer.send(
        b"x" * 1000 + post(CHUNKED, b"t") + b"5\r\nabcde\r\n0\r\n\r\n" + post(CHUNKED) + b"3\r\nabc\r\n"
    )
    assert bodies.held == 1008
    peer.exchanges[0].respond(200, b"t", b"")
    assert bodies.held == 8
    peer.listener.loop.turn()
    peer.exchanges[1].stream(b"t")
    assert bodies.held == 3, "a stream does not need its body"
    peer.connection.connection_lost(None)
    assert bodies.held == 0


@pytest.mark.parametrize("framing", [LENGTH, EXPECT + LENGTH, CHUNKED])
def test_a_body_that_the_budget_has_no_room_for_is_refused_before_it_is_kept(framing: bytes) -> None:
    peer = Peer()
    peer.listener.bodies = ByteBudget(1500)
    assert peer.listener.bodies.take("tom", 600)
    peer.send(post(framing), b"3e8\r\n" + b"x" * 1000 + b"\r\n")
    assert [status for status, _ in peer.listener.refused] == [429]
    assert (peer.exchanges, peer.connection.requests._body, peer.listener.bodies.held) == ([], [], 600)
    assert b"100 Continue" not in peer.transport.written
    assert b"connection: close" in peer.transport.written


def test_a_user_may_hold_as_much_as_stays_free() -> None:
    bodies = ByteBudget(1200)
    assert bodies.take("ann", 600)
    assert not bodies.take("ann", 1)
    assert bodies.take("tom", 300)
    assert not bodies.take("tom", 1)
    assert bodies.take("eve", 150), "there is something left for whoever comes next"
    bodies.give_back("ann", 600)
    assert bodies.take("tom", 200)
    assert (bodies.held, bodies.refused) == (650, 2)
    for user, size in (("tom", 500), ("eve", 150)):
        bodies.give_back(user, size)
    assert (bodies.held, bodies._held) == (0, {})
