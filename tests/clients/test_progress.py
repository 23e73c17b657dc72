"""Progress as state, seen with kubectl and `fairlead progress`: stages, what limits them, whose turn it is."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tests.clients.converging import eventually, rolled_out
from tests.clients.kubectl import Operator, table
from tests.clients.manifests import workload

ARGUMENTS = ("--hollow-nodes", "2")
SHARED = True  # the server, with other modules
Json = dict[str, Any]


def _progress(team: Operator, what: str) -> Json:
    told: Json = json.loads(team.asked(f"get {what} -o json")).get("status", {}).get("progress", {})
    return told


def _cli(team: Operator, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fairlead.cli.main", "progress", *words, "-n", team.namespace]
    return subprocess.run(
        [*command, "--kubeconfig", str(team.kubeconfig)], capture_output=True, text=True, timeout=60
    )


def test_all_the_way(team: Operator) -> None:
    team("create deployment web --image=nginx:1 --replicas=3")
    rolled_out(team, "deploy/web")
    told = eventually(
        lambda: (p := _progress(team, "deploy/web")).get("ready") == 3 and "limit" not in p and p
    )
    assert [told[stage] for stage in ("desired", "admitted", "queued", "scheduled", "bound", "starting")] == [
        3
    ] * 6
    assert "serving" not in told  # no Service selects it
    assert told["observedGeneration"] == 1
    eventually(lambda: _progress(team, "deploy/web").get("deadline", {}).get("state") == "Met")
    (row,) = table(team("get deploy -o wide"))
    assert row["PROGRESS"] == "done"
    done = _cli(team, "workload/web")
    assert done.returncode == 0, done.stderr
    assert "deployment/web   3 desired" in done.stdout
    assert "ready     " in done.stdout
    rows = [line.split() for line in done.stdout.splitlines()]
    assert sum(row[1:2] == ["ready"] for row in rows) == 3
    by_zone = _cli(team, "workload/web", "--by", "zone", "-o", "json")
    assert by_zone.returncode == 0, by_zone.stderr
    placed = json.loads(by_zone.stdout)
    assert (placed["by"], placed["ready"], placed["deadline"]["state"]) == ("zone", 3, "Met")
    assert sum(each["ready"] for each in placed["places"]) == 3


def test_what_holds_it_up_and_whose_turn_it_is(team: Operator) -> None:
    manifest = workload("Deployment", "web", replicas=2)
    manifest["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "none-such"}
    team("apply -f -", manifest)

    def held_up() -> Json:
        found = _progress(team, "deploy/web")
        both = [each["count"] for each in found.get("pending", ())] == [2]  # tried one after the other
        return found if both and found.get("limit", {}).get("reason") == "Unschedulable" else {}

    told = eventually(held_up)
    assert told["limit"]["stage"] == "queued"
    assert told["limit"]["owner"] == "user or node-admin or autoscaler"
    assert told["pending"][0]["count"] == 2
    assert "node affinity/selector" in told["lastError"]["message"]
    (row,) = table(team("get deploy -o wide"))
    assert row["PROGRESS"] == "2 at queued: Unschedulable"
    stages = {row["STAGE"] for row in table(team("get pods -o wide"))}
    assert stages == {"queued: Unschedulable"}
    done = _cli(team, "deploy/web")
    assert done.returncode == 1
    assert "2 at queued: Unschedulable, such as web-" in done.stdout
    assert "next step: user or node-admin or autoscaler" in done.stdout


def test_jobs_end(team: Operator) -> None:
    team("create job once --image=busybox -- true")
    team("wait job once --for=condition=complete --timeout=90s")
    told = eventually(lambda: (p := _progress(team, "job/once")).get("ready") == 1 and "limit" not in p and p)
    assert told["desired"] == 1
    eventually(lambda: json.loads(_cli(team, "job/once", "-o", "json").stdout) == _progress(team, "job/once"))


def test_a_name_that_is_none(team: Operator) -> None:
    assert 'there is no workload "nobody"' in _cli(team, "workload/nobody").stderr
    assert "names no workload" in _cli(team, "pod/web").stderr
