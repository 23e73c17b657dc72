"""Certificates of a server that runs: a real one, whose certificate has grown old under it."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import time
from pathlib import Path

import pytest

from fairlead.runtime.credentials import identity
from fairlead.runtime.credentials.identity import Identity
from fairlead.runtime.credentials.renewing import Renewing
from fairlead.testing import Plane, plane
from fairlead.testing.in_process import InProcess

HOST = "127.0.0.1"
DAY = 86_400.0


def grow_old(found: Identity) -> None:
    """As if it had been made 340 days ago, for a year."""
    for name in ("server", "plane"):
        (found.directory / f"{name}.json").unlink()
    assert found.renew(HOST, time.time() - 340 * DAY)


def shown(p: Plane) -> str:
    """The certificate that a new client sees, which trusts the authority as it was given to it at first."""
    return ssl.get_server_certificate((HOST, int(p.url.rpartition(":")[2])), ca_certs=str(p.ca))


def test_new_connections_see_the_new_certificate_and_trust_it_as_before(tmp_path: Path) -> None:
    with plane(controllers=False, data_dir=tmp_path) as p:
        backend, found = p._backend, identity.of(tmp_path)
        assert isinstance(backend, InProcess)
        renewing = backend._server.renewing
        first = shown(p)
        assert not backend.do(renewing.look()), "nothing was due"
        grow_old(found)
        assert backend.do(renewing.look())
        renewed = found.server_certificate.read_text()
        assert shown(p) == renewed != first
        assert p.request("GET", "/api/v1/namespaces").status == 200
        assert not backend.do(renewing.look())


def test_a_client_that_knows_the_server_by_its_own_services_address_trusts_it(tmp_path: Path) -> None:
    with plane(controllers=False, data_dir=tmp_path) as p:
        backend = p._backend
        assert isinstance(backend, InProcess)
        service = p.request("GET", "/api/v1/namespaces/default/services/kubernetes").body
        backend.do(backend._server.renewing.look())
        trusting = ssl.create_default_context(cafile=str(p.ca))
        with (
            socket.create_connection((HOST, int(p.url.rpartition(":")[2]))) as plain,
            trusting.wrap_socket(plain, server_hostname=service["spec"]["clusterIP"]) as secured,
        ):
            assert secured.getpeercert()


def test_what_cannot_be_renewed_is_told_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    found = identity.ensure(tmp_path, HOST, 7443, time.time())
    grow_old(found)
    (found.directory / "ca.key").rename(found.directory / "elsewhere")
    renewed: list[bool] = []
    renewing = Renewing(found, HOST, time.time, lambda: renewed.append(True))
    with caplog.at_level(logging.ERROR):
        assert not asyncio.run(renewing.look())
    assert "has no ca.key: put it back" in caplog.text
    (found.directory / "elsewhere").rename(found.directory / "ca.key")
    assert asyncio.run(renewing.look())
    assert renewed == [True]
