"""The client that blocks, against scripted servers over real sockets, and what a person is told of each failure."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fairlead.cli.client import ApiClient
from fairlead.core.errors import Unreachable
from fairlead.runtime.credentials import certificates
from fairlead.runtime.credentials.kubeconfig import ServerAccess
from fairlead.wire.blocking_client import BlockingClient
from fairlead.wire.client_protocol import Address, Broken, NotSent

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
Connected = Callable[[socket.socket], None]


@contextlib.contextmanager
def serving(play: Connected, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """Each connection plays; yields the port."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                wire, _ = listening.accept()
            except OSError:
                return
            with contextlib.suppress(OSError):
                play(tls.wrap_socket(wire, server_side=True) if tls else wire)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def answering(received: list[bytes], *answers: bytes) -> Connected:
    """One request, one answer, and so on; then it closes."""

    def play(wire: socket.socket) -> None:
        with wire:
            for answer in answers:
                request = wire.recv(65536)
                if not request:
                    return
                received.append(request)
                wire.sendall(answer)

    return play


def asked(port: int, times: int = 1, bytes_max: int = 1000) -> list[bytes]:
    client = BlockingClient(Address("127.0.0.1", port, None), 1.0, bytes_max)
    try:
        return [client.send("GET", "/x", b"a: b\r\n", b"").body for _ in range(times)]
    finally:
        client.close()


def test_a_connection_is_kept_while_both_sides_want_it() -> None:
    received: list[bytes] = []
    closing = OK.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")
    with serving(answering(received, OK, closing)) as port:
        assert asked(port, times=3) == [b"{}"] * 3
    assert received == [b"GET /x HTTP/1.1\r\nhost: 127.0.0.1:%d\r\na: b\r\n\r\n" % port] * 3


def test_an_answer_without_length_ends_with_its_connection() -> None:
    with serving(answering([], b"HTTP/1.0 200 OK\r\n\r\nall of it")) as port:
        assert asked(port) == [b"all of it"]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"", "closed"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhi", "closed"),
        (b"no HTTP\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2000\r\n\r\n" + b"x" * 2000, "larger than 1000 bytes"),
    ],
    ids=["closed", "cut", "noise", "large"],
)
def test_what_was_sent_and_not_answered_is_broken(answer: bytes, told: str) -> None:
    with serving(answering([], answer)) as port, pytest.raises(Broken, match=told):
        asked(port)


def test_silence_is_broken_and_no_connection_is_not_sent() -> None:
    done = threading.Event()

    def keep_silent(wire: socket.socket) -> None:
        with wire:
            done.wait(60)

    with serving(keep_silent) as port:
        with pytest.raises(Broken, match="timed out"):
            BlockingClient(Address("127.0.0.1", port, None), 0.2, 1000).send("GET", "/", b"", b"")
        done.set()
    with pytest.raises(NotSent, match="Connection refused"):
        asked(port)


def test_bytes_after_an_answer_are_not_taken_for_the_next_one() -> None:
    received: list[bytes] = []
    with serving(answering(received, OK + OK.replace(b"{}", b"no"))) as port:
        assert asked(port, times=2) == [b"{}", b"{}"]
    assert len(received) == 2


@pytest.mark.parametrize(
    ("made_at", "trusts_it", "told"),
    [
        (time.time(), True, ""),
        (time.time(), False, "not the one the kubeconfig expects"),
        (time.time() - 20 * 365 * 86400, True, "it has expired at"),
    ],
    ids=["trusted", "of another authority", "expired"],
)
def test_a_person_is_told_why_a_certificate_is_refused(
    made_at: float, trusts_it: bool, told: str, tmp_path: Path
) -> None:
    ours, other = certificates.new_authority(made_at), certificates.new_authority(made_at)
    pair = certificates.new_server(ours.certificate, ours.key, ["127.0.0.1"], made_at)
    (tmp_path / "pair.pem").write_bytes(pair.certificate + pair.key)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "pair.pem")
    with serving(answering([], OK), tls) as port:
        authority = (ours if trusts_it else other).certificate.decode()
        client = ApiClient(ServerAccess(f"https://127.0.0.1:{port}", ca=authority))
        try:
            if not told:
                assert client.get("/") == {}
                return
            with pytest.raises(Unreachable, match=told):
                client.get("/")
        finally:
            client.close()
