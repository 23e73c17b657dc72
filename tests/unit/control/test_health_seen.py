"""What `/fairlead/v1/queues`, /metrics and `fairlead queues` say of the loop's health."""

from __future__ import annotations

import argparse
import json
from typing import Any

import pytest

from fairlead.api.access.sight import EVERYTHING
from fairlead.cli import queues as command
from fairlead.port.request import Reply
from fairlead.runtime.metrics.plane import plane_samples
from fairlead.runtime.server import extensions
from tests.inprocess import InProcess
from tests.metrics import named
from tests.unit.control.driving import Driver
from tests.unit.control.test_health import set_plane, stubborn
from tests.unit.control.test_plane import DEPLOYMENTS, deployment


class Client:
    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def get(self, path: str) -> Any:
        assert path == extensions.QUEUES
        return self._answer

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def fight() -> Driver:
    """Two controllers that fight over a field, under settings for one of them."""
    api = InProcess()
    set_plane(api, queues={"replicaset": {"rateBurst": 7}}, retryBudget={"burst": 40})
    driver = Driver(api, deciders=(stubborn("deployment", 1), stubborn("replicaset", 2)))
    api.post(DEPLOYMENTS, deployment(3))
    driver.run(20)
    return driver


def answer_of(driver: Driver) -> Any:
    reply = extensions.queues(lambda: driver.plane, lambda: driver.now)(
        extensions.QUEUES, {}, driver.api.context(), EVERYTHING
    )
    assert isinstance(reply, Reply)
    return json.loads(reply.body)


def test_the_document_names_settings_budget_and_loops(fight: Driver) -> None:
    found = answer_of(fight)
    assert found["settings"]["generation"] == 1
    assert (found["retryBudget"]["left"], found["retryBudget"]["settings"]["burst"]) == (40, 40)
    assert found["breaker"]["open"] is False
    assert {loop["controller"] for loop in found["writeLoops"]} == {"deployment", "replicaset"}
    shown = {
        item["controller"]: (item["settings"], item["queue"]["settings"]["rate_burst"])
        for item in found["items"]
    }
    assert shown == {"deployment": ("", 100), "replicaset": ("replicaset", 7)}


def test_the_command_shows_loops_in_a_table_of_their_own_and_what_is_left_of_the_budget(
    fight: Driver, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "connect", lambda kubeconfig: Client(answer_of(fight)))
    assert command.run(argparse.Namespace(kubeconfig=None, output="table", retries=False)) == 0
    shown = capsys.readouterr()
    queues, loops = shown.out.split("\n\n")
    assert [line.split()[-1] for line in queues.splitlines()] == ["SETTINGS", "<none>", "replicaset"]
    assert [line.split()[:2] for line in loops.splitlines()[1:]] == [
        ["deployment", "deployments.apps/default/web"],
        ["replicaset", "deployments.apps/default/web"],
    ]
    assert all(line.endswith("spec.replicas") for line in loops.splitlines()[1:])
    assert "retries: 40 of 40 left, 0 waiting, 0 held back so far" in shown.err


def test_metrics_count_loops_and_what_was_raised(fight: Driver) -> None:
    samples = named(plane_samples(fight.plane, {}, (), fight.now))
    assert samples["fairlead_plane_write_loops", ()] == 2
    assert samples["fairlead_plane_write_loops_total", ()] == 2
    assert samples["fairlead_plane_settings_generation", ()] == 1
    assert samples["fairlead_plane_retries_left", ()] == 40
    assert samples["fairlead_plane_retries_held_back_total", ()] == 0
    assert samples["fairlead_controller_raised_total", (("controller", "deployment"),)] == 0
