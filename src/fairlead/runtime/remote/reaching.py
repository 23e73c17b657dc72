"""How an API server is reached: the address, whom to trust, and as whom.

Used by whatever asks one: agents, a plane beside an API elsewhere, and the command line.
"""

from __future__ import annotations

import contextlib
import ssl
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from fairlead.core.errors import UsageError
from fairlead.runtime.credentials.kubeconfig import ServerAccess
from fairlead.wire.client_protocol import Address
from fairlead.wire.validity import leave_time_out


class TokenFromFile:
    """A token that may be replaced while we run: read again when its file has changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._token = ""

    def __call__(self) -> str:
        """Being replaced, or gone: then the old one is tried, until the server refuses it."""
        with contextlib.suppress(OSError, ValueError):
            found = self._path.stat()
            if (found.st_ino, found.st_mtime_ns, found.st_size) != self._seen:
                self.read()
        return self._token

    def read(self) -> None:
        found = self._path.stat()
        words = self._path.read_text().split()
        if len(words) != 1 or not words[0].isascii():
            raise ValueError("no token")
        self._seen = (found.st_ino, found.st_mtime_ns, found.st_size)
        self._token = words[0]


def address_of(server: str, tls: ssl.SSLContext | None, clock: Callable[[], float]) -> tuple[Address, str]:
    """Where a URL leads, and the path that goes before every other. `clock`: by which certificates expire."""
    url = urlsplit(server)
    try:
        port = url.port or (443 if url.scheme == "https" else 80)
    except ValueError:
        port = 0
    if url.scheme not in ("http", "https") or not url.hostname or not port:
        raise UsageError(f"--server {server} is no address: write it like https://127.0.0.1:7443")
    address = Address(url.hostname, port, tls if url.scheme == "https" else None, clock=clock)
    return address, url.path.rstrip("/")


def tls_of(connection: ServerAccess) -> ssl.SSLContext | None:
    """None for http://, where certificates are of no use."""
    if connection.server.startswith("http://"):
        return None
    try:
        if connection.ca or connection.insecure:
            # without the system's authorities, which take long
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        else:
            context = ssl.create_default_context()
        if connection.insecure:
            print(
                f"fairlead: warning: the certificate of {connection.server} is not checked", file=sys.stderr
            )
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif connection.ca:
            context.load_verify_locations(cadata=connection.ca)
            leave_time_out(context)
        if connection.client_certificate:
            import tempfile  # here, because most sign in with a token

            # The ssl module takes certificates from files only; this one is readable by its owner and gone at once.
            with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
                file.write(f"{connection.client_certificate}\n{connection.client_key}\n")
                file.flush()
                context.load_cert_chain(file.name)
    except (ssl.SSLError, ValueError) as error:
        told = getattr(error, "reason", None) or str(error)
        raise UsageError(
            f"the certificates for {connection.server} cannot be used ({told}): correct --ca-file or the kubeconfig"
        ) from error
    return context
