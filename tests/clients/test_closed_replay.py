"""A running plane is captured and played again as a whole: from its start, and from a moment in mid-term."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.core.times import microtime, parse_time
from tests import nursery
from tests.clients.converging import eventually
from tests.running import Running
from tests.unit.replay.load import workload

APPS = "/apis/apps/v1/namespaces/default/deployments"
MERGE = {"Content-Type": "application/merge-patch+json"}


def fairlead(*words: str | Path) -> str:
    done = subprocess.run([nursery.command(), *words], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def at_rest(server: Running) -> bool:
    """Nothing was decided for two seconds: a plane that begins now knows all that this one knows."""
    newest = server.request("GET", "/fairlead/v1/decisions?before=0&limit=1")[1]["items"][-1]["record"]
    return parse_time(newest["time"]) < time.time() - 2


def ready(server: Running, name: str) -> int:
    found = server.request("GET", f"{APPS}/{name}")[1]
    status = found.get("status", {})
    is_seen = status.get("observedGeneration") == found["metadata"]["generation"]
    return int(status.get("readyReplicas", 0)) if is_seen and not status.get("unavailableReplicas") else 0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    made = Running(tmp_path_factory.mktemp("closed") / "plane", arguments=("--hollow-nodes", "2"))
    made.request("POST", APPS, workload("web", 2))
    eventually(lambda: ready(made, "web") == 2 and at_rest(made))
    yield made
    made.stop()


@pytest.fixture(scope="module")
def since(server: Running) -> str:
    """Since when things happened, long after the plane was started."""
    began = microtime(time.time())
    server.request("PATCH", f"{APPS}/web", {"spec": {"replicas": 4}}, headers=MERGE)
    server.request("POST", APPS, workload("two", 2))
    eventually(lambda: (ready(server, "web"), ready(server, "two")) == (4, 2))
    changed = {"spec": {"template": {"metadata": {"labels": {"version": "2"}}}}}
    server.request("PATCH", f"{APPS}/two", changed, headers=MERGE)
    eventually(lambda: ready(server, "two") == 2 and at_rest(server))
    return began


def played(server: Running, since: str, file: Path, *words: str) -> tuple[str, dict[str, Any]]:
    """What the capture said, and what came of it."""
    told = fairlead(
        "incident", "capture", "--since", since, *words, "-o", file, "--kubeconfig", server.kubeconfig
    )
    found: dict[str, Any] = json.loads(fairlead("replay", file, "--closed", "-o", "json"))
    return told, found


def test_a_plane_is_played_from_its_start(server: Running, since: str, tmp_path: Path) -> None:
    told, found = played(server, since, tmp_path / "whole.incident", "--closed")
    assert found["mid_term"] is None
    assert (found["first_divergence"], found["equal"]) == (None, found["commits"])
    assert found["begins"] < since
    assert f"begins at {found['begins']}, when the plane was started" in told


def test_a_plane_is_played_from_mid_term(server: Running, since: str, tmp_path: Path) -> None:
    told, found = played(server, since, tmp_path / "later.incident")
    assert "begins in mid-term" in told
    assert found["begins"] >= since
    assert (found["first_divergence"], found["violations"]) == (None, [])
    assert found["equal"] == found["commits"] > 20
    assert found["mid_term"]["unmade"] == []
    assert all(each.startswith("events: ") for each in found["mid_term"]["unasked"])
