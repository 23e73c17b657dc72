"""An incident of a running plane is captured and replayed without it: all that all controllers decided comes out equal."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.core.times import microtime
from fairlead.model.policy.plugin_names import SCORING
from tests import nursery
from tests.clients.converging import eventually
from tests.running import Running
from tests.unit.replay import load

EXPECTED = {
    *(
        "deployment",
        "replicaset",
        "statefulset",
        "daemonset",
        "job",
        "cronjob",
        "autoscaler",
        "resource-quota",
    ),
    *("garbage-collector", "namespace", "disruption", "endpoint-slices", "scheduler", "hollow", "progress"),
}


def fairlead(*words: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([nursery.command(), *words], capture_output=True, text=True, timeout=300)
    assert done.returncode == code, (words, done.stdout, done.stderr)
    return done


def do(server: Running, acts: Iterator[load.Act]) -> None:
    for verb, target, body in acts:
        if verb == "patch":
            headers = {"Content-Type": "application/merge-patch+json"}
            status, told = server.request("PATCH", target, body, headers=headers)
        else:
            status, told = server.request(verb.upper(), target, body)
        assert status < 300, (target, told)


def settled(server: Running, space: str, name: str) -> bool:
    found = server.request("GET", f"/apis/apps/v1/namespaces/{space}/deployments/{name}")[1]
    wanted = found["spec"]["replicas"]
    return bool(found.get("status", {}).get("readyReplicas", 0) >= min(wanted, 2))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    made = Running(tmp_path_factory.mktemp("replay") / "plane", arguments=("--hollow-nodes", "4"))
    yield made
    made.stop()


@pytest.fixture(scope="module")
def incident(server: Running) -> Path:
    spaces = ("shop", "bank")
    for space in spaces:
        do(server, load.begin(space))
        eventually(lambda space=space: settled(server, space, "web"))  # type: ignore[misc]
    for space in spaces:
        do(server, load.disturb(space))
    server.request("DELETE", "/api/v1/nodes/hollow-1")
    eventually(lambda: settled(server, "bank", "web"))
    do(server, load.end("shop"))
    eventually(lambda: server.request("GET", "/api/v1/namespaces/shop")[0] == 404)
    file = server.directory.parent / "busy.incident"
    fairlead("incident", "capture", "--since", "1h", "-o", file, "--kubeconfig", server.kubeconfig)
    return file


def replayed(file: Path, *words: str, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(fairlead("replay", file, "-o", "json", *words, code=code).stdout)
    return found


def test_all_that_all_controllers_decided_comes_out_equal(incident: Path) -> None:
    found = replayed(incident)
    assert found["first_divergence"] is None, found["first_divergence"]
    assert (found["different"], found["equal"]) == (0, found["decisions"])
    assert found["decisions"] > 500
    assert set(found["controllers"]) >= EXPECTED
    assert all("tells what became of another" in why for why in found["skipped"])


def test_text_says_it_in_a_line(incident: Path) -> None:
    assert "run again: all equal" in fairlead("replay", incident).stdout


def test_a_file_that_was_changed_is_refused(incident: Path, tmp_path: Path) -> None:
    forged = tmp_path / "forged.incident"
    forged.write_bytes(incident.read_bytes().replace(b'"Waiting"', b'"Settled"', 1))
    assert "was changed" in fairlead("replay", forged, code=2).stderr


def test_another_policy_is_tried_on_it(incident: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    plugins = [{"name": name, "weight": 0} for name in SCORING if name != "NodeResourcesFit"]
    spec = {"scoring": {"strategy": "MostAllocated"}, "plugins": plugins}
    policy.write_text(
        json.dumps(
            {
                "apiVersion": "fairlead.dev/v1",
                "kind": "SchedulingPolicy",
                "metadata": {"name": "p"},
                "spec": spec,
            }
        )
    )
    found = replayed(incident, "--policy", str(policy), code=1)
    assert {each["controller"] for each in found["differences"]} == {"scheduler"}


def test_who_may_not_read_everything_is_refused_in_words(server: Running, tmp_path: Path) -> None:
    file = tmp_path / "jane.kubeconfig"
    fairlead("token", "create", "--name", "jane", "-o", file, "--data-dir", server.directory)
    out = tmp_path / "jane.incident"
    done = fairlead("incident", "capture", "-o", out, "--kubeconfig", file, code=1)
    assert "only who may read all of them" in done.stderr
    assert not out.exists()


def test_a_capture_in_mid_term_knows_how_many_nodes_the_plane_pretends(
    server: Running, incident: Path, tmp_path: Path
) -> None:
    """What opened the term is far before it, and `hollow` decides by it."""
    began = microtime(time.time())
    server.request("DELETE", "/api/v1/nodes/hollow-2")
    eventually(lambda: server.request("GET", "/api/v1/nodes/hollow-2")[0] == 200)
    file = tmp_path / "later.incident"
    fairlead("incident", "capture", "--since", began, "-o", file, "--kubeconfig", server.kubeconfig)
    text = file.read_text()
    assert "hollow/hollow-2/register" in text
    assert text.count('"term":') == 1
    found = replayed(file)
    assert (found["different"], found["skipped"]) == (0, {})
