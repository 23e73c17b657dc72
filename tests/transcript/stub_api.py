"""A few canned answers of an API server, so that the command line can be tested without one.

Pages are two items long, revision 10 is the only past, and anything below 5 is compacted.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from fairlead.core.problems import Problems
from tests.transcript import stub_scheduling

TOKEN = "fairlead_" + "t" * 43
_PAGE = 2


def _pod(name: str, namespace: str, status: str, revision: int) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "resourceVersion": str(revision)}
    return {"metadata": metadata, "status": {"phase": status}}


NOW = [
    _pod("api", "default", "Running", 20),
    _pod("web", "default", "Running", 21),
    _pod("tmp", "default", "\x1b[31mEvil\n", 22),
    _pod("db", "prod", "Pending", 23),
]
AT_10 = [_pod("web", "default", "Pending", 9)]

DISCOVERY: dict[str, dict[str, Any]] = {
    "/api/v1": {
        "resources": [
            {"name": "pods/status", "kind": "Pod", "namespaced": True, "verbs": ["get"]},
            {
                "name": "pods",
                "singularName": "pod",
                "kind": "Pod",
                "namespaced": True,
                "shortNames": ["po"],
                "verbs": ["get", "list"],
            },
            {
                "name": "namespaces",
                "singularName": "namespace",
                "kind": "Namespace",
                "namespaced": False,
                "shortNames": ["ns"],
                "verbs": ["get", "list"],
            },
            {"name": "nodes", "singularName": "node", "kind": "Node", "namespaced": False, "verbs": ["list"]},
        ]
    },
    "/apis": {
        "groups": [{"name": name, "preferredVersion": {"version": "v1"}} for name in ("apps", "batch")]
    },
    "/apis/apps/v1": {
        "resources": [
            {
                "name": "deployments",
                "singularName": "deployment",
                "kind": "Deployment",
                "namespaced": True,
                "shortNames": ["deploy"],
                "verbs": ["list"],
            },
            *(
                {"name": f"{kind.lower()}s", "kind": kind, "namespaced": True, "verbs": ["list"]}
                for kind in ("StatefulSet", "DaemonSet")
            ),
        ]
    },
    "/apis/batch/v1": {"resources": [{"name": "jobs", "kind": "Job", "namespaced": True, "verbs": ["list"]}]},
}
NAMESPACES = ("default", "prod")
NODES = ("node-1", "node-2")


def _record(sequence: int, user: str, verb: str, about: dict[str, str], **more: Any) -> dict[str, Any]:
    time = f"2027-01-15T0{sequence}:00:00.000Z"
    return {
        "sequence": sequence,
        "record": {"time": time, "user": user, "verb": verb, "object": about, "code": 200, **more},
    }


_WEB = {"resource": "pods", "namespace": "default", "name": "web"}
AUDIT = [
    _record(1, "admin", "create", _WEB, revision=9, code=201),
    _record(2, "eve", "delete", _WEB, code=403, reason="Forbidden"),
    _record(
        3, "admin", "patch", _WEB, revision=21, changed=["spec.a", "spec.b", "spec.c", "spec.d", "spec.e"]
    ),
    _record(4, "admin", "update", {"group": "apps", "resource": "deployments", "name": "api"}),
    _record(5, "system:anonymous", "get", {"path": "/api"}, code=401, reason="Unauthorized"),
]


def _status(code: int, message: str) -> tuple[int, dict[str, Any]]:
    return code, {"kind": "Status", "status": "Failure", "message": message, "code": code}


def _invalid(field: str, value: str) -> tuple[int, dict[str, Any]]:
    """An object that names what there is not."""
    problems = Problems()
    problems.not_found(field, value, "there is no such thing")
    code, told = _status(422, f"it is invalid: {problems.summary()}")
    causes = [
        {"reason": each.reason, "message": each.message, "field": each.field} for each in problems.causes
    ]
    return code, {**told, "reason": "Invalid", "details": {"causes": causes}}


def _table(items: list[dict[str, Any]], metadata: dict[str, Any]) -> dict[str, Any]:
    columns = [{"name": "Name"}, {"name": "Status"}, {"name": "Node", "priority": 1}]
    rows = [
        {
            "cells": [item["metadata"]["name"], item["status"]["phase"], None],
            "object": {"metadata": item["metadata"]},
        }
        for item in items
    ]
    return {"kind": "Table", "metadata": metadata, "columnDefinitions": columns, "rows": rows}


def _listed(items: list[dict[str, Any]], query: dict[str, str], table: bool) -> tuple[int, dict[str, Any]]:
    if query.get("resourceVersion"):
        if query.get("resourceVersionMatch") != "Exact":
            return _status(400, "resourceVersionMatch must be Exact here")
        if int(query["resourceVersion"]) < 5:
            return _status(410, "the revision is compacted: the oldest kept is 5")
        items = [
            item
            for item in AT_10
            if item["metadata"]["namespace"] in {i["metadata"]["namespace"] for i in items}
        ]
    if "fieldSelector" in query:
        name = query["fieldSelector"].removeprefix("metadata.name=")
        items = [item for item in items if item["metadata"]["name"] == name]
    start = int(query.get("continue", 0))
    metadata: dict[str, Any] = {"resourceVersion": "23"}
    if start + _PAGE < len(items):
        metadata |= {"continue": str(start + _PAGE), "remainingItemCount": len(items) - start - _PAGE}
    page = items[start : start + _PAGE]
    if table:
        return 200, _table(page, metadata)
    return 200, {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": page}


def answer(path: str, query: dict[str, str], table: bool) -> tuple[int, dict[str, Any]]:
    if path in DISCOVERY:
        return 200, DISCOVERY[path]
    if (told := stub_scheduling.answer(path, query)) is not None:
        return 200, told
    if path == "/version":
        return 200, {"gitVersion": "v1.32.0+fairlead-0"}
    if path == "/fairlead/v1/revision":
        if query["at"] < "2027-01-15":
            return _status(404, f"nothing is kept that was written at {query['at']} or before")
        return 200, {"revision": 10, "written": "2027-01-15T07:40:00.000000Z"}
    if path == "/fairlead/v1/audit":
        after = int(query["after"])
        return 200, {"items": [item for item in AUDIT if item["sequence"] > after]}
    if path in (
        "/apis/apps/v1/namespaces/default/deployments",
        "/apis/apps/v1/namespaces/default/statefulsets",
    ):
        return _listed([], query, table)
    if path == "/api/v1/pods":
        return _listed(NOW, query, table)
    for plural, names in (("namespaces", NAMESPACES), ("nodes", NODES)):
        if path == f"/api/v1/{plural}":
            return 200, {"items": [{"metadata": {"name": name}} for name in names]}
        if path.removeprefix(f"/api/v1/{plural}/") in names:
            return 200, {"metadata": {"name": path.rpartition("/")[2]}}
    parts = path.split("/")
    if parts[:4] == ["", "api", "v1", "namespaces"] and parts[5:6] == ["pods"]:
        items = [item for item in NOW if item["metadata"]["namespace"] == parts[4]]
        if len(parts) == 6:
            return _listed(items, query, table)
        found = [item for item in items if item["metadata"]["name"] == parts[6]]
        if not found:
            return _status(404, f'pods "{parts[6]}" not found')
        return 200, _table(found, {}) if table else {"apiVersion": "v1", "kind": "Pod", **found[0]}
    return _status(404, "the server could not find the requested resource")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            code, body = _status(401, "the bearer token is unknown or was revoked")
        else:
            code, body = answer(url.path, dict(parse_qsl(url.query)), "as=Table" in self.headers["Accept"])
        self._tell(code, body)

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if (sent.get("spec") or {}).get("target", "").endswith("/nope"):
            self._tell(*_invalid("spec.target", sent["spec"]["target"]))
            return
        self._tell(200, stub_scheduling.posted(urlsplit(self.path).path, sent))

    def do_PATCH(self) -> None:
        """Nothing that could be changed is here."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self._tell(*_status(404, "the server could not find the requested resource"))

    def _tell(self, code: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def serving() -> Iterator[str]:
    """The address of a running stub."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
