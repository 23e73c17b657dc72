"""What the verbs ask an API server with, and what its answers mean to a person.

Finds the kubeconfig and asks through `wire/blocking_client.py`; a Status becomes an ApiError, silence Unreachable.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from fairlead import __version__
from fairlead.cli.options import DEFAULT_DATA_DIR
from fairlead.core.errors import (
    AlreadyExists,
    ApiError,
    Cause,
    Forbidden,
    Invalid,
    NotFound,
    TooManyRequests,
    Unreachable,
    UsageError,
)
from fairlead.runtime.credentials import kubeconfig
from fairlead.runtime.remote.reaching import address_of, tls_of
from fairlead.wire.blocking_client import BlockingClient
from fairlead.wire.client_protocol import Broken, HttpAnswer, NotSent, Untrusted, bearer

TIMEOUT_SECONDS = 30.0
_ANSWER_BYTES_MAX = 1024**3
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


def connect(named: Path | None, seconds: float = TIMEOUT_SECONDS) -> ApiClient:
    return ApiClient(kubeconfig.load(find_kubeconfig(named, os.environ)), seconds)


class ApiClient:
    """Requests over one kept connection. Each wait for the server lasts `seconds` at most."""

    def __init__(self, target: kubeconfig.ServerAccess, seconds: float = TIMEOUT_SECONDS) -> None:
        self.target = target
        self._seconds = seconds
        address, self._prefix = address_of(target.server, tls_of(target), time.time)
        self._client = BlockingClient(address, seconds, _ANSWER_BYTES_MAX)
        self._fixed = f"user-agent: fairlead/{__version__} (cli)\r\n".encode() + bearer(target.token)

    def get(self, path: str, query: Mapping[str, str] | None = None, accept: str = JSON) -> dict[str, Any]:
        """The decoded answer; ApiError with the server's own words if it refused."""
        return self._ask("GET", path, query, accept)

    def text(self, path: str, query: Mapping[str, str] | None = None) -> tuple[int, str]:
        """Status and text of what is not JSON: health."""
        answer = self._send("GET", path, query)
        return answer.status, answer.body.decode(errors="replace")

    def raw(self, path: str, query: Mapping[str, str] | None = None) -> tuple[int, bytes]:
        """Status and bytes of what is JSON and large: whoever asks reads it."""
        answer = self._send("GET", path, query, f"accept: {JSON}\r\n")
        return answer.status, answer.body

    def post(self, path: str, body: Any, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The same for what needs a body: a question, or a dry run."""
        return self._ask("POST", path, query, body=body)

    def patch(self, path: str, body: Any) -> dict[str, Any]:
        """A merge patch."""
        return self._ask("PATCH", path, None, body=body, content_type=MERGE)

    def delete(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        return self._ask("DELETE", path, query)

    def close(self) -> None:
        self._client.close()

    def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        accept: str = JSON,
        body: Any = None,
        content_type: str = JSON,
    ) -> dict[str, Any]:
        encoded = b"" if body is None else json.dumps(body).encode()
        headers = f"accept: {accept}\r\n" + (f"content-type: {content_type}\r\n" if encoded else "")
        answer = self._send(method, path, query, headers, encoded)
        if answer.status == 404 and path.startswith(_OWN) and not answer.body.startswith(b"{"):
            # A Fairlead server says in a Status what it did not find.
            raise ApiError(
                f"{self.target.server} is no Fairlead server: this command asks such a server about its own plane, and"
                " does not work beside another API yet; `fairlead decisions --data-dir DIR` shows what a"
                " `fairlead control` with that --data-dir decided"
            )
        return _decoded(answer, self.target.server)

    def _send(
        self, method: str, path: str, query: Mapping[str, str] | None, headers: str = "", body: bytes = b""
    ) -> HttpAnswer:
        target = self._prefix + path + ("?" + urlencode(query) if query else "")
        server = self.target.server
        try:
            return self._client.send(method, target, self._fixed + headers.encode(), body)
        except Untrusted as error:
            raise Unreachable(
                f"the certificate of {server} is not the one the kubeconfig expects"
                f" ({error.reason}): use the kubeconfig of the server that runs now"
            ) from error
        except (NotSent, Broken) as error:
            if isinstance(error.__cause__, TimeoutError):
                raise Unreachable(
                    f"the server at {server} does not answer within {self._seconds:g} s: its process is stopped (`kill"
                    " -CONT PID` lets it go on; `fairlead status` names it), stuck (`fairlead stop` ends it) or out of"
                    " reach; or name another with --kubeconfig"
                ) from error
            told = error.reason if isinstance(error, NotSent) else error
            raise Unreachable(
                f"no server answers at {server} ({told}): start it with `fairlead up`, or name"
                " another with --kubeconfig"
            ) from error


def _decoded(answer: HttpAnswer, server: str) -> dict[str, Any]:
    status = answer.status
    try:
        document = json.loads(answer.body)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise ApiError(f"{server} answered {status} with something that is not JSON: is it an API server?")
    if status == 409 and document.get("reason") == AlreadyExists.reason:
        raise AlreadyExists(str(document.get("message")))
    if status == 403:
        raise Forbidden(str(document.get("message")))
    if status == 404:
        raise NotFound(str(document.get("message")))
    if status == 422:
        raise Invalid(str(document.get("message")), causes=_causes(document))
    if status == 429:
        raise _too_many(document)
    if status >= 400:
        raise ApiError(str(document.get("message") or f"the server answered {status}"))
    return document


def _too_many(document: dict[str, Any]) -> TooManyRequests:
    """With what stands in the way: a disruption budget, for one, is named among the causes."""
    again = (document.get("details") or {}).get("retryAfterSeconds") or 0
    return TooManyRequests(str(document.get("message")), causes=_causes(document), retry_after_seconds=again)


def _causes(document: dict[str, Any]) -> tuple[Cause, ...]:
    return tuple(
        Cause(str(each.get("reason") or ""), str(each.get("message") or ""))
        for each in (document.get("details") or {}).get("causes") or ()
    )
