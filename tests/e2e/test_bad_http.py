"""What is not quite HTTP, sent byte by byte to a real server: it answers, closes if it must, and serves on."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.e2e.raw import Raw, assert_no_traceback
from tests.running import Running

CONFIGMAPS = b"/api/v1/namespaces/default/configmaps"
NAMESPACE = b"/api/v1/namespaces/default"
JSON = b"Content-Type: application/json\r\n"
OVER = 3 * 1024 * 1024 + 1


@pytest.fixture(autouse=True)
def serves_on(running: Running) -> Iterator[None]:
    """Whatever a test did, the server is still there, and no traceback was written."""
    yield
    status, _ = running.request("GET", NAMESPACE.decode())
    assert status == 200
    assert_no_traceback(running)


def created(name: bytes) -> bytes:
    return b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%b"}}' % name


@pytest.mark.parametrize(
    ("sent", "status", "says"),
    [
        (b"\x16\x03garbage\r\n\r\n", 400, "malformed HTTP request"),
        (b"BREW /pot HTTP/1.1\r\n\r\n", 400, "malformed HTTP request: Invalid method"),
        (b"GET / HTTP/9.9\r\n\r\n", 400, "malformed HTTP request"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "malformed HTTP request"),
        (b"GET /\xc3\xa4 HTTP/1.1\r\n\r\n", 400, "malformed HTTP request"),
        (b"GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", 400, "malformed HTTP request"),
        (b"GET / HTTP/1.1\r\nNo colon\r\n\r\n", 400, "malformed HTTP request"),
        (b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n", 400, "Content-Length"),
        (b"POST / HTTP/1.1\r\nContent-Length: 5x\r\n\r\n", 400, "Content-Length"),
        (b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n", 400, "Content-Length"),
        (b"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", 400, "Content-Length"),
        (
            b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
            400,
            "Content-Length",
        ),
        (b"GET / HTTP/1.1\r\n\r\n", 400, "0 Host headers"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "2 Host headers"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nAuthorization: x\r\nAuthorization: x\r\n\r\n", 400, "more than one"),
        (b"GET /%b HTTP/1.1\r\n\r\n" % (b"a" * 70_000), 431, "limit of 65536 bytes"),
        (b"GET / HTTP/1.1\r\nA: %b\r\n\r\n" % (b"a" * 70_000), 431, "limit of 65536 bytes"),
        (b"GET / HTTP/1.1\r\nA: %b" % (b"a" * 900_000), 431, "limit of 65536 bytes"),
        (
            b"GET / HTTP/1.1\r\n%b\r\n" % b"".join(b"A%d: b\r\n" % n for n in range(20_000)),
            431,
            "65536 bytes",
        ),
    ],
)
def test_what_is_not_http_is_answered_with_a_status_and_closed(
    running: Running, sent: bytes, status: int, says: str
) -> None:
    with Raw(running) as raw:
        raw.send(sent)
        answer = raw.answer()
        assert (answer.status, answer.json()["kind"], answer.json()["code"]) == (status, "Status", status)
        assert says in answer.message
        assert answer.headers["connection"] == ["close"]
        assert raw.rest() == b""


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"OPTIONS * HTTP/1.1", 400),
        (b"CONNECT example.org:443 HTTP/1.1", 400),
        (b"GET ftp://example.org/api HTTP/1.1", 400),
        (b"TRACE %b HTTP/1.1" % NAMESPACE, 405),
        (b"OPTIONS %b HTTP/1.1" % NAMESPACE, 405),
        (b"GET https://example.org%b HTTP/1.1" % NAMESPACE, 200),
        (b"GET https://example.org HTTP/1.1", 200),
        (b"GET %b?pretty HTTP/1.1" % NAMESPACE, 200),
        (b"GET //api/v1 HTTP/1.1", 404),
        (b"GET /api/v1/../v1/namespaces HTTP/1.1", 404),
        (b"GET /api/v1/namespaces/../../../etc/passwd HTTP/1.1", 404),
        (b"GET /api/v1/namespaces%2Fdefault HTTP/1.1", 404),
        (b"GET /api/v1/namespaces/default%2Fconfigmaps HTTP/1.1", 404),
        (b"GET /api/v1/namespaces/%00 HTTP/1.1", 404),
        (b"GET /api/v1/namespaces/%ff HTTP/1.1", 404),
        (b"GET /api/v1/namespaces/% HTTP/1.1", 404),
        (b"GET /openapi/v3/../../etc/passwd HTTP/1.1", 404),
    ],
)
def test_odd_addresses_are_read_literally_or_refused(running: Running, line: bytes, status: int) -> None:
    with Raw(running) as raw:
        raw.request(line)
        answer = raw.answer()
        assert answer.status == status, answer
        assert answer.json().get("kind", "paths") in ("Status", "Namespace", "paths")


def test_a_line_break_in_a_name_does_not_reach_the_headers(running: Running) -> None:
    with Raw(running) as raw:
        raw.request(b"GET %b/a%%0d%%0aX-Evil:%%20yes HTTP/1.1" % CONFIGMAPS)
        answer = raw.answer()
        assert answer.status == 404
        assert "x-evil" not in answer.headers
        body = created(b"evil")[:-1] + b',"da\\r\\nX-Evil: yes":1,"quo\\"te\\\\":2}'
        raw.request(b"POST %b HTTP/1.1" % CONFIGMAPS, JSON + b"Content-Length: %d\r\n" % len(body), body)
        answer = raw.answer()
        assert answer.status == 201
        assert "x-evil" not in answer.headers
        assert answer.headers["warning"] == [
            r'299 - "unknown field \"da??X-Evil: yes\""',
            r'299 - "unknown field \"quo\"te\\\""',
        ]


@pytest.mark.parametrize("expect", [b"", b"Expect: 100-continue\r\n"])
def test_a_body_that_is_announced_too_large_is_refused_and_the_client_reads_why(
    running: Running, expect: bytes
) -> None:
    with Raw(running) as raw:
        raw.request(b"POST %b HTTP/1.1" % CONFIGMAPS, JSON + expect + b"Content-Length: %d\r\n" % OVER)
        if not expect:
            raw.send(b"x" * OVER)
        answer = raw.answer()
        assert answer.status == 413
        assert "larger than the limit of 3145728 bytes" in answer.message
        assert raw.rest() == b""


def test_a_chunked_body_is_refused_as_soon_as_it_is_too_large(running: Running) -> None:
    with Raw(running) as raw:
        raw.request(b"POST %b HTTP/1.1" % CONFIGMAPS, JSON + b"Transfer-Encoding: chunked\r\n")
        for _ in range(OVER // 65536 + 10):
            raw.send(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        answer = raw.answer()
        assert (answer.status, answer.json()["reason"]) == (413, "RequestEntityTooLarge")
        assert raw.rest() == b""


def test_a_chunk_that_is_none_is_told(running: Running) -> None:
    with Raw(running) as raw:
        raw.request(b"POST / HTTP/1.1", b"Transfer-Encoding: chunked\r\n", b"zz\r\n")
        answer = raw.answer()
        assert answer.status == 400
        assert "chunk size" in answer.message
        assert raw.rest() == b""


def test_a_body_of_just_the_limit_is_read(running: Running) -> None:
    body = created(b"limit") + b" " * (OVER - 1 - len(created(b"limit")))
    with Raw(running) as raw:
        raw.request(b"POST %b HTTP/1.1" % CONFIGMAPS, JSON + b"Content-Length: %d\r\n" % len(body), body)
        assert raw.answer().status == 201


def test_a_chunked_body_with_extensions_and_trailers_is_read_and_its_trailers_are_not_headers(
    running: Running,
) -> None:
    body = created(b"chunked")
    chunks = b"%x;name=value\r\n%b\r\n%x\r\n%b\r\n0\r\n" % (10, body[:10], len(body) - 10, body[10:])
    with Raw(running) as raw:
        raw.request(
            b"POST %b HTTP/1.1" % CONFIGMAPS,
            JSON + b"Transfer-Encoding: chunked\r\n",
            chunks + b"Authorization: Bearer wrong\r\nContent-Type: text/plain\r\n\r\n",
        )
        assert raw.answer().status == 201


def test_expect_100_continue_is_answered_before_the_body(running: Running) -> None:
    body = created(b"expected")
    with Raw(running) as raw:
        headers = JSON + b"Expect: 100-continue\r\nContent-Length: %d\r\n" % len(body)
        raw.request(b"POST %b HTTP/1.1" % CONFIGMAPS, headers)
        assert raw.answer().status == 100
        raw.send(body)
        assert raw.answer().status == 201


def test_pipelined_requests_are_answered_in_their_order(running: Running) -> None:
    with Raw(running) as raw:
        for name in (b"p1", b"p2", b"p3"):
            body = created(name)
            raw.request(b"POST %b HTTP/1.1" % CONFIGMAPS, JSON + b"Content-Length: %d\r\n" % len(body), body)
            raw.request(b"GET %b/%b HTTP/1.1" % (CONFIGMAPS, name))
        raw.send(b"nonsense\r\n\r\n")
        for expected in ("p1", "p2", "p3"):
            for status in (201, 200):
                answer = raw.answer()
                assert (answer.status, answer.json()["metadata"]["name"]) == (status, expected)
        assert raw.answer().status == 400
        assert raw.rest() == b""


def test_http_1_0_gets_its_answer_and_the_end_of_the_connection(running: Running) -> None:
    with Raw(running) as raw:
        raw.request(b"GET %b HTTP/1.0" % NAMESPACE)
        answer = raw.answer()
        assert (answer.status, answer.headers["connection"]) == (200, ["close"])
        assert raw.rest() == b""


def test_an_http_1_0_watch_is_not_chunked(running: Running) -> None:
    with Raw(running) as raw:
        raw.request(b"GET /api/v1/namespaces?watch=1&timeoutSeconds=1 HTTP/1.0")
        answer = raw.answer()
        assert "transfer-encoding" not in answer.headers
        lines = raw.rest().splitlines()
        assert len(lines) >= 4
        assert all(line.startswith(b'{"type":"ADDED"') for line in lines)


def test_head_has_the_headers_of_get_and_no_body(running: Running) -> None:
    with Raw(running) as raw:
        raw.request(b"GET %b HTTP/1.1" % NAMESPACE)
        whole = raw.answer()
        for target in (NAMESPACE, NAMESPACE + b"?watch=1", CONFIGMAPS + b"/none"):
            raw.request(b"HEAD %b HTTP/1.1" % target)
            head = raw.answer(head_only=True)
            if target == NAMESPACE:
                assert head.headers.pop("audit-id") != whole.headers.pop("audit-id")
                assert (head.status, head.headers) == (200, whole.headers)
        raw.request(b"GET %b HTTP/1.1" % NAMESPACE)
        assert raw.answer().body == whole.body


def test_an_upgrade_is_not_followed_and_the_request_is_answered_once(running: Running) -> None:
    with Raw(running) as raw:
        raw.request(
            b"GET %b HTTP/1.1" % NAMESPACE, b"Connection: Upgrade\r\nUpgrade: websocket\r\n", b"\x81\x05hello"
        )
        assert raw.answer().status == 200
        assert raw.rest() == b""


def test_a_client_that_sends_byte_by_byte_is_answered(running: Running) -> None:
    with Raw(running) as raw:
        for (
            byte
        ) in f"GET /version HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {running.token}\r\n\r\n".encode():
            raw.send(bytes((byte,)))
        assert raw.answer().status == 200


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"{"])
def test_a_client_that_leaves_in_the_middle_is_forgotten(running: Running, sent: bytes) -> None:
    with Raw(running) as raw:
        if sent == b"{":
            raw.request(b"POST / HTTP/1.1", b"Content-Length: 100\r\n")
        raw.send(sent)
        raw.socket.unwrap().close()
    with Raw(running) as raw:
        raw.send(sent)
        raw.socket.shutdown(socket.SHUT_WR)
        raw.rest()  # ends: the server closed its half as well


def test_a_write_whose_client_has_left_is_done_once_or_not_at_all(running: Running) -> None:
    body = created(b"gone")
    with Raw(running) as raw:
        raw.request(b"POST %b HTTP/1.1" % CONFIGMAPS, JSON + b"Content-Length: %d\r\n" % len(body), body)
        raw.socket.shutdown(socket.SHUT_RDWR)
    status, _ = running.request("GET", f"{CONFIGMAPS.decode()}/gone")
    assert status in (200, 404)


def test_plain_http_and_a_torn_handshake_do_no_harm(running: Running) -> None:
    for sent in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b""):
        with socket.create_connection(("127.0.0.1", running.port), timeout=10) as plain:
            plain.sendall(sent)
    status, _ = running.request("GET", NAMESPACE.decode())
    assert status == 200


def test_200_idle_connections_keep_nobody_from_being_served(running: Running) -> None:
    with ExitStack() as stack:
        idle = [stack.enter_context(Raw(running)) for _ in range(200)]
        status, _ = running.request("GET", NAMESPACE.decode())
        assert status == 200
        for raw in (idle[0], idle[-1]):
            raw.request(b"GET /version HTTP/1.1")
            assert raw.answer().status == 200
