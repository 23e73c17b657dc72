"""Looking ahead on a running plane, and what kubectl is told of a write past a controller."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import nursery
from tests.clients.converging import eventually, is_ready, items, rolled_out
from tests.clients.kubectl import MEETS, Done, Operator
from tests.clients.manifests import workload
from tests.running import Running

ARGUMENTS = ("--hollow-nodes", "3")
SHARED = True


@pytest.fixture
def fairlead(server: Running) -> Callable[..., Done]:
    def run(*words: str) -> Done:
        given: list[str | Path] = [nursery.command(), *words, "--kubeconfig", str(server.kubeconfig)]
        done = subprocess.run(given, text=True, capture_output=True, timeout=120)
        return Done(done.returncode, done.stdout, done.stderr)

    return run


def test_a_deletion_is_foreseen_warned_about_and_then_made_good(
    team: Operator, fairlead: Callable[..., Done]
) -> None:
    team("apply -f -", workload("Deployment", "web", replicas=2))
    rolled_out(team, "deployment web")
    pod = items(team, "pods")[0]["metadata"]["name"]
    told = fairlead("forecast", "--delete", f"pod/{pod}", "-n", team.namespace, "-o", "json")
    assert told.code == 1, told.err  # somebody makes it again
    foreseen = json.loads(told.out)
    (fight,) = foreseen["fights"]
    assert (fight["controller"], fight["verdict"]) == ("replicaset", "remakes")
    assert {each["metadata"]["name"] for each in items(team, "pods")} >= {pod}  # nothing was written
    done = team.run(f"delete pod {pod} --wait=false")
    assert done.code == 0
    assert MEETS.match(done.err), done.err
    assert f"delete pod/{pod} meets replicaset" in done.err
    eventually(lambda: sum(map(is_ready, items(team, "pods"))) == foreseen["workloads"][0]["ready_after"])
    line = fairlead("audit", "--past").out
    assert [each for each in line.splitlines() if f"pods/{pod}" in each and "past replicaset" in each]


def test_an_edit_that_nobody_minds_is_taken_without_a_word(
    team: Operator, fairlead: Callable[..., Done]
) -> None:
    team("apply -f -", workload("Deployment", "calm", replicas=1))
    rolled_out(team, "deployment calm")
    done = team.run("scale deployment calm --replicas=2")
    assert (done.code, done.err) == (0, "")


def test_a_world_of_the_plane_is_kept_and_looked_at_again(
    team: Operator, fairlead: Callable[..., Done], tmp_path: Path
) -> None:
    team("apply -f -", workload("Deployment", "kept", replicas=1))
    rolled_out(team, "deployment kept")
    file = f"{tmp_path}/state.jsonl"
    assert fairlead("sim", "from", "--save", file).code == 0
    told = fairlead(
        "forecast", "--from", file, "--delete", "deployment/kept", "-n", team.namespace, "-o", "json"
    )
    foreseen = json.loads(told.out)
    assert {(each["by"], each["does"]) for each in foreseen["acts"]} >= {("garbage-collector", "deletes")}
    refused = fairlead("forecast", "--from", file, "--delete", "deployment/other", "-n", team.namespace)
    assert refused.code == 7
    assert "there is no such object" in refused.err
