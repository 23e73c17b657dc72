"""`fairlead queues` and `fairlead decisions`: the controllers at work as an operator sees them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable

import pytest

from fairlead.control.roster import default_deciders
from tests import nursery
from tests.clients.converging import eventually, rolled_out
from tests.clients.kubectl import Operator, table
from tests.clients.manifests import workload
from tests.running import Running

ARGUMENTS = ("--hollow-nodes", "1")
CONTROLLERS = [*(decider.name for decider in default_deciders()), "hollow"]


@pytest.fixture
def fairlead(server: Running) -> Callable[[str], str]:
    def run(line: str) -> str:
        return subprocess.run(
            [nursery.command(), *line.split()],
            env={**os.environ, "KUBECONFIG": str(server.kubeconfig)},
            text=True,
            capture_output=True,
            check=True,
            timeout=120,
        ).stdout

    return run


def test_queues_show_every_controller(team: Operator, fairlead: Callable[[str], str]) -> None:
    team("create -f -", workload("Deployment", "web", replicas=1))
    rolled_out(team, "deploy/web")
    controllers, _, scheduler = fairlead("queues").partition("\n\n")
    assert table(scheduler)[0]["SCHEDULER"] == "default-scheduler"
    rows = {row["CONTROLLER"]: row for row in table(controllers)}
    assert list(rows) == CONTROLLERS
    assert all(row["STUCK"] == "0" for row in rows.values())
    assert all(int(rows[name]["TURNS"]) > 0 for name in ("deployment", "replicaset", "hollow"))
    found = json.loads(fairlead("queues -o json"))
    assert (found["leads"], found["phase"]) == (True, "leading")
    assert [item["controller"] for item in found["items"]] == CONTROLLERS
    assert {item["unknown"] for item in found["items"]} == {0}


def test_decisions_tell_the_story_of_an_object(team: Operator, fairlead: Callable[[str], str]) -> None:
    team("create -f -", workload("Deployment", "web", replicas=1))
    rolled_out(team, "deploy/web")
    about = f"deployments.apps/{team.namespace}/web"
    asked = f"decisions --object {about} --controller deployment"
    rows = eventually(lambda: (found := table(fairlead(asked)))[-1]["VERDICT"] == "Settled" and found)
    assert {(row["CONTROLLER"], row["OBJECT"]) for row in rows} == {("deployment", about)}
    assert (rows[0]["VERDICT"], rows[0]["EFFECTS"]) == ("Waiting", "1 Create")
    assert any(row["DETAIL"] == "0 of 1 replicas are available" for row in rows)

    first, *_ = json.loads(fairlead(f"{asked} -o json"))["items"]
    record = first["record"]
    uid = team.asked("get deploy web -o jsonpath={.metadata.uid}")
    assert record["effects"][0].startswith(f"Create deployment/{uid}/create/")
    overrides = "scheduleroverrides.fairlead.dev"
    assert set(record["reads"]) == {"deployments.apps", "replicasets.apps", overrides}
    assert all(used <= newest for used, newest in record["reads"].values())
    assert len(table(fairlead("decisions --controller replicaset --limit 2"))) == 2


def test_writes_of_controllers_are_in_the_audit_log(team: Operator, fairlead: Callable[[str], str]) -> None:
    team("create -f -", workload("Deployment", "web", replicas=1))
    rolled_out(team, "deploy/web")
    rows = table(fairlead("audit --user system:fairlead:replicaset --limit 500"))
    assert rows
    assert {row["USER"] for row in rows} == {"system:fairlead:replicaset"}
