"""Probes: when they look, what thresholds make of the answers, what follows."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.agent import contract as c
from fairlead.agent.calls import Calls
from fairlead.agent.pod.probes import Probes
from fairlead.agent.views import BoundContainer
from tests.unit.agent.room import container, running


def made(**fields: Any) -> BoundContainer:
    return msgspec.convert({"name": "main", **fields}, BoundContainer)


EXEC = {"exec": {"command": ["x"]}}


@pytest.mark.parametrize(
    ("probe", "answers", "ready"),
    [
        ({}, "", False),
        ({}, "+", True),
        ({"successThreshold": 2}, "+", False),
        ({"successThreshold": 2}, "++", True),
        ({"successThreshold": 2}, "+-+", False),
        ({"failureThreshold": 2}, "+-", True),
        ({"failureThreshold": 2}, "+--", False),
        ({"failureThreshold": 2}, "+-+-", True),
        ({"failureThreshold": 1}, "+-+", True),
    ],
)
def test_thresholds_of_readiness(probe: Any, answers: str, ready: bool) -> None:
    probes = Probes(made(readinessProbe={**EXEC, "periodSeconds": 1, **probe}), 0.0)
    calls = Calls()
    for turn, answer in enumerate(answers):
        (look,) = probes.step("u", "127.0.0.1", float(turn), calls)
        probes.probed(look.number, answer == "+", "no")
    assert probes.ready == ready


def test_the_first_look_waits_and_one_look_at_a_time() -> None:
    probes = Probes(made(readinessProbe={**EXEC, "initialDelaySeconds": 5, "periodSeconds": 2}), 100.0)
    calls = Calls()
    assert probes.step("u", "", 104.0, calls) == ()
    assert probes.next_at == 105.0
    (look,) = probes.step("u", "", 105.0, calls)
    assert probes.step("u", "", 120.0, calls) == ()
    probes.probed(look.number, True, "")
    assert len(probes.step("u", "", 120.0, calls)) == 1


def test_a_startup_probe_holds_the_others_back() -> None:
    fields = {"startupProbe": EXEC, "livenessProbe": EXEC, "readinessProbe": EXEC}
    probes = Probes(made(**fields), 0.0)
    calls = Calls()
    (look,) = probes.step("u", "", 0.0, calls)
    assert (probes.started, probes.ready) == (False, False)
    probes.probed(look.number, True, "")
    assert probes.started
    assert len(probes.step("u", "", 0.0, calls)) == 2


@pytest.mark.parametrize(
    ("action", "asked"),
    [
        ({"httpGet": {"port": 80, "path": "/"}}, {"httpGet": {"port": 80, "path": "/", "host": "127.1.2.3"}}),
        ({"httpGet": {"port": "web"}}, {"httpGet": {"port": 8080, "host": "127.1.2.3"}}),
        ({"tcpSocket": {"port": 1, "host": "h"}}, {"tcpSocket": {"port": 1, "host": "h"}}),
        ({"tcpSocket": {"port": "none"}}, {"tcpSocket": {"port": 0, "host": "127.1.2.3"}}),
        ({"exec": {"command": ["a"]}}, {"exec": {"command": ["a"]}}),
    ],
)
def test_actions_have_numbers_for_ports_and_the_pods_address(action: Any, asked: Any) -> None:
    ports = [{"name": "web", "containerPort": 8080}]
    probes = Probes(made(readinessProbe=action, ports=ports), 0.0)
    (look,) = probes.step("u", "127.1.2.3", 0.0, Calls())
    assert look.action == asked
    assert look.timeout_seconds == 1.0


@pytest.mark.parametrize(
    ("kind", "own", "grace"),
    [("livenessProbe", None, 30.0), ("livenessProbe", 4, 4.0), ("startupProbe", None, 30.0)],
)
def test_a_failed_probe_ends_the_run_and_the_policy_restarts_it(
    kind: str, own: int | None, grace: float
) -> None:
    room = running()
    probes: dict[str, Any] = {kind: {**EXEC, "failureThreshold": 2, "periodSeconds": 1}}
    if own:
        probes[kind]["terminationGracePeriodSeconds"] = own
    uid = room.create(containers=[container(**probes)])
    room.pass_time(0.5, looks=False)
    assert room.told(c.Stop) == []
    room.pass_time(1, looks=False)
    assert room.told(c.Stop) == [c.Stop(uid, "main", grace)]
    room.settle()
    assert room.machine.starts == [(uid, "main", 0), (uid, "main", 1)]
    assert {"Unhealthy", "Killing"} <= set(room.reasons())


def test_readiness_takes_a_pod_out_and_brings_it_back() -> None:
    room = running()
    room.create(containers=[container(readinessProbe={**EXEC, "failureThreshold": 1, "periodSeconds": 1})])
    room.settle()
    ready = room.condition("Ready")
    assert (ready["status"], ready["message"]) == ("False", "containers with unready status: [main]")
    for good, told in ((True, "True"), (False, "False"), (True, "True")):
        room.pass_time(2, looks=good)
        assert room.condition("Ready")["status"] == told
    assert room.machine.starts == [(room.uid(), "main", 0)]
