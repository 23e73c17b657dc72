"""Capacity in doubt justifies nothing: no pod that works is given up for one whose node nobody hears, at any stage."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.key import Key
from fairlead.model.marks import NODE_LEASES
from fairlead.model.views import (
    BUDGETS,
    DAEMONSETS,
    DEPLOYMENTS,
    LEASES,
    NODES,
    PODS,
    REPLICASETS,
    STATEFULSETS,
)
from fairlead.reconcile.daemonset.decider import daemonset_decider
from fairlead.reconcile.deployment.decider import deployment_decider
from fairlead.reconcile.disruption_budget import budget_decider
from fairlead.reconcile.nodes.reach import LOOK_AGAIN_SECONDS, is_out_of_reach
from tests.unit.reconcile.nodes.silent_world import SilentWorld, deciders
from tests.unit.reconcile.waking import woken
from tests.unit.reconcile.world import selector, template

# Seconds of silence: a renewal was missed, the node is suspected, it is Unknown, its pods were released.
STAGES = {"missed": 16, "suspect": 25, "unknown": 45, "released": 60}
SOON = {
    "key": "node.kubernetes.io/unreachable",
    "operator": "Exists",
    "effect": "NoExecute",
    "tolerationSeconds": 5,
}
ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}


def silent_world() -> SilentWorld:
    world = SilentWorld({"n1": "a", "n2": "a", "n3": "a"})
    world.deciders = (*deciders(), deployment_decider(), daemonset_decider(), budget_decider())
    return world


def hushed(world: SilentWorld, stage: str, node: str = "n1") -> None:
    world.renew()
    world.hear()
    world.hush(node)
    world.run(STAGES[stage])


def place(world: SilentWorld, *nodes: str) -> None:
    """Pods that have no node, in the order of their names, on these."""
    world.settle_all()
    world.start_on(*nodes)


def made(image: str = "v1") -> dict[str, Any]:
    return template(image=image) | {"spec": {**template(image=image)["spec"], "tolerations": [SOON]}}


def works(world: SilentWorld, node: str) -> int:
    """Ready pods of a node that is heard, none of which is on its way out."""
    return sum(pod.live and pod.ready for pod in world.list(PODS) if pod.spec.node_name == node)


@pytest.mark.parametrize("stage", STAGES)
def test_an_old_template_put_back_while_its_node_is_silent_costs_no_pod_that_works(stage: str) -> None:
    """Two pods of the old template on a node that falls silent, one of the new that works."""
    world = silent_world()
    spec = {"replicas": 2, "selector": selector(), "template": made("v1"), "strategy": ROLLING}
    world.add(DEPLOYMENTS, "web", spec=spec)
    place(world, "n1")
    world.edit(DEPLOYMENTS, "web", {"spec": {"template": made("v2")}})
    world.settle_all()
    world.stop_pods()
    world.edit(DEPLOYMENTS, "web", {"spec": {"paused": True}})
    place(world, "n2")
    assert works(world, "n2") >= 1
    hushed(world, stage)
    world.edit(DEPLOYMENTS, "web", {"spec": {"template": made("v1"), "paused": False}})

    def some_work() -> None:
        assert works(world, "n2") >= 1, "what works was given up for what nobody hears of"

    world.run(12, some_work)
    world.silenced.clear()
    for _ in range(6):
        world.run(12)
        world.stop_pods()
        world.start_pods(node="n3")
    sizes = {
        str(each.spec.template["spec"]["containers"][0]["image"]): each.spec.replicas
        for each in world.list(REPLICASETS)
    }
    assert sizes == {"v1": 2, "v2": 0}, "once it is heard again, the rollback ends"


@pytest.mark.parametrize("stage", ["missed", "suspect", "unknown"])
def test_a_set_takes_down_what_is_out_of_reach_first(stage: str) -> None:
    world = silent_world()
    world.replicas("web", 2)
    world.start_on("n1", "n2")
    (lost,) = (name for name, node in world.pods().items() if node == "n1")
    world.edit(
        PODS, lost, {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "100"}}}
    )
    hushed(world, stage)
    world.edit(REPLICASETS, "web", {"spec": {"replicas": 1}})
    world.settle_all()
    assert works(world, "n2") == 1
    assert world.objects[Key("pods", "default", lost)]["metadata"]["deletionTimestamp"]


@pytest.mark.parametrize("stage", ["missed", "suspect", "unknown"])
def test_a_statefulset_updates_and_shrinks_only_on_account_of_pods_within_reach(stage: str) -> None:
    world = silent_world()
    spec = {"replicas": 3, "serviceName": "db", "selector": selector(), "template": made("v1")}
    world.add(STATEFULSETS, "db", spec=spec | {"podManagementPolicy": "Parallel"})
    place(world, "n3", "n2", "n1")
    canary = {"rollingUpdate": {"partition": 2}}
    world.edit(STATEFULSETS, "db", {"spec": {"template": made("v2"), "updateStrategy": canary}})
    world.settle_all()
    world.stop_pods()
    place(world, "n1")  # db-2 is new, on a node that falls silent; db-1 would be next
    hushed(world, stage)
    world.edit(STATEFULSETS, "db", {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}})
    world.run(1)
    assert (works(world, "n2"), works(world, "n3")) == (1, 1)
    key = Key(STATEFULSETS.name, "default", "db")
    decider = next(each for each in world.deciders if each.name == "statefulset")
    if stage != "unknown":
        assert world.decide(decider, key).again_at == world.now + LOOK_AGAIN_SECONDS
    world.silenced.clear()
    world.run(12)
    if stage != "unknown":  # in which case its containers have to say that they are well
        assert works(world, "n2") == 0, "its turn has come"


@pytest.mark.parametrize("stage", ["missed", "suspect", "unknown"])
def test_a_daemonset_keeps_its_last_working_pod(stage: str) -> None:
    world = silent_world()
    world.delete(NODES, "n3", namespace="")
    spec = {"selector": selector(), "template": template(image="v1")}
    world.add(DAEMONSETS, "log", spec=spec)
    world.settle_all()
    world.start_pods()
    world.settle_all()
    assert (works(world, "n1"), works(world, "n2")) == (1, 1)
    hushed(world, stage)
    world.edit(DAEMONSETS, "log", {"spec": {"template": template(image="v2")}})
    world.run(1)
    assert works(world, "n2") == 1
    lost = [pod for pod in world.list(PODS) if pod.spec.node_name == "n1"]
    if stage != "unknown":
        assert all(not pod.metadata.deletion_timestamp for pod in lost), "nobody knows whether it works"
    world.silenced.clear()
    for _ in range(4):
        world.run(12)
        world.stop_pods()
        world.start_pods()
    images = {
        world.objects[Key("pods", "default", name)]["spec"]["containers"][0]["image"] for name in world.pods()
    }
    assert images == {"v2"}


@pytest.mark.parametrize("stage", ["missed", "suspect", "unknown"])
def test_a_budget_counts_nobody_on_a_node_that_is_silent(stage: str) -> None:
    world = guarded_world()
    hushed(world, stage)
    assert world.objects[Key(BUDGETS.name, "default", "web")]["status"]["disruptionsAllowed"] == 0
    node = world.get(NODES, "", "n1")
    keys = list(woken(budget_decider(), NODES.name, world.get(NODES, "", "n2"), node, world))
    assert keys == ([Key(BUDGETS.name, "default", "")] if stage != "missed" else [])
    world.silenced.clear()
    world.run(10)
    # Only the pod itself can say that it is ready again once that was taken back.
    allowed = 1 if stage != "unknown" else 0
    assert world.objects[Key(BUDGETS.name, "default", "web")]["status"]["disruptionsAllowed"] == allowed


def guarded_world() -> SilentWorld:
    """A pod on n1 and one on n2; a budget lets one of them go."""
    world = silent_world()
    world.replicas("web", 2)
    world.start_on("n1", "n2")
    world.add(BUDGETS, "web", spec={"selector": selector({"app": "web"}), "minAvailable": 1})
    world.settle_all()
    return world


def test_a_missed_renewal_wakes_a_budget_by_itself_and_so_does_the_return() -> None:
    """Only the key of all namespaces is awake; it comes back in time, and again only while there are budgets."""
    world, decider = guarded_world(), budget_decider()
    everywhere, own = Key(BUDGETS.name, "", ""), Key(BUDGETS.name, "default", "web")
    made_known = woken(decider, BUDGETS.name, None, world.get(BUDGETS, "default", "web"))
    assert everywhere in made_known
    world.deciders = ()
    world.renew()
    world.hear()
    world.hush("n1")
    world.run(10)
    look = world.decide(decider, everywhere)
    assert (look.effects, look.again_at) == ((), world.now + 5)
    world.run(5)
    look = world.decide(decider, everywhere)
    assert [each.name for each in look.effects] == ["web"]
    assert world.now < look.again_at <= world.now + LOOK_AGAIN_SECONDS
    world.apply(look.effects)
    assert world.decide(decider, own).again_at == world.now + LOOK_AGAIN_SECONDS
    world.silenced.clear()
    world.run(1)
    assert [each.name for each in world.decide(decider, own).effects] == ["web"]
    world.delete(BUDGETS, "web")
    assert world.decide(decider, everywhere).again_at == 0


def test_a_node_is_within_reach_until_a_renewal_is_missed_and_when_it_gives_no_evidence() -> None:
    world = silent_world()
    world.replicas("web", 1)
    world.start_on("n1")
    world.renew()
    world.hear()
    (pod,) = world.list(PODS)
    world.hush("n1")
    world.run(14)
    assert not is_out_of_reach(world, pod)
    world.run(1)
    assert is_out_of_reach(world, pod)
    world.silenced.clear()
    world.run(1)
    assert not is_out_of_reach(world, pod)
    world.delete(LEASES, "n1", namespace=NODE_LEASES)
    world.run(60)
    assert not is_out_of_reach(world, pod)
