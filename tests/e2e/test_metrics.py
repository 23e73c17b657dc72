"""What /metrics of running processes says: only what the catalog lists, with its sentence, and all that has no labels."""

from __future__ import annotations

import re
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.runtime.metrics.catalog import AGENT, CATALOG, CONTROL, SERVER
from tests.e2e.testimony import eventually
from tests.running import FAIRLEAD, Running

SAMPLE = re.compile(r"([a-z0-9_]+)(?:\{(.*)\})? (\S+)")
LABEL = re.compile(r'([a-z_]+)="(?:[^"\\]|\\.)*"')
SUFFIXES = ("_bucket", "_sum", "_count")
# They are told once there is something to tell.
SOMETIMES = {"fairlead_agent_cpu_cores", "fairlead_agent_memory_bytes", "fairlead_agent_lease_left_seconds"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    server = Running(tmp_path_factory.mktemp("metrics") / "data", arguments=("--nodes", "1", "--no-sample"))
    yield server
    server.stop()


def check(text: str, told_by: str) -> dict[str, int]:
    """How many samples each metric has."""
    listed = {each.metric.name: each.metric for each in CATALOG if told_by in each.told_by}
    seen: dict[str, int] = {}
    announced = ""
    for line in text.splitlines():
        if line.startswith("# HELP "):
            _, _, announced, told = line.split(" ", 3)
            assert told == listed[announced].told
            assert announced not in seen, "samples of one metric are not together"
            seen[announced] = 0
        elif line.startswith("# TYPE "):
            assert line == f"# TYPE {announced} {listed[announced].type}"
        else:
            found = SAMPLE.fullmatch(line)
            assert found is not None, line
            name, labels = found[1], [*LABEL.findall(found[2] or "")]
            float(found[3])
            if listed[announced].is_histogram:
                assert name in {announced + suffix for suffix in SUFFIXES}
                labels = [each for each in labels if each != "le"]
            else:
                assert name == announced
            assert tuple(labels) == listed[announced].labels
            seen[announced] += 1
    missing = {name for name, metric in listed.items() if not metric.labels} - seen.keys() - SOMETIMES
    assert not missing
    return seen


def test_the_server_tells_what_is_listed_and_every_request_is_timed(server: Running) -> None:
    for _ in range(3):
        assert server.request("GET", "/api/v1/namespaces/default/configmaps/nothing")[0] == 404
    status, text = server.request("GET", "/metrics")
    assert status == 200
    seen = check(text, SERVER)
    assert seen["fairlead_mirror_behind_revisions"] == seen["fairlead_mirror_revision"] > 30
    assert 'apiserver_request_duration_seconds_count{verb="get",resource="configmaps"} 3' in text
    assert 'apiserver_request_duration_seconds_bucket{verb="get",resource="configmaps",le="+Inf"} 3' in text
    assert 'verb="watch"' not in "".join(
        line for line in text.splitlines() if line.startswith("apiserver_request_duration")
    )


def test_an_agent_tells_through_the_server_those_who_may(server: Running) -> None:
    eventually(lambda: server._ready_nodes("local-") == 1)
    status, text = server.request("GET", "/api/v1/nodes/local-1/metrics")
    assert status == 200
    check(text, AGENT)
    assert server.request("GET", "/api/v1/nodes/nowhere/metrics")[0] == 404
    assert server.request("GET", "/api/v1/nodes/local-1/metrics", token=None)[0] == 401


def test_a_plane_elsewhere_tells_on_this_machine_and_is_ready_once_it_leads(tmp_path: Path) -> None:
    server = Running(tmp_path / "data", arguments=("--without-controllers",))
    said = tmp_path / "said"
    words: list[str | Path] = [FAIRLEAD, "control", "--kubeconfig", server.kubeconfig, "--identity", "one"]
    with open(said, "ab") as file:
        control = subprocess.Popen(
            [*words, "--data-dir", tmp_path / "control", "--metrics-port", "0"], stdout=file, stderr=file
        )
    try:
        eventually(lambda: "one leads" in said.read_text())
        found = re.search(r"metrics at (http://127\.0\.0\.1:\d+)/metrics", said.read_text())
        assert found is not None
        with urllib.request.urlopen(f"{found[1]}/metrics", timeout=30) as answer:
            text = answer.read().decode()
        check(text, CONTROL)
        assert "fairlead_plane_leads 1" in text.splitlines()
        with urllib.request.urlopen(f"{found[1]}/readyz", timeout=30) as answer:
            assert answer.read() == b"ok"
        assert server.request("GET", "/readyz", token=None) == (200, "ok")
    finally:
        control.kill()
        control.wait(30)
        server.stop()


def test_an_invariant_that_is_broken_live_becomes_an_event_and_a_count(server: Running) -> None:
    """A status that claims to be of a generation that never was: nobody's business but the monitors'."""
    path = "/apis/apps/v1/namespaces/default/deployments"
    labels = {"app": "odd"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "odd"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "odd"}, "spec": spec}
    status, said = server.request("POST", path, made)
    assert status == 201, said

    def broken() -> float:
        text = server.request("GET", "/metrics")[1]
        counted = re.search(
            r'fairlead_invariant_violations_total{invariant="observed-generation"} (\S+)', text
        )
        assert counted is not None
        return float(counted[1])

    def told() -> list[str]:
        events = server.request("GET", "/api/v1/namespaces/default/events")[1]["items"]
        return [
            each["message"]
            for each in events
            if each["reason"] == "InvariantViolated" and each["involvedObject"]["name"] == "odd"
        ]

    def claim() -> bool:
        """Again until it was looked at: what was written while the monitors learned is not judged."""
        headers = {"Content-Type": "application/merge-patch+json"}
        body = {"status": {"observedGeneration": 999}}
        server.request("PATCH", f"{path}/odd/status", body, headers=headers)
        return broken() > before

    before = broken()
    eventually(claim)
    eventually(lambda: bool(told()))
    assert all("observed-generation: deployments.apps odd observed 999" in each for each in told())
