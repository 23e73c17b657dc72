"""HTTP on one connection, driven byte by byte through a transport that only remembers."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator
from typing import Any, cast

import pytest

from fairlead.wire.http import BODY_BYTES_MAX, HEADER_BYTES_MAX, Connection, Exchange


class Transport:
    def __init__(self) -> None:
        self.written = b""
        self.closed = self.aborted = self.paused = False

    def write(self, data: bytes) -> None:
        self.written += data

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

    def now(self) -> float:
        return 1.0

    def joined(self, connection: Connection) -> None: ...

    def left(self, connection: Connection) -> None: ...

    def refuse(self, exchange: Exchange, status: int, message: str) -> None:
        self.refused.append((status, message))
        exchange.respond(status, b"text/plain", message.encode())


class Peer:
    """A connection with both ends in view."""

    def __init__(self) -> None:
        self.listener = Listener()
        self.exchanges: list[Exchange] = []
        self.connection = Connection(cast(Any, self.listener), self.exchanges.append)
        self.transport = Transport()
        self.connection.connection_made(cast(asyncio.BaseTransport, self.transport))

    def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.connection.data_received(piece)


def get(path: str = "/x", extra: str = "") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: h\r\n{extra}\r\n".encode()


def test_a_request_in_single_bytes_is_the_same_request() -> None:
    peer = Peer()
    whole = b"POST /a?b=c HTTP/1.1\r\nAuthorization: Bearer t\r\nContent-Length: 3\r\n\r\nabc"
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
        ((b"POST /x HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (BODY_BYTES_MAX + 1),), 413),
        (
            (
                b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
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
    peer.send(b"POST /x HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
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
