"""Who is woken by an object that names no owner: those whose selector matches it now and did not know of it before."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.times import timestamp
from fairlead.decision.decider import WatchEvent
from fairlead.decision.effects import OPERATION, identity
from fairlead.decision.wakes import by_selector
from fairlead.model.key import Key
from fairlead.model.views import DAEMONSETS, DEPLOYMENTS, PODS, REPLICASETS, STATEFULSETS, Meta, Owner, Pod
from fairlead.reconcile.daemonset.decider import daemonset_decider
from fairlead.reconcile.deployment.decider import deployment_decider
from fairlead.reconcile.replicaset import replicaset_decider
from fairlead.reconcile.statefulset import statefulset_decider
from tests.unit.reconcile.waking import woken
from tests.unit.reconcile.world import NOW, World, selector, template

OWNED = Owner("ReplicaSet", "web", "uid-web", "apps/v1", controller=True)


def _pod(**meta: Any) -> Pod:
    return Pod(Meta("p", "uid-p", "default", **{"labels": {"app": "web"}, **meta}))


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        (None, _pod(), ["web"]),
        (None, _pod(labels={"app": "web", "more": "yes"}), ["web"]),
        (None, _pod(labels={"app": "other"}), []),
        (None, _pod(labels={}), []),
        (None, _pod(owner_references=(OWNED,)), []),
        (None, _pod(deletion_timestamp=timestamp(NOW)), []),
        (_pod(labels={"app": "other"}), _pod(), ["web"]),
        (_pod(owner_references=(OWNED,)), _pod(), ["web"]),
        (_pod(), _pod(annotations={"note": "x"}), []),
        (_pod(), None, []),
    ],
)
def test_a_pod_without_an_owner_wakes_the_sets_that_select_it(
    before: Pod | None, after: Pod | None, names: list[str]
) -> None:
    world = World()
    spec = {"selector": selector({"app": "web"}), "template": template({"app": "web"})}
    for resource in (REPLICASETS, STATEFULSETS, DAEMONSETS):
        world.add(resource, "web", spec=spec)
    event = WatchEvent(world, Key(PODS.name, "default", "p"), before, after)
    for resource, decider in (
        (REPLICASETS, replicaset_decider()),
        (STATEFULSETS, statefulset_decider()),
        (DAEMONSETS, daemonset_decider()),
    ):
        assert list(by_selector(resource)(event)) == [Key(resource.name, "default", name) for name in names]
        assert {key.name for key in woken(decider, PODS.name, before, after, world)} >= set(names)
    assert not list(woken(deployment_decider(), PODS.name, before, after, world))


def test_what_undo_copied_from_a_set_is_taken_off_the_deployment_again() -> None:
    world = World()
    world.add(
        DEPLOYMENTS, "web", spec={"selector": selector({"app": "web"}), "template": template({"app": "web"})}
    )
    deciders = [deployment_decider(), replicaset_decider()]
    world.settle(deciders)
    for mark, stays in (("create", False), ("made-by-somebody-else", True)):
        found = world.get(DEPLOYMENTS, "default", "web")
        assert found is not None
        world.edit(
            DEPLOYMENTS,
            "web",
            {"metadata": {"annotations": {OPERATION: identity("deployment", found.metadata.uid, mark, "x")}}},
        )
        world.settle(deciders)
        after = world.get(DEPLOYMENTS, "default", "web")
        assert after is not None
        assert (OPERATION in after.metadata.annotations) == stays
