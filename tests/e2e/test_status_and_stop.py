"""`fairlead status` and `stop` on a real process; the words of a plane that ends."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fairlead.cli.client import ApiClient, connect
from fairlead.runtime.data.holding import Holder, holder
from tests.clients.converging import eventually

COMMAND = [sys.executable, "-m", "fairlead.cli.main"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}


def fairlead(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *words], capture_output=True, text=True, timeout=120, env=ENVIRONMENT, check=False
    )


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server that is ready, and its data directory."""
    data = str(tmp_path / "data")
    process, said = started(data)
    assert len(said) == 1
    yield process, data
    process.kill()
    process.communicate()


def started(data: str) -> tuple[subprocess.Popen[str], list[str]]:
    """A server on this directory, and what it said until it served."""
    process = subprocess.Popen(
        [*COMMAND, "serve", "--data-dir", data, "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    assert process.stderr is not None
    said: list[str] = []
    for line in process.stderr:
        said.append(line.rstrip())
        if line.startswith("serving https://"):
            return process, said
    raise AssertionError(f"it ended: {said}")


def test_a_plane_is_seen_stopped_and_not_seen(plane: tuple[subprocess.Popen[str], str]) -> None:
    process, data = plane
    told = json.loads(fairlead("status", "--data-dir", data, "-o", "json").stdout)
    assert (told["running"], told["process"], told["ready"]) == (True, process.pid, True)
    assert told["server"].startswith("https://127.0.0.1:")
    assert (told["nodes"]["count"], told["pods"]["count"]) == (0, 0)
    shown = fairlead("status", "--data-dir", data)
    assert f"process {process.pid}, since " in shown.stdout
    assert {"plane:     works", "workloads: 0, 0 ready; replicas 0 of 0 ready, 0 pending"} <= {
        *shown.stdout.splitlines()
    }
    assert told["plane"] == {"room": "", "leader": "", "mirrors": "", "controllers": "", "breaker": ""}
    stopped = fairlead("stop", "--data-dir", data)
    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert stopped.stdout.splitlines() == [
        f"asking process {process.pid} to stop: its nodes and pods end with it",
        f"stopped; everything is kept in {data}",
    ]
    assert process.wait(60) == 0
    assert process.stderr is not None
    assert process.stderr.read().splitlines() == [f"stopping: everything is kept in {data}", "stopped"]
    lines = Path(data, "fairlead.log").read_text().splitlines()
    said = [json.loads(line)["message"] for line in lines]
    assert told["server"] in said[0]
    assert said[-2:] == [f"stopping: everything is kept in {data}", "stopped"]
    after = fairlead("status", "--data-dir", data)
    assert (after.returncode, after.stdout.splitlines()[0]) == (6, "running:   no")
    again = fairlead("stop", "--data-dir", data)
    assert (again.returncode, again.stderr) == (0, f"nothing runs on {data}\n")


def test_a_workload_that_a_quota_holds_is_a_problem(plane: tuple[subprocess.Popen[str], str]) -> None:
    """Its missing replicas have no pods, so that nothing else would tell of them."""
    _, data = plane
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    with closing(connect(Path(data, "kubeconfig"))) as client:
        quota = {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
        client.post("/api/v1/namespaces/default/resourcequotas", quota)
        client.post(
            "/apis/apps/v1/namespaces/default/deployments", {"metadata": {"name": "web"}, "spec": spec}
        )
    wanted = (
        "default/web: 0 of 2 replicas are ready: WaitingForResourceQuota"
        " (`fairlead debug deployment/web -n default`)"
    )

    def problems() -> object:
        return json.loads(fairlead("status", "--data-dir", data, "-o", "json").stdout)["problems"]

    assert eventually(lambda: problems() == [wanted])
    assert fairlead("status", "--data-dir", data).returncode == 1


def test_a_pod_of_a_job_that_failed_is_no_problem_and_a_job_that_did_is(
    plane: tuple[subprocess.Popen[str], str],
) -> None:
    """A Job that has come to its end keeps the pods of attempts that failed."""
    _, data = plane
    spec = {"containers": [{"name": "c", "image": "sum:1"}], "restartPolicy": "Never"}
    jobs, pods = "/apis/batch/v1/namespaces/default/jobs", "/api/v1/namespaces/default/pods"

    def problems() -> object:
        return json.loads(fairlead("status", "--data-dir", data, "-o", "json").stdout)["problems"]

    def fail(client: ApiClient, name: str) -> None:
        client.post(pods, {"metadata": {"name": name}, "spec": spec})
        client.patch(f"{pods}/{name}/status", {"status": {"phase": "Failed"}})

    with closing(connect(Path(data, "kubeconfig"))) as client:
        held = {"suspend": True, "template": {"spec": spec}}
        made = client.post(jobs, {"metadata": {"name": "sum"}, "spec": held})
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "sum", "uid": made["metadata"]["uid"]}
        fail(client, "tried")  # before it is the Job's, which takes away what runs while it is suspended
        client.patch(f"{pods}/tried", {"metadata": {"ownerReferences": [{**owner, "controller": True}]}})
        assert problems() == []
        fail(client, "alone")
        assert problems() == ["pods Failed: 1 (`fairlead get pods -A` lists them)"]
        why = {"status": "True", "reason": "BackoffLimitExceeded"}
        conditions = [{"type": "FailureTarget", **why}, {"type": "Failed", **why}]
        status = {"startTime": "2026-01-01T00:00:00Z", "conditions": conditions}
        client.patch(f"{jobs}/sum/status", {"status": status})
        told = "default/sum: the Job failed: BackoffLimitExceeded (`fairlead debug job/sum -n default`)"
        assert eventually(lambda: told in json.dumps(problems()))


def test_one_that_does_not_answer_has_a_problem_and_is_not_killed(
    plane: tuple[subprocess.Popen[str], str],
) -> None:
    process, data = plane
    Path(data, "kubeconfig").unlink()
    told = fairlead("status", "--data-dir", data)
    assert told.returncode == 1
    assert "problems:  1" in told.stdout
    assert "kubeconfig" in told.stdout
    process.send_signal(signal.SIGSTOP)
    try:
        refused = fairlead("stop", "--data-dir", data, "--timeout", "1")
    finally:
        process.send_signal(signal.SIGCONT)
    assert refused.returncode == 1
    assert f"process {process.pid} has not ended within 1s" in refused.stderr
    assert process.wait(60) == 0  # it was asked, after all


def test_one_that_is_stopped_is_not_waited_for_long(plane: tuple[subprocess.Popen[str], str]) -> None:
    """Its port still takes connections, on which nobody answers."""
    process, data = plane
    process.send_signal(signal.SIGSTOP)
    try:
        shown = fairlead("status", "--data-dir", data)
        told = fairlead("status", "--data-dir", data, "-o", "json")
    finally:
        process.send_signal(signal.SIGCONT)
    assert (shown.returncode, shown.stderr, told.returncode) == (6, "", 6)
    assert f"running:   yes, process {process.pid}, since " in shown.stdout
    (problem,) = json.loads(told.stdout)["problems"]
    assert f"  - {problem}\n" in shown.stdout
    assert "does not answer within 5 s" in problem
    assert "kill -CONT" in problem


def test_what_is_damaged_in_the_store_is_a_problem(plane: tuple[subprocess.Popen[str], str]) -> None:
    _, data = plane
    assert fairlead("stop", "--data-dir", data).returncode == 0
    with sqlite3.connect(Path(data, "store.db")) as database:
        changed = database.execute(
            "UPDATE log SET data = CAST(replace(data, 'view', 'vieW') AS BLOB)"
            " WHERE resource LIKE 'clusterroles.%' AND name = 'view'"
        )
        assert changed.rowcount == 1
    database.close()
    again, said = started(data)
    try:
        named = "clusterroles.rbac.authorization.k8s.io view"
        assert f"fairlead: {named} grants nothing: it is damaged in the store" in said
        told = fairlead("status", "--data-dir", data)
        assert told.returncode == 1
        assert "ready:     yes" in told.stdout
        assert f"  - {named} is damaged in the store (" in told.stdout
    finally:
        again.kill()
        again.communicate()


def test_a_directory_that_is_none() -> None:
    for verb in ("status", "stop"):
        done = fairlead(verb, "--data-dir", "/nope/x")
        assert (done.returncode, done.stdout) == (3, "")
        assert "/nope/x is no data directory" in done.stderr


def test_who_only_waits_for_the_lock_is_not_its_holder(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.write_text("77\n")
    found = lock.stat()
    place = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    table = tmp_path / "locks"
    table.write_text(
        f"1: -> FLOCK  ADVISORY  WRITE 5 {place} 0 EOF\n2: POSIX  ADVISORY  WRITE 6 {place} 0 EOF\n"
    )
    assert holder(tmp_path, table) is None
    table.write_text(f"1: FLOCK  ADVISORY  WRITE 5 {place} 0 EOF\n")
    assert holder(tmp_path, table) == Holder(5, found.st_mtime)
    table.write_text(f"1: FLOCK  ADVISORY  WRITE 0 {place} 0 EOF\n")
    assert holder(tmp_path, table) == Holder(77, found.st_mtime)
