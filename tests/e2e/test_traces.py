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
        _walk_the_six_signals(server, collector)
        _, text = server.request("GET", "/metrics")
        assert "fairlead_trace_spans_dropped_total 0" in text.splitlines()
    finally:
        server.stop()


def _walk_the_six_signals(server: Running, collector: Collector) -> None:
    """For one pod: record, log, trace, Event, condition and audit line have the same decision, and who made it the same
    operation; metrics have no objects, and the same controller."""
    (pod,) = server.request("GET", "/api/v1/namespaces/default/pods")[1]["items"]
    meta = pod["metadata"]
    operation, key = meta["annotations"]["fairlead.dev/operation"], f"pods/default/{meta['name']}"
    audit = [each["record"] for each in server.request("GET", "/fairlead/v1/audit?limit=1000")[1]["items"]]
    about = [
        each
        for each in audit
        if each["object"].get("uid") == meta["uid"] or each["object"]["name"] == meta["name"]
    ]
    (made,) = [each for each in about if each["verb"] == "create" and not each["object"].get("subresource")]
    (bound,) = [each for each in about if each["object"].get("subresource") == "binding"]
    records = {
        each["record"]["id"]: each["record"]
        for each in server.request("GET", f"/fairlead/v1/decisions?object={key}")[1]["items"]
        if "id" in each["record"]
    }
    creating, placing = records[made["decision"]], records[bound["decision"]]
    assert f"Create {operation}" in creating["effects"]
    assert (placing["object"], placing["uid"], placing["verdict"]) == (key, meta["uid"], "Placed")

    (span,) = collector.find("replicaset decides", decision=made["decision"])
    told = {each["key"]: each["value"].get("stringValue") for each in span["attributes"]}
    assert operation in told["fairlead.operations"].split()
    assert told["fairlead.uid"] == creating["uid"]
    (placed,) = collector.find("scheduler decides", decision=bound["decision"])
    assert {"key": "fairlead.uid", "value": {"stringValue": meta["uid"]}} in placed["attributes"]

    logged = [json.loads(line) for line in (server.directory / "fairlead.log").read_text().splitlines()]
    (line,) = [each for each in logged if each.get("decision") == made["decision"] and each.get("operations")]
    assert (operation in line["operations"], line["uid"]) == (True, creating["uid"])

    def events() -> dict[str, str]:
        listed = server.request("GET", "/api/v1/namespaces/default/events")[1]["items"]
        marks = ((each["reason"], each["metadata"].get("annotations") or {}) for each in listed)
        return {
            reason: found["fairlead.dev/decision"]
            for reason, found in marks
            if "fairlead.dev/decision" in found
        }

    eventually(lambda: {"SuccessfulCreate", "Scheduled"} <= events().keys())
    assert events()["SuccessfulCreate"] == made["decision"]
    assert events()["Scheduled"] == bound["decision"]

    conditions = server.request("GET", f"/fairlead/v1/debug/{key}")[1]["conditions"]
    (available,) = [each for each in conditions if each["type"] == "Available"]
    found = server.request("GET", f"/fairlead/v1/decisions?id={available['decision']}")[1]["items"]
    assert {each["record"]["object"] for each in found} == {"deployments.apps/default/web"}

    _, text = server.request("GET", "/metrics")
    assert 'fairlead_controller_decisions_total{controller="replicaset"}' in text


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
