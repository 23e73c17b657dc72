"""Who has not taken note of an override: proxies of nodes that have not heard, and everybody while nobody leads."""

from __future__ import annotations

from fairlead.core.times import timestamp
from fairlead.decision.contract import FirstTurn
from fairlead.ledger.zone_weights import note_of, weights_of
from fairlead.model.key import Key
from fairlead.model.marks import NODE_LEASES, PROXY_FOLLOWS
from fairlead.model.service_views import ENDPOINT_SLICES, SERVICES
from fairlead.model.views import LEASES, NAMESPACES, NODES, OVERRIDES, SchedulerOverride
from fairlead.reconcile.overrides.decider import override_decider
from fairlead.reconcile.overrides.unled import LeaderWatch, unled
from tests.unit.reconcile.test_overrides import lay_down
from tests.unit.reconcile.waking import woken
from tests.unit.reconcile.world import World

RUNS = override_decider(("endpoint-slices",))


def shifted(world: World) -> SchedulerOverride:
    lay_down(world, "shift", "namespace", trafficWeights=[{"zone": "a", "weight": 0}])
    return the(world)


def the(world: World) -> SchedulerOverride:
    found = world.get(OVERRIDES, "default", "shift")
    assert found is not None
    return found


def told(world: World, name: str = "observed.fairlead.dev/node-proxies") -> tuple[str, str, str]:
    world.settle((RUNS,))
    found = next(each for each in the(world).status.conditions if each.type == name)
    return found.status, found.reason, found.message


def test_proxies_have_observed_weights_once_every_node_tells_so_with_its_lease() -> None:
    world = World()
    world.add(NAMESPACES, NODE_LEASES)
    for name in ("n1", "n2"):
        world.add(NODES, name, metadata={"labels": {"topology.kubernetes.io/zone": "a"}})
        world.add(LEASES, name, NODE_LEASES, spec={"holderIdentity": name})
    world.add(NODES, "h1", metadata={"labels": {"fairlead.dev/driver": "hollow"}})
    override = shifted(world)
    assert told(world)[:2] == ("True", "NothingToFollow")
    world.add(SERVICES, "web", spec={"selector": {"app": "web"}, "ports": [{"port": 80}]})
    assert told(world) == ("False", "NotObserved", "not yet told by endpoint-slices")
    world.mirrors.first_turns[override.metadata.uid] = {
        "endpoint-slices": FirstTurn("t-1", "services/default/web")
    }
    assert told(world)[:2] == ("True", "NothingToFollow")
    note = {"fairlead.dev/zone-weights": note_of(weights_of(override))}
    world.add(ENDPOINT_SLICES, "web-0", metadata={"annotations": note}, addressType="IPv4", endpoints=[])
    assert told(world) == ("False", "NotObserved", "not by 2 of 2 nodes: n1, n2")
    assert told(world, "SchedulerOverrideObserved")[0] == "False"
    follows = {"metadata": {"annotations": {PROXY_FOLLOWS: override.metadata.uid}}}
    for name in ("n1", "n2"):
        before = world.get(LEASES, NODE_LEASES, name)
        world.edit(LEASES, name, follows, NODE_LEASES)
        key = Key(OVERRIDES.name, "default", "shift")
        assert key in woken(RUNS, LEASES.name, before, world.get(LEASES, NODE_LEASES, name), world)
    assert told(world) == ("True", "Observed", "by the proxies of 2 nodes")


def test_while_nobody_leads_the_status_says_who_has_not_observed_it_and_once() -> None:
    world, watch = World(), LeaderWatch()
    override = shifted(world)
    assert watch.silent_seconds(7, world.now) == 0.0
    world.settle((RUNS,))
    assert the(world).status.conditions[0].status == "True"
    world.tick(29)
    assert not [*unled([the(world)], watch.silent_seconds(7, world.now), 15.0, world.now)]
    world.tick(1)
    (effect,) = unled([the(world)], watch.silent_seconds(7, world.now), 15.0, world.now)
    world.edit_status(OVERRIDES, "shift", effect.patch["status"])
    found = {each.type: each for each in the(world).status.conditions}
    whole = found["SchedulerOverrideObserved"]
    assert (whole.status, whole.reason) == ("False", "NoLeader")
    assert whole.message == "no plane leads: not observed by endpoint-slices, node-proxies"
    assert found["observed.fairlead.dev/endpoint-slices"].status == "False"
    assert not [*unled([the(world)], watch.silent_seconds(7, world.now), 15.0, world.now)]
    assert watch.silent_seconds(8, world.now) == 0.0  # it was renewed
    assert override.status.conditions == ()


def test_one_that_ends_while_nobody_leads_is_told_as_ended_and_once() -> None:
    world = World()
    shifted(world)
    world.settle((RUNS,))
    assert the(world).status.active
    world.tick(3600)
    assert not [*unled([the(world)], 1.0, 15.0, world.now)], "who leads tells of it"
    (effect,) = unled([the(world)], 60.0, 15.0, world.now)
    world.edit_status(OVERRIDES, "shift", effect.patch["status"])
    status = the(world).status
    whole = next(each for each in status.conditions if each.type == "SchedulerOverrideObserved")
    assert (status.active, whole.status, whole.reason) == (False, "False", "Ended")
    assert whole.message.endswith("no plane leads that would look for what it left")
    assert not [*unled([the(world)], 60.0, 15.0, world.now)]


def test_one_that_no_leading_plane_has_looked_at_says_so_too() -> None:
    world = World()
    shifted(world)
    assert not [*unled([the(world)], 1.0, 15.0, world.now)]
    (effect,) = unled([the(world)], 1.0, 15.0, world.now + 31)
    assert "the leading plane has not heard of it, or does not run it" in str(effect.patch)


def test_an_override_that_the_leader_has_not_heard_of_says_so_for_as_long_as_one_leads() -> None:
    world = World()
    shifted(world)

    def wanted() -> list[tuple[str, str, str]]:
        for effect in unled([the(world)], 1.0, 15.0, world.now):
            world.edit_status(OVERRIDES, "shift", effect.patch["status"])
        found = (each for each in the(world).status.conditions if each.type == "SchedulerOverrideObserved")
        return [(each.status, each.reason, each.message) for each in found]

    world.tick(2)
    assert wanted() == []
    world.tick(1)
    told = "the leading plane has not heard of it, or does not run it: not observed by endpoint-slices, node-proxies"
    assert wanted() == [("False", "NotHeard", told)]
    revision = world.revision
    for seconds in (20, 7, 60):  # the Lease moves
        world.tick(seconds)
        assert wanted() == [("False", "NotHeard", told)]
    assert world.revision == revision  # it is not written again
    (effect,) = unled([the(world)], 31.0, 15.0, world.now)
    world.edit_status(OVERRIDES, "shift", effect.patch["status"])
    found = {each.type: each.reason for each in the(world).status.conditions}
    assert found["SchedulerOverrideObserved"] == "NoLeader"
    assert wanted()[0][:2] == ("False", "NotHeard")  # one leads again, and has not heard of it either
    world.settle((RUNS,))
    assert wanted()[0][:2] == ("True", "Observed")


def test_one_that_was_approved_and_is_not_heard_of_says_so() -> None:
    world = World()
    shifted(world)
    key = Key(OVERRIDES.name, "default", "shift")
    world.overwrite(key, lambda override: override["spec"].update(approval="it closes much"))
    world.settle((RUNS,))
    assert {each.reason for each in the(world).status.conditions} == {"AwaitingApproval"}
    world.tick(60)
    approved = {"type": "Approved", "status": "True", "reason": "Approved", "message": "by jane"}
    approved["lastTransitionTime"] = timestamp(world.now)
    world.overwrite(key, lambda override: override["status"]["conditions"].append(approved))
    assert not [*unled([the(world)], 1.0, 15.0, world.now)]
    world.tick(3)
    (effect,) = unled([the(world)], 1.0, 15.0, world.now)
    assert "NotHeard" in str(effect.patch)


def test_the_leader_that_is_named_is_that_of_the_controllers() -> None:
    """A server that serves the API alone has a leader of its own, which takes note of nothing."""
    world = World()
    for name, holder in (("fairlead-plane-fence", "server"), ("fairlead-control-fence", "elsewhere")):
        world.add(LEASES, name, "kube-system", spec={"holderIdentity": holder})
    lay_down(world, "shift", "namespace", pauseRollout=True)
    runs = ("daemonset", "deployment", "statefulset")

    def observed() -> str:
        return next(
            each.message for each in the(world).status.conditions if each.type == "SchedulerOverrideObserved"
        )

    world.settle((override_decider(runs, "fairlead-control-fence"),))
    assert observed() == "by daemonset, deployment, statefulset of elsewhere"
    world.settle((override_decider(runs),))
    assert observed() == "by daemonset, deployment, statefulset of server"
