"""What owners of pods share: claims, names, availability, who goes first."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.times import timestamp
from fairlead.model.key import Key
from fairlead.model.views import PODS, REPLICASETS, Condition, Meta, Owner, Pod, PodSpec, PodStatus
from fairlead.reconcile.children import (
    DELETION_COST,
    Readiness,
    child_name,
    claim,
    controller_reference,
    deletion_order,
    from_template,
    readiness,
)
from tests.unit.reconcile.world import NOW, World, names, selector, template

OWNER = Meta("web", "owner-uid", "default", resource_version="1")


def pod(
    name: str, node: str = "n", phase: str = "Running", ready_for: float | None = 100, **meta: Any
) -> Pod:
    conditions: tuple[Condition, ...] = ()
    if ready_for is not None:
        conditions = (Condition("Ready", "True", last_transition_time=timestamp(NOW - ready_for)),)
    return Pod(
        Meta(name, f"uid-{name}", "default", **meta), PodSpec(node), PodStatus(phase, conditions=conditions)
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pod("z", node="", phase="Pending", ready_for=None), pod("a", phase="Pending", ready_for=None)),
        (pod("z", phase="Pending", ready_for=None), pod("a", ready_for=None)),
        (pod("z", phase="Pending", ready_for=None), pod("a", phase="Unknown", ready_for=None)),
        (pod("z", ready_for=None), pod("a")),
        (pod("z", ready_for=5, annotations={DELETION_COST: "9"}), pod("a")),
        (pod("z", annotations={DELETION_COST: "-1"}), pod("a")),
        (pod("z"), pod("a", annotations={DELETION_COST: "10"})),
        (pod("z", ready_for=50), pod("a", ready_for=100)),
        (pod("z", creation_timestamp=timestamp(NOW)), pod("a", creation_timestamp=timestamp(NOW - 9))),
        (pod("a"), pod("b")),
        (pod("a", annotations={DELETION_COST: "much"}), pod("b")),
    ],
)
def test_the_pod_that_is_missed_least_goes_first(first: Pod, second: Pod) -> None:
    assert names(deletion_order([second, first], 10, NOW)) == names([first, second])
    assert names(deletion_order([first, second], 10, NOW)) == names([first, second])


def test_pods_that_share_a_node_go_before_one_that_is_alone() -> None:
    assert names(deletion_order([pod("a", node="n1"), pod("b", node="n2"), pod("c", node="n2")], 0, NOW)) == [
        "b",
        "c",
        "a",
    ]


@pytest.mark.parametrize(
    ("ready_for", "min_ready", "expected"),
    [
        ([None, None], 0, Readiness(0, 0, 0.0)),
        ([0, None], 0, Readiness(1, 1, 0.0)),
        ([9, 10, 11], 10, Readiness(3, 2, NOW + 1)),
        ([1, 5], 10, Readiness(2, 0, NOW + 5)),
    ],
)
def test_a_pod_is_available_once_it_was_ready_for_long_enough(
    ready_for: list[float | None], min_ready: int, expected: Readiness
) -> None:
    pods = [pod(str(number), ready_for=seconds) for number, seconds in enumerate(ready_for)]
    assert readiness(pods, min_ready, NOW) == expected


def test_a_pod_of_which_nobody_knows_since_when_it_is_ready_is_not_available_yet() -> None:
    unknown = Pod(Meta("a", "u"), status=PodStatus("Running", conditions=(Condition("Ready", "True"),)))
    assert readiness([unknown], 10, NOW) == Readiness(1, 0, 0.0)


def test_a_childs_name_follows_from_the_owners_uid_and_the_occasion() -> None:
    again = Meta("web", "another-uid", "default")
    assert child_name(OWNER, "1") == child_name(OWNER, "1")
    assert len({child_name(OWNER, "1"), child_name(OWNER, "2"), child_name(again, "1")}) == 3
    assert child_name(OWNER, "1").startswith("web-")
    assert len(child_name(Meta("w" * 253, "u"), "1")) == 63


def test_a_pod_has_what_its_template_says_and_one_controller() -> None:
    made = template({"app": "web"})
    made["metadata"].update(annotations={"a": "b"}, finalizers=["example.com/hold"])
    body = from_template(made, REPLICASETS, OWNER, "web-1")
    assert body["spec"] == made["spec"]
    assert body["metadata"] == {
        "name": "web-1",
        "labels": {"app": "web"},
        "annotations": {"a": "b"},
        "finalizers": ["example.com/hold"],
        "ownerReferences": [controller_reference(REPLICASETS, OWNER)],
    }


def world_of(labels: dict[str, str], owners: list[dict[str, Any]], namespace: str = "default") -> World:
    world = World()
    world.add(
        PODS, "p", namespace, metadata={"labels": labels, "ownerReferences": owners}, spec=template()["spec"]
    )
    return world


OURS = controller_reference(REPLICASETS, OWNER)
OTHERS = {**OURS, "uid": "another-uid"}
LOOSE = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "loose"}


@pytest.mark.parametrize(
    ("labels", "owners", "mine", "after"),
    [
        ({"app": "web"}, [OURS], ["p"], None),
        ({"app": "web"}, [], [], [OURS]),
        ({"app": "web"}, [LOOSE], [], [LOOSE, OURS]),
        ({"app": "web"}, [OTHERS], [], None),
        ({"app": "db"}, [OURS], [], []),
        ({"app": "db"}, [LOOSE, OURS], [], [LOOSE]),
        ({"app": "db"}, [], [], None),
    ],
)
def test_owners_claim_what_matches_and_release_what_does_not(
    labels: dict[str, str], owners: list[Any], mine: list[str], after: list[Any] | None
) -> None:
    world = world_of(labels, owners)
    claimed = claim(world, "me", REPLICASETS, OWNER, selector(), PODS)
    assert names(claimed.mine) == mine
    assert bool(claimed.effects) == (after is not None)
    world.apply(claimed.effects)
    if after is not None:
        found = world.objects[Key(PODS.name, "default", "p")]
        assert found["metadata"].get("ownerReferences", []) == after
        assert claim(world, "me", REPLICASETS, OWNER, selector(), PODS).effects == ()


def test_pods_of_other_namespaces_are_nobodys_business() -> None:
    world = world_of({"app": "web"}, [], namespace="elsewhere")
    assert claim(world, "me", REPLICASETS, OWNER, selector(), PODS) == ((), ())


def test_an_owner_that_is_being_deleted_claims_and_releases_nothing() -> None:
    dying = Meta("web", "owner-uid", "default", deletion_timestamp=timestamp(NOW))
    assert claim(world_of({"app": "web"}, []), "me", REPLICASETS, dying, selector(), PODS).effects == ()
    assert claim(world_of({"app": "db"}, [OURS]), "me", REPLICASETS, dying, selector(), PODS).effects == ()


def test_a_pod_on_its_way_out_is_not_adopted() -> None:
    world = world_of({"app": "web"}, [])
    world.set_pod("p", "Running")
    world.delete(PODS, "p")
    assert world.get(PODS, "default", "p") is not None
    assert claim(world, "me", REPLICASETS, OWNER, selector(), PODS).effects == ()


def test_a_namesake_of_the_owner_is_not_the_owner() -> None:
    assert Owner("ReplicaSet", "web", "another-uid", controller=True).uid != OWNER.uid
    world = world_of({"app": "web"}, [OTHERS])
    assert claim(world, "me", REPLICASETS, OWNER, selector(), PODS).mine == ()
