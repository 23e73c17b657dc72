"""Certificates are judged by the clock of the process that is shown them, whatever the wall clock says."""

from __future__ import annotations

import asyncio
import ssl
import time
from pathlib import Path

import pytest

from fairlead.core.times import parse_time
from fairlead.runtime.credentials import certificates
from fairlead.runtime.credentials.kubeconfig import ServerAccess
from fairlead.runtime.remote.reaching import address_of, tls_of
from fairlead.wire.client import HttpClient, NotSent
from fairlead.wire.validity import common_name, time_trouble

DAY = 24 * 3600.0
YEAR = 365 * DAY
SHOWN = {
    "subject": ((("commonName", "system:fairlead"),),),
    "notBefore": "Mar  2 10:00:00 2026 GMT",
    "notAfter": "Mar  2 10:00:00 2027 GMT",
}


@pytest.mark.parametrize(
    ("now", "trouble"),
    [
        ("2026-03-02T09:00:00Z", "it is valid from 2026-03-02T10:00:00Z, and now is 2026-03-02T09:00:00Z"),
        ("2026-03-02T10:00:00Z", ""),
        ("2027-03-02T10:00:00Z", ""),
        ("2027-03-02T10:00:01Z", "it has expired at 2027-03-02T10:00:00Z"),
    ],
)
def test_when_it_is_valid(now: str, trouble: str) -> None:
    assert time_trouble(SHOWN, parse_time(now)) == trouble


def test_where_none_is_shown_there_is_no_name_and_no_trouble() -> None:
    assert common_name(SHOWN) == "system:fairlead"
    assert (common_name(None), time_trouble(None, 0.0)) == ("", "")


def answered(tmp_path: Path, made_at: float, clock_at: float) -> int:
    """What a client whose clock shows this gets from a server whose certificate was made then."""
    authority = certificates.new_authority(made_at)
    pair = certificates.new_server(authority.certificate, authority.key, ["127.0.0.1"], made_at)
    (tmp_path / "server.pem").write_bytes(pair.key + pair.certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        await writer.drain()

    async def ask() -> int:
        listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        url = f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        trusted = tls_of(ServerAccess(url, ca=authority.certificate.decode()))
        client = HttpClient(address_of(url, trusted, lambda: clock_at)[0])
        try:
            return (await client.send("GET", "/", b"", b"", 10.0)).status
        finally:
            client.close()
            listening.close()
            await asyncio.sleep(0.01)  # transports close in the turns after

    return asyncio.run(ask())


def test_one_that_has_expired_by_the_wall_clock_alone_is_taken(tmp_path: Path) -> None:
    made_at = time.time() - 2 * YEAR
    assert answered(tmp_path, made_at, made_at + DAY) == 204


def test_one_that_has_expired_by_our_clock_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotSent, match="it has expired at"):
        answered(tmp_path, time.time(), time.time() + 2 * YEAR)


def test_one_that_was_made_an_hour_after_our_clock_started_is_taken(tmp_path: Path) -> None:
    now = time.time()
    assert answered(tmp_path, now, now - 3600) == 204
