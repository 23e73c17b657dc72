"""Probes over the network against servers that behave, and that do not."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from fairlead.agent.drivers.probing import look

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def says(answer: bytes, heard: list[bytes] | None = None) -> Handler:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await reader.readuntil(b"\r\n\r\n")
            if heard is not None:
                heard.append(request)
            writer.write(answer)
        except asyncio.IncompleteReadError:
            pass  # it was no request
        finally:
            writer.close()

    return handle


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        await reader.read()
    finally:
        writer.close()


def probe(
    handler: Handler, action: str, timeout: float = 30.0, context: ssl.SSLContext | None = None, **more: Any
) -> Any:
    async def scenario() -> tuple[bool, str]:
        server = await asyncio.start_server(handler, "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        try:
            return await look({action: {"host": "127.0.0.1", "port": port, **more}}, timeout)
        finally:
            server.close()
            await asyncio.sleep(0.05)

    return asyncio.run(scenario())


@pytest.mark.parametrize(
    ("answer", "good", "message"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", True, ""),
        (b"HTTP/1.0 399 \r\n", True, ""),
        (b"HTTP/1.1 400 Bad\r\n\r\n", False, "HTTP probe failed with statuscode: 400"),
        (b"HTTP/1.1 500\r\n\r\n", False, "HTTP probe failed with statuscode: 500"),
        (b"SSH-2.0-OpenSSH\r\n", False, "what came back is not HTTP"),
        (b"", False, "closed before an answer came"),
        (b"HTTP/1.1 200 OK", False, "closed before an answer came"),
    ],
)
def test_the_status_decides(answer: bytes, good: bool, message: str) -> None:
    result = probe(says(answer), "httpGet", path="/ready")
    assert result[0] is good
    assert message in result[1]


def test_the_request_is_as_the_spec_says() -> None:
    heard: list[bytes] = []
    headers = [{"name": "Host", "value": "example.org"}, {"name": "X-Word", "value": "word"}]
    assert probe(
        says(b"HTTP/1.1 204 No\r\n\r\n", heard), "httpGet", path="live?x=1", httpHeaders=headers
    ) == (True, "")
    lines = heard[0].decode().split("\r\n")
    assert lines[0] == "GET /live?x=1 HTTP/1.1"
    assert {"host: example.org", "x-word: word", "connection: close"} <= set(lines)


def test_headers_cannot_smuggle() -> None:
    headers = [{"name": "X", "value": "a\r\nGET /other HTTP/1.1"}]
    good, message = probe(says(b"HTTP/1.1 200 OK\r\n\r\n"), "httpGet", httpHeaders=headers)
    assert not good
    assert "must not contain line breaks" in message


def test_silence_is_an_answer_in_time() -> None:
    good, message = probe(silent, "httpGet", timeout=0.2)
    assert not good
    assert "no answer within 0.2 s" in message
    assert probe(silent, "tcpSocket") == (True, "")


def test_an_endless_first_line_is_cut() -> None:
    assert probe(says(b"HTTP/1.1 200 " + b"x" * 200_000), "httpGet")[0] is False


def test_certificates_are_not_verified(tmp_path: Path) -> None:
    from datetime import datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "somebody else")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(datetime(2001, 1, 1))
        .not_valid_after(datetime(2001, 1, 1) + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    (tmp_path / "crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (tmp_path / "key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    assert probe(says(b"HTTP/1.1 200 OK\r\n\r\n"), "httpGet", context=context, scheme="HTTPS") == (True, "")
    good, _ = probe(says(b"HTTP/1.1 200 OK\r\n\r\n"), "httpGet", timeout=0.5, scheme="HTTPS")
    assert not good


def test_nothing_to_look_at_is_said() -> None:
    assert asyncio.run(look({}, 1.0)) == (False, "a probe needs exec, httpGet or tcpSocket")
