"""A reservation whose pod was bound by an API that marks nothing: marked by a second write, read off the pod."""

from __future__ import annotations

import pytest

from fairlead.ledger.reservation import BOUND_WITH, IN_USE
from fairlead.model.key import Key
from fairlead.model.views import PODS, RESERVATIONS, Pod
from fairlead.reconcile.reservation import ALL, reservation_decider
from tests.unit.reconcile.test_quotas import node, pod, reserve, run, status
from tests.unit.reconcile.waking import woken
from tests.unit.reconcile.world import NAMESPACE, World


def bound(world: World, name: str, on: str, annotation: str) -> None:
    pod(world, name, on)
    world.edit(PODS, name, {"metadata": {"annotations": {BOUND_WITH: annotation}}})


def active() -> tuple[World, str]:
    world = World()
    node(world, "a")
    node(world, "b")
    name = reserve(world, "one")
    run(world)
    assert status(world, RESERVATIONS, name)["phase"] == "Active"
    return world, name


def test_it_is_allocated_to_the_pod_that_says_so_once_and_then_left_alone() -> None:
    world, name = active()
    bound(world, "p", "a", name)
    run(world)
    found = status(world, RESERVATIONS, name)
    uid = world.objects[Key(PODS.name, NAMESPACE, "p")]["metadata"]["uid"]
    assert found["phase"] == "Allocated"
    assert (found["allocatedTo"]["name"], found["allocatedTo"]["uid"]) == ("p", uid)
    assert run(world).effects == ()
    world.delete(PODS, "p")
    world.stop_pods()
    run(world)
    assert status(world, RESERVATIONS, name)["phase"] == "Released"


@pytest.mark.parametrize(("on", "said"), [("b", ""), ("a", "another"), ("", "")])
def test_a_pod_elsewhere_or_with_another_one_changes_nothing(on: str, said: str) -> None:
    world, name = active()
    bound(world, "p", on, said or name)
    assert run(world).effects == ()


@pytest.mark.parametrize("said", [False, True])
def test_a_binding_with_a_reservation_wakes_it_and_any_other_does_not(said: bool) -> None:
    decider = reservation_decider()
    waiting, placed = World(), World()
    pod(waiting, "p")
    pod(placed, "p", "a")
    if said:
        placed.edit(PODS, "p", {"metadata": {"annotations": {BOUND_WITH: "room"}}})
    before, after = waiting.get(PODS, NAMESPACE, "p"), placed.get(PODS, NAMESPACE, "p")
    assert isinstance(after, Pod)
    assert tuple(woken(decider, PODS.name, before, after)) == ((ALL,) if said else ())
    assert tuple(woken(decider, PODS.name, after, after)) == ()


@pytest.mark.parametrize("used", [False, True])
def test_one_that_is_deleted_with_its_finalizer_goes_when_no_pod_uses_it(used: bool) -> None:
    world, name = active()
    world.edit(RESERVATIONS, name, {"metadata": {"finalizers": [IN_USE, "example.com/theirs"]}})
    if used:
        bound(world, "p", "a", name)
        run(world)
    world.delete(RESERVATIONS, name)
    run(world)
    run(world)  # its status says that it was seen
    left = world.objects[Key(RESERVATIONS.name, NAMESPACE, name)]["metadata"]["finalizers"]
    assert left == ([IN_USE, "example.com/theirs"] if used else ["example.com/theirs"])
    assert run(world).effects == ()
    if used:
        world.delete(PODS, "p")
        world.stop_pods()
        run(world)
        assert world.objects[Key(RESERVATIONS.name, NAMESPACE, name)]["metadata"]["finalizers"] == [
            "example.com/theirs"
        ]
