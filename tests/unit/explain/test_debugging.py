"""The debug view: who stands where, what was read, and the boundary that stopped progress."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.cli.debug import lines_of
from fairlead.core.errors import NotFound
from fairlead.explain.asking import answered
from fairlead.explain.debugging import debug
from fairlead.model.key import Key
from tests.unit.explain.timeline.world import APPS, QUOTAS, ZONES, World

Json = dict[str, Any]


def view(world: World, resource: str = "deployments.apps", name: str = "web") -> Json:
    return answered(debug(world.sources, Key(resource, "default", name)))


def full_zone() -> World:
    world = World()
    world.limit_pods(2)
    world.run(2)
    world.deploy(3)
    world.run(20)
    return world


def test_a_quota_that_is_full_is_a_durable_shortage_and_the_boundary_names_it() -> None:
    world = full_zone()
    told = view(world)
    assert told["ready"] == {"ready": 2, "desired": 3, "exist": 3}
    assert len(told["pending"]) == 1
    assert told["reason"].startswith("quota/risk-zone-c: exceeded pods")
    assert told["verdict"]["verdict"] == "durable shortage"
    assert told["boundary"].startswith("between the scheduler and placement quota risk-zone-c")
    assert told["next"] == "kubectl edit placementquota risk-zone-c -n default"
    assert told["decision"].count("-") == 1


def test_a_quota_that_was_raised_and_not_heard_of_is_a_stale_input_with_both_revisions() -> None:
    world = full_zone()
    follows = world.driver._follows.pop("placementquotas.fairlead.dev")
    stands = world.driver.plane.mirrors["placementquotas.fairlead.dev"].revision
    world.api.patch(f"{ZONES}/risk-zone-c", {"spec": {"hard": {"pods": "4"}}})
    newest = world.api.store.revision
    told = view(world)
    assert told["verdict"]["verdict"] == "stale input"
    assert told["boundary"].startswith("between the store and the scheduler's view: it has heard ")
    assert f"placementquotas.fairlead.dev up to {stands} of {newest}" in told["boundary"]
    assert "nothing has to be added" in told["boundary"]
    rows = dict(lines_of({**told, "runbooks": []}))
    assert rows["scheduler read placementquotas at"] <= str(stands)
    assert rows["placementquotas latest"].startswith(f"{newest} (")
    world.driver._follows["placementquotas.fairlead.dev"] = follows


def test_pods_that_are_not_made_are_held_up_by_the_quota_that_refused_them() -> None:
    world = World()
    body = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few"},
        "spec": {"hard": {"pods": "1"}},
    }
    assert world.api.post(QUOTAS, body)[0] == 201
    world.run(5)
    world.deploy(2)
    world.run(20)
    told = view(world)
    assert told["pending"] == []
    assert told["reason"] == "WaitingForResourceQuota"
    assert told["boundary"].startswith("between replicaset and quota few: the pods of replicaset/web-")
    assert told["next"] == "kubectl describe resourcequota few -n default"
    assert dict(lines_of({**told, "runbooks": []}))["pending replica"] == "1 not made yet"


def test_a_rollback_is_told_and_that_the_scheduler_has_seen_its_pods() -> None:
    world = World()
    world.deploy(1)
    world.run(30)
    for image in ("web:2", "web:1"):
        container = {"name": "main", "image": image, "resources": {"requests": {"cpu": "1"}}}
        template = {"spec": {"template": {"spec": {"containers": [container]}}}}
        assert world.api.patch(f"{APPS}/deployments/web", template)[0] == 200
        world.run(60)
    told = view(world)
    assert (told["rollout"]["rollbackTo"], told["rollout"]["observedByScheduler"]) == ("1", True)
    assert told["generation"] == told["observed"]["deployment"] == told["observed"]["status"] == 3
    assert dict(lines_of({**told, "runbooks": []}))["rollback observed by scheduler"].startswith(
        "true (revision 3"
    )


def test_nothing_stops_what_runs() -> None:
    world = World()
    world.deploy(1)
    world.run(30)
    assert view(world)["boundary"] == "nothing stops it"


def test_what_is_gone_is_sent_to_the_timeline() -> None:
    with pytest.raises(NotFound, match="fairlead timeline tells of what is gone"):
        view(World())
