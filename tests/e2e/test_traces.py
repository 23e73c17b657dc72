"""Traces of a running plane at a collector on this machine: a rollout can be walked from the request to the binding."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.testimony import eventually
from tests.running import Running

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


class Collector:
    """Takes what OTLP/HTTP sends to /v1/traces."""

    def __init__(self) -> None:
        self.spans: list[dict[str, Any]] = []
        self.services: set[str] = set()
        outer = self

        class Taking(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                assert (self.path, self.headers["Content-Type"]) == ("/v1/traces", "application/json")
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                for resource in body["resourceSpans"]:
                    outer.services |= {
                        each["value"]["stringValue"]
                        for each in resource["resource"]["attributes"]
                        if each["key"] == "service.name"
                    }
                    for scope in resource["scopeSpans"]:
                        outer.spans += scope["spans"]
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *args: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Taking)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def find(self, name: str, **attributes: str) -> list[dict[str, Any]]:
        wanted = {(f"fairlead.{key}", value) for key, value in attributes.items()}
        return [
            each
            for each in list(self.spans)
            if each["name"] == name
            and wanted <= {(a["key"], a["value"].get("stringValue", "")) for a in each["attributes"]}
        ]


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    yield collector
    collector.close()


def test_a_rollout_can_be_walked_from_the_request_to_the_binding(
    collector: Collector, tmp_path: Path
) -> None:
    server = Running(
        tmp_path / "data",
        arguments=("--hollow-nodes", "2", "--otlp-endpoint", collector.url),
    )
    try:
        pod = {"containers": [{"name": "c", "image": "i"}]}
        template = {"metadata": {"labels": {"a": "b"}}, "spec": pod}
        spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
        body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
        sent = {"traceparent": f"00-{TRACE}-{SPAN}-01"}
        assert server.request("POST", DEPLOYMENTS, body, headers=sent)[0] == 201
        eventually(lambda: collector.find("create pods/binding"))
        eventually(lambda: [s for s in collector.find("deployment decides") if s.get("links")])
        (request,) = collector.find("create deployments")
        assert (request["traceId"], request["parentSpanId"]) == (TRACE, SPAN)
        by_id = {each["spanId"]: each for each in collector.spans}
        # Backwards: binding -> the scheduler's turn -> who made the pod -> its turn -> ... -> the request.
        at = collector.find("create pods/binding")[0]
        walked = [at["name"]]
        for _ in range(20):
            if at is request:
                break
            if at.get("parentSpanId") in by_id:
                at = by_id[at["parentSpanId"]]
            else:
                at = by_id[at["links"][0]["spanId"]]
            walked.append(at["name"])
        assert at is request, walked
        assert walked == [
            "create pods/binding",
            "scheduler decides",
            "create pods",
            "replicaset decides",
            "create replicasets",
            "deployment decides",
            "create deployments",
        ]
        decided = collector.find("replicaset decides")[0]
        (decision,) = [
            a["value"]["stringValue"] for a in decided["attributes"] if a["key"] == "fairlead.decision"
        ]
        _, decisions = server.request("GET", "/fairlead/v1/decisions")
        assert decision in {each["record"].get("id") for each in decisions["items"]}
        assert collector.services == {"fairlead"}
        _, text = server.request("GET", "/metrics")
        assert "fairlead_trace_spans_dropped_total 0" in text.splitlines()
    finally:
        server.stop()


def test_a_collector_that_is_not_there_costs_the_plane_nothing_but_a_line_in_the_log(tmp_path: Path) -> None:
    server = Running(tmp_path / "data", arguments=("--otlp-endpoint", "http://127.0.0.1:9"))
    try:
        for _ in range(3):
            assert server.request("GET", "/api/v1/namespaces")[0] == 200
        eventually(lambda: "traces are not taken by http://127.0.0.1:9/v1/traces" in server.log.read_text())
        _, text = server.request("GET", "/metrics")
        assert "fairlead_trace_spans_sent_total 0" in text.splitlines()
    finally:
        server.stop()
