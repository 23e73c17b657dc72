"""A door before a Fairlead server through which it looks like plain Kubernetes: what is Fairlead's own is not there.

`/version` says no more than a version, the group fairlead.dev and the routes under /fairlead are 404, a binding's answer
is Kubernetes' own, and a query parameter that Kubernetes does not know is kept in `foreign`. Paths that begin as one in
`refused` says are answered with its status: 403 as somebody without rights is, 404 as for a kind that is not served.
"""

from __future__ import annotations

import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.running import Running

_KNOWN = frozenset(
    [
        "labelSelector",
        "fieldSelector",
        "limit",
        "continue",
        "watch",
        "resourceVersion",
        "resourceVersionMatch",
        "allowWatchBookmarks",
        "timeoutSeconds",
        "dryRun",
        "fieldManager",
        "fieldValidation",
        "gracePeriodSeconds",
        "propagationPolicy",
        "pretty",
        "force",
    ]
)
_KEPT = ("authorization", "content-type", "accept", "user-agent")
_NAMED = ("impersonate-user", "impersonate-group")


class PlainKubernetes:
    """`impersonates`: whether who signs in may be taken for somebody else."""

    def __init__(self, server: Running, folder: Path, *, impersonates: bool = True) -> None:
        self._kept = (*_KEPT, *_NAMED) if impersonates else _KEPT
        self.server = server
        self.foreign: list[str] = []
        self.refused: dict[str, int] = {}
        self.bindings: list[dict[str, Any]] = []
        door = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *words: Any) -> None:
                """Says nothing."""

            def do_GET(self) -> None:
                door._pass(self, server)

            do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the library's names

        self._listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._listener.daemon_threads = True
        threading.Thread(target=self._listener.serve_forever, daemon=True).start()
        self.kubeconfig = folder / "plain.kubeconfig"
        url = f"http://127.0.0.1:{self._listener.server_port}"
        self.kubeconfig.write_text(
            json.dumps(
                {
                    "current-context": "c",
                    "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
                    "clusters": [{"name": "k", "cluster": {"server": url}}],
                    "users": [{"name": "u", "user": {"token": server.token}}],
                }
            )
        )

    def close(self) -> None:
        self._listener.shutdown()
        self._listener.server_close()

    def _pass(self, asked: BaseHTTPRequestHandler, server: Running) -> None:
        body = asked.rfile.read(int(asked.headers.get("content-length") or 0))
        url = urlsplit(asked.path)
        query = dict(parse_qsl(url.query))
        self.foreign += [f"{asked.command} {asked.path}" for name in query if name not in _KNOWN]
        if url.path.endswith("/binding"):
            self.bindings.append(json.loads(body))
        refusal = next((status for path, status in self.refused.items() if url.path.startswith(path)), 0)
        if refusal == 404:
            _answer(asked, 404, b"404 page not found\n")
        elif refusal:
            _answer(asked, refusal, b'{"kind": "Status", "status": "Failure", "reason": "Forbidden"}')
        elif url.path == "/version":
            _answer(asked, 200, b'{"major": "1", "minor": "32", "gitVersion": "v1.32.0"}')
        elif url.path.startswith(("/apis/fairlead.dev", "/fairlead/")):
            _answer(asked, 404, b'{"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}')
        else:
            self._forward(asked, server, body, "watch" in query)

    def _forward(self, asked: BaseHTTPRequestHandler, server: Running, body: bytes, watches: bool) -> None:
        connection = server.connect(timeout=600)
        headers = {name: asked.headers[name] for name in self._kept if name in asked.headers}
        try:
            connection.request(asked.command, asked.path, body or None, headers)
            answer = connection.getresponse()
            if not watches:
                _answer(asked, answer.status, answer.read())
                return
            asked.send_response(answer.status)
            asked.send_header("connection", "close")
            asked.send_header("transfer-encoding", "chunked")
            asked.end_headers()
            while chunk := answer.read1(65536):
                asked.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            asked.wfile.write(b"0\r\n\r\n")
        except (OSError, http.client.HTTPException):
            asked.close_connection = True
        finally:
            connection.close()


def _answer(asked: BaseHTTPRequestHandler, status: int, body: bytes) -> None:
    asked.send_response(status)
    asked.send_header("content-type", "application/json")
    asked.send_header("content-length", str(len(body)))
    asked.end_headers()
    asked.wfile.write(body)
