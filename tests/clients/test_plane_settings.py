"""PlaneSettings with kubectl: changed while the plane runs, refused when wrong, explained, and seen in `fairlead queues`."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from tests import nursery
from tests.clients.converging import eventually
from tests.clients.kubectl import Operator, table
from tests.running import Running

ARGUMENTS = ("--hollow-nodes", "1")
SETTINGS = {
    "apiVersion": "fairlead.dev/v1",
    "kind": "PlaneSettings",
    "metadata": {"name": "default"},
    "spec": {"queues": {"default": {"rateBurst": 50}}},
}


@pytest.fixture
def queues(server: Running) -> Callable[[str], str]:
    def run(line: str = "") -> str:
        return subprocess.run(
            [nursery.command(), "queues", *line.split()],
            env={**os.environ, "KUBECONFIG": str(server.kubeconfig)},
            text=True,
            capture_output=True,
            check=True,
            timeout=120,
        ).stdout

    return run


def queue_settings(found: str, controller: str) -> dict[str, Any]:
    items = {item["controller"]: item for item in json.loads(found)["items"]}
    return dict(items[controller]["queue"]["settings"])


def test_a_change_takes_effect_while_the_plane_runs(team: Operator, queues: Callable[..., str]) -> None:
    assert "No resources found" in team.run("get planesettings").err
    team("apply -f -", SETTINGS)
    team("wait --for=condition=Applied planesettings/default --timeout=90s")
    team("""patch planesettings default --type=merge -p '{"spec":{"queues":{"job":{"ratePerSecond":20}}}}'""")
    eventually(lambda: queue_settings(queues("-o json"), "job")["rate_per_second"] == 20)
    assert queue_settings(queues("-o json"), "job")["rate_burst"] == 50
    shown = {row["CONTROLLER"]: row["SETTINGS"] for row in table(queues())}
    assert (shown["job"], shown["deployment"]) == ("job", "default")
    team("wait --for=condition=Applied planesettings/default --timeout=90s")
    (row,) = table(team("get planesettings"))
    assert (row["NAME"], row["APPLIED"]) == ("default", "True")
    assert team.run("delete planesettings default").code == 0
    eventually(lambda: queue_settings(queues("-o json"), "job")["rate_burst"] == 100)


def test_the_scheduler_has_a_row_and_knobs_that_work_at_once(
    team: Operator, queues: Callable[..., str]
) -> None:
    large = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1k"}}}
    spec = {"containers": [large]}
    team("create -f -", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "large"}, "spec": spec})

    def row() -> dict[str, str]:
        lines = queues().splitlines()
        start = next(place for place, line in enumerate(lines) if line.startswith("SCHEDULER"))
        (found,) = table("\n".join(lines[start : start + 2]))
        return found

    eventually(lambda: row()["WAITING"] == "1")
    assert (row()["ACTIVE"], row()["FLUSHES"], row()["POLICY"]) == ("0", "0", "default@0")
    team("apply -f -", {**SETTINGS, "spec": {"scheduler": {"flushSeconds": 1, "backoffSeconds": 0.1}}})
    eventually(lambda: int(row()["FLUSHES"]) >= 1)
    assert row()["NEEDED"] == "0"
    assert team.run("delete planesettings default").code == 0
    assert team.run("delete pod large --grace-period=0 --force").code == 0
    eventually(lambda: row()["WAITING"] == "0")


def test_a_mistake_is_refused_with_its_field_and_what_would_be_right(team: Operator) -> None:
    wrong = {**SETTINGS, "spec": {"queues": {"jbo": {}, "job": {"rateBurst": 0}}}}
    told = team.refused("apply -f -", wrong)
    assert 'spec.queues[jbo]: Unsupported value: "jbo"' in told
    assert "spec.queues[job].rateBurst: Invalid value: 0: must be between 1 and" in told


def test_every_knob_is_explained(team: Operator) -> None:
    assert "pods placed on one look at the world" in team("explain planesettings.spec.scheduler.batchMax")
    assert "the plugin, such as NodeAffinity" in team("explain schedulingpolicy.spec.plugins.name")
    assert "the pod is in one of these" in team("explain schedulingpolicy.spec.capacityClasses.allowed")
    assert "the nodes, such as those of a zone" in team("explain placementquota.spec")
    assert "whom the room is kept for" in team("explain reservation.spec")
    assert "turns that may start in a second; 0: no limit" in team(
        "explain planesettings.spec.queues.ratePerSecond"
    )
