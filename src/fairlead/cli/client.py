"""One connection to an API server, for commands that ask one thing and end. Standard library only.

Finds the kubeconfig, opens TLS, sends the token; a Status becomes an ApiError, silence Unreachable.
Not for servers or agents: it blocks.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from fairlead import __version__
from fairlead.cli.options import DEFAULT_DATA_DIR
from fairlead.core.errors import (
    AlreadyExists,
    ApiError,
    Cause,
    NotFound,
    TooManyRequests,
    Unreachable,
    UsageError,
)
from fairlead.runtime import kubeconfig

TIMEOUT_SECONDS = 30.0
JSON = "application/json"
MERGE = "application/merge-patch+json"
_OWN = "/fairlead/"  # routes that no other API server has
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


def find_kubeconfig(named: Path | None, environment: Mapping[str, str]) -> Path:
    """--kubeconfig, then the first file of $KUBECONFIG that exists, then the default data directory's."""
    if named is not None:
        return named
    listed = [Path(part) for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part]
    for path in listed:
        if path.exists():
            return path
    if listed:
        raise UsageError(
            f"$KUBECONFIG names {listed[0]}, which does not exist: correct it, or use --kubeconfig"
        )
    default = DEFAULT_DATA_DIR / "kubeconfig"
    if not default.exists():
        raise UsageError(
            "no kubeconfig: start a server here with `fairlead up`, or name one with --kubeconfig or"
            " $KUBECONFIG"
        )
    return default


def connect(named: Path | None) -> Client:
    return Client(kubeconfig.load(find_kubeconfig(named, os.environ)))


class Client:
    """Requests over one kept connection."""

    def __init__(self, target: kubeconfig.Connection) -> None:
        self.target = target
        url = urlsplit(target.server)
        self._prefix = url.path.rstrip("/")
        try:
            host, port = url.hostname or "", url.port
        except ValueError as error:
            raise UsageError(
                f"the kubeconfig's server {target.server!r} has no valid port: correct it"
            ) from error
        self._connection: http.client.HTTPConnection
        if url.scheme == "https":
            self._connection = http.client.HTTPSConnection(
                host, port, timeout=TIMEOUT_SECONDS, context=_tls(target)
            )
        else:
            self._connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)

    def get(self, path: str, query: Mapping[str, str] | None = None, accept: str = JSON) -> dict[str, Any]:
        """The decoded answer; ApiError with the server's own words if it refused."""
        return self._ask("GET", path, query, accept)

    def text(self, path: str, query: Mapping[str, str] | None = None) -> tuple[int, str]:
        """Status and text of what is not JSON: health."""
        status, body = self._exchange("GET", path, query)
        return status, body.decode(errors="replace")

    def post(self, path: str, body: Any, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The same for what needs a body: a question, or a dry run."""
        return self._ask("POST", path, query, JSON, json.dumps(body).encode())

    def patch(self, path: str, body: Any) -> dict[str, Any]:
        """A merge patch."""
        return self._ask("PATCH", path, None, JSON, json.dumps(body).encode(), MERGE)

    def delete(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        return self._ask("DELETE", path, query)

    def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        accept: str = JSON,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> dict[str, Any]:
        status, answer = self._exchange(method, path, query, accept, body, content_type)
        if status == 404 and path.startswith(_OWN) and not answer.startswith(b"{"):
            # A Fairlead server says in a Status what it did not find.
            raise ApiError(
                f"{self.target.server} is no Fairlead server: this command asks such a server about its own plane, and"
                " does not work beside another API yet; `fairlead decisions --data-dir DIR` shows what a"
                " `fairlead control` with that --data-dir decided"
            )
        return _decoded(status, answer, self.target.server)

    def _exchange(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        accept: str = JSON,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> tuple[int, bytes]:
        address = self._prefix + path + ("?" + urlencode(query) if query else "")
        headers = {"Accept": accept, "User-Agent": f"fairlead/{__version__} (cli)"}
        if body is not None:
            headers["Content-Type"] = content_type
        if self.target.token:
            headers["Authorization"] = f"Bearer {self.target.token}"
        try:
            self._connection.request(method, address, body, headers)
            response = self._connection.getresponse()
            return response.status, response.read()
        except ssl.SSLCertVerificationError as error:
            raise Unreachable(
                f"the certificate of {self.target.server} is not the one the kubeconfig expects"
                f" ({error.verify_message}): use the kubeconfig of the server that runs now"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            told = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise Unreachable(
                f"no server answers at {self.target.server} ({told}): start it with `fairlead up`, or name"
                " another with --kubeconfig"
            ) from error

    def close(self) -> None:
        self._connection.close()


def _decoded(status: int, body: bytes, server: str) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise ApiError(f"{server} answered {status} with something that is not JSON: is it an API server?")
    if status == 409 and document.get("reason") == AlreadyExists.reason:
        raise AlreadyExists(str(document.get("message")))
    if status == 404:
        raise NotFound(str(document.get("message")))
    if status == 429:
        raise _too_many(document)
    if status >= 400:
        raise ApiError(str(document.get("message") or f"the server answered {status}"))
    return document


def _too_many(document: dict[str, Any]) -> TooManyRequests:
    """With what stands in the way: a disruption budget, for one, is named among the causes."""
    details = document.get("details") or {}
    found = tuple(
        Cause(str(each.get("reason") or ""), str(each.get("message") or ""))
        for each in details.get("causes") or ()
    )
    again = details.get("retryAfterSeconds") or 0
    return TooManyRequests(str(document.get("message")), causes=found, retry_after_seconds=again)


def _tls(target: kubeconfig.Connection) -> ssl.SSLContext:
    context = ssl.create_default_context()
    try:
        if target.insecure:
            print(f"fairlead: warning: the certificate of {target.server} is not checked", file=sys.stderr)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif target.ca:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.load_verify_locations(cadata=target.ca)
        if target.client_certificate:
            _load_client_certificate(context, target)
    except ssl.SSLError as error:
        raise UsageError(
            f"the kubeconfig's certificates cannot be used ({error.reason}): correct them"
        ) from error
    return context


def _load_client_certificate(context: ssl.SSLContext, target: kubeconfig.Connection) -> None:
    # The ssl module takes certificates from files only; this one is readable by its owner and gone at once.
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(f"{target.client_certificate}\n{target.client_key}\n")
        file.flush()
        context.load_cert_chain(file.name)
