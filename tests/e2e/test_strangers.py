"""Clients that nobody knows, and many of them: what they send is not kept, and they keep out nobody who is known."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.clients.converging import eventually
from tests.e2e.raw import Raw, assert_no_traceback
from tests.running import Running

FILES = 160
CONFIGMAPS = b"/api/v1/namespaces/default/configmaps"
BODY = 3 * 1024 * 1024


@pytest.fixture(scope="module")
def cramped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that may open few files."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, before[1]))
    try:
        server = Running(tmp_path_factory.mktemp("cramped") / "data")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    yield server
    server.stop()
    assert_no_traceback(server)


def silent(server: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=60)


def samples(server: Running) -> dict[str, float]:
    _, text = server.request("GET", "/metrics")
    lines = [line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("fairlead_")]
    return {name: float(value) for name, value in lines if "{" not in name}


def resident(server: Running) -> int:
    return int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]) * resource.getpagesize()


def is_served(server: Running) -> bool:
    try:
        return bool(server.request("GET", "/api/v1/namespaces/default")[0] == 200)
    except OSError:
        return False


def test_bodies_of_strangers_take_no_memory_and_each_is_told_why(running: Running) -> None:
    began = resident(running)
    head = b"POST %b HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer wrong\r\nContent-Length: %d\r\n\r\n"
    with ExitStack() as stack:
        strangers = [stack.enter_context(Raw(running)) for _ in range(24)]
        joined = resident(running)
        for raw in strangers:
            raw.send(head % (CONFIGMAPS, BODY) + b"x" * (BODY - 1))  # and never the last byte
        assert resident(running) - joined < 8 * BODY, (began, joined)
        for raw in strangers:
            answer = raw.answer()
            assert (answer.status, answer.headers["connection"]) == (401, ["close"])
    assert samples(running)["fairlead_body_bytes_held"] == 0


@pytest.mark.parametrize("token", ["", "Authorization: Bearer wrong\r\n"])
def test_a_stranger_is_not_told_to_go_on(running: Running, token: str) -> None:
    with Raw(running) as raw:
        head = f"POST {CONFIGMAPS.decode()} HTTP/1.1\r\nHost: h\r\n{token}Expect: 100-continue\r\nContent-Length: 9\r\n\r\n"
        raw.send(head.encode())
        assert raw.answer().status == 401
        assert raw.rest() == b""


def test_what_stands_in_the_body_of_a_stranger_is_never_a_request(running: Running) -> None:
    inner = (
        b"GET /api/v1/secrets HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %b\r\n\r\n"
        % running.token.encode()
    )
    for framing, body in (
        (b"Content-Length: %d\r\n" % len(inner), inner),
        (b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n" + inner),
        (b"Content-Length: 1\r\n", b"x" + inner),
    ):
        with Raw(running) as raw:
            raw.send(b"POST /livez HTTP/1.1\r\nHost: h\r\n" + framing + b"\r\n" + body)
            assert raw.answer().status in (403, 405)
            assert raw.rest() == b""


def test_who_is_known_gets_in_though_more_connections_never_finish_tls_than_there_are_files(
    cramped: Running,
) -> None:
    with ExitStack() as stack:
        for number in range(FILES + 60):
            plain = stack.enter_context(silent(cramped))
            plain.sendall(b"\x16\x03\x01\x02\x00\x01"[: number % 7])
        eventually(lambda: is_served(cramped), seconds=60)
        seen = samples(cramped)
        assert 0 < seen["fairlead_handshakes_open"] <= (FILES - 64) // 2
        eventually(lambda: samples(cramped)["fairlead_handshakes_ended_total"] > 60)
    eventually(lambda: samples(cramped)["fairlead_handshakes_open"] == 0)


def test_strangers_give_way_to_those_who_are_known(cramped: Running) -> None:
    with ExitStack() as stack:
        known = stack.enter_context(Raw(cramped))
        known.request(b"GET /version HTTP/1.1")
        assert known.answer().status == 200
        for _ in range(FILES):
            stranger = stack.enter_context(Raw(cramped))
            stranger.send(b"GET / HT")
        assert is_served(cramped)
        known.request(b"GET /version HTTP/1.1")
        assert known.answer().status == 200
        assert samples(cramped)["fairlead_connections_displaced_total"] >= 60
