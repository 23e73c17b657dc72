"""Who writes the same again and again because what he follows goes up and down is no loop; who leads himself there is."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from fairlead.control.roster import default_deciders
from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.ensure import ensure_status
from fairlead.model.key import Key
from fairlead.model.views import REPLICASETS, Condition
from fairlead.sim.zoo.wrapping import deciding
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver
from tests.unit.control.test_plane import DEPLOYMENTS, deployment

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
REPLICAS = 30  # more than repeats are allowed within a minute


def one_by_one() -> dict[str, Any]:
    wanted = deployment(REPLICAS)
    wanted["spec"]["strategy"] = {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
    }
    return wanted


def test_a_rollout_of_many_pods_one_by_one_is_no_loop_and_not_slowed_down() -> None:
    api = InProcess()
    driver = Driver(api)
    api.post(DEPLOYMENTS, one_by_one())
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    api.post(
        BUDGETS,
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "web"},
            "spec": budget,
        },
    )
    driver.run(60)
    template = {"metadata": {"annotations": {"version": "2"}}}
    api.patch(f"{DEPLOYMENTS}/web", {"spec": {"template": template}})
    driver.run(120)
    _, web = api.get(f"{DEPLOYMENTS}/web")
    assert web["status"]["updatedReplicas"] == web["status"]["replicas"] == REPLICAS
    assert [each.message for each in driver.reports] == []
    assert driver.plane.health.writes.found == 0


@deciding
def wavering(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    """Says one thing and the other by turns."""
    decision = inner.decide(view, key, now)
    found = view.get(REPLICASETS, key.namespace, key.name)
    if found is None or decision.effects:
        return decision
    said = found.status.conditions[0].reason if found.status.conditions else ""
    other = Condition("ReplicaFailure", "False", "Tock" if said == "Tick" else "Tick", "", "")
    wanted = structs.replace(found.status, conditions=(other,))
    status = ensure_status(inner.name, REPLICASETS, found, wanted)
    return structs.replace(decision, effects=(status,) if status else ())


@pytest.mark.parametrize("replicas", [0, 2])
def test_a_controller_that_undoes_its_own_work_is_still_found(replicas: int) -> None:
    api = InProcess()
    deciders = [wavering(each) if each.name == "replicaset" else each for each in default_deciders()]
    driver = Driver(api, deciders=deciders)
    api.post(DEPLOYMENTS, deployment(replicas))
    driver.run(60)
    assert driver.plane.health.writes.found
    assert any(each.controller == "replicaset" for each in driver.reports)
