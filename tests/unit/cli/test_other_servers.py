"""Commands that ask for what only a Fairlead server has, against another API server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from fairlead.cli.main import main

POD = {"metadata": {"name": "web", "namespace": "default", "uid": "u"}}
NODE = {"metadata": {"name": "node-1", "uid": "v"}}
KNOWN: dict[str, Any] = {
    "/version": {"gitVersion": "v1.32.0"},
    "/apis": {"groups": []},
    "/api/v1": {
        "resources": [
            {
                "name": "pods",
                "singularName": "pod",
                "kind": "Pod",
                "namespaced": True,
                "verbs": ["get", "list"],
            },
            {
                "name": "nodes",
                "singularName": "node",
                "kind": "Node",
                "namespaced": False,
                "verbs": ["get", "list"],
            },
        ]
    },
    "/api/v1/namespaces/default/pods/web": POD,
    "/api/v1/namespaces/default/pods": {"items": [POD]},
    "/api/v1/nodes/node-1": NODE,
    "/api/v1/nodes": {"items": [NODE]},
}


class _Kubernetes(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words: Any) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        found = KNOWN.get(self.path.partition("?")[0])
        body = b"404 page not found\n" if found is None else json.dumps(found).encode()
        self.send_response(404 if found is None else 200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[str]:
    listener = ThreadingHTTPServer(("127.0.0.1", 0), _Kubernetes)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    path = tmp_path / "kubeconfig"
    document = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": f"http://127.0.0.1:{listener.server_port}"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    path.write_text(json.dumps(document))
    yield str(path)
    listener.shutdown()
    listener.server_close()


@pytest.mark.parametrize("words", [("explain", "pod/web"), ("why-not", "pod/web", "node-1"), ("queues",)])
def test_they_say_plainly_that_they_do_not_work_there(
    words: tuple[str, ...], kubeconfig: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--kubeconfig", kubeconfig]) == 1
    told = capsys.readouterr().err
    assert "is no Fairlead server" in told
    assert "does not work beside another API yet" in told
