"""Slices carry the weights of the override that holds: of which Services, which weights, until when, and what is told."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.core.times import timestamp
from fairlead.decision.contract import Settled, Waiting
from fairlead.ledger.zone_weights import NOTE
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.marks import ZONE
from fairlead.model.service_views import ENDPOINT_SLICES, SERVICES
from fairlead.model.views import DEPLOYMENTS, NODES, OVERRIDES, PODS
from fairlead.reconcile.deployment.decider import deployment_decider
from fairlead.reconcile.replicaset import replicaset_decider
from fairlead.reconcile.services.endpoint_slices import endpoint_slice_decider
from tests.unit.reconcile import waking
from tests.unit.reconcile.test_overrides import lay_down
from tests.unit.reconcile.world import World

SLICES = endpoint_slice_decider()
DECIDERS = (deployment_decider(), replicaset_decider(), SLICES)


def world(zone: str = "a") -> World:
    """`web` and `api`, each with a Service and pods on node-1."""
    made = World()
    made.add(NODES, "node-1", metadata={"labels": {ZONE: zone}})
    for name in ("web", "api"):
        template = {
            "metadata": {"labels": {"app": name, "tier": "front"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        selector = {"app": name}
        made.add(
            DEPLOYMENTS,
            name,
            spec={"replicas": 2, "selector": {"matchLabels": selector}, "template": template},
        )
        made.add(SERVICES, name, spec={"selector": selector, "ports": [{"port": 80}]})
    while made.settle(DECIDERS) + made.start_pods():
        pass
    for number, pod in enumerate(made.list(PODS), 1):
        made.edit_status(PODS, pod.metadata.name, {"podIP": f"127.128.0.{number}"})
    for other in {"a", "b"} - {zone}:
        made.add(NODES, f"node-{other}", metadata={"labels": {ZONE: other}})
    made.settle(DECIDERS)
    return made


def notes(found: World) -> dict[str, Json]:
    """What the slices say, by the name of their Service."""
    found.settle(DECIDERS)
    return {
        each.metadata.name.rpartition("-")[0]: msgspec.json.decode(each.metadata.annotations[NOTE])
        for each in found.list(ENDPOINT_SLICES)
        if NOTE in each.metadata.annotations
    }


def weights(**zones: int) -> list[Json]:
    return [{"zone": zone, "weight": weight} for zone, weight in zones.items()]


@pytest.mark.parametrize(
    ("target", "services"),
    [
        ("deployment/web", {"web"}),
        ("workload/api", {"api"}),
        ("namespace", {"web", "api"}),
        ("namespace/default", {"web", "api"}),
    ],
)
def test_slices_of_the_targets_services_say_the_weights_and_their_end(
    target: str, services: set[str]
) -> None:
    found = world("b")
    lay_down(found, "shift", target, trafficWeights=weights(a=0, b=30))
    said: Json = {"weights": {"a": 0, "b": 30}, "until": timestamp(found.now + 600), "by": "default/shift"}
    said["uid"] = found.objects[Key(OVERRIDES.name, "default", "shift")]["metadata"]["uid"]
    assert notes(found) == dict.fromkeys(services, said)
    assert found.settle(DECIDERS) == 0


def test_an_end_takes_the_note_away_and_so_does_a_deletion() -> None:
    found = world("b")
    lay_down(found, "shift", "deployment/web", trafficWeights=weights(a=0))
    assert set(notes(found)) == {"web"}
    decision = found.turn(SLICES, "web")
    assert (decision.again_at, decision.effects) == (found.now + 600, ())
    assert isinstance(decision.verdict, Settled)
    found.tick(600)
    assert notes(found) == {}
    lay_down(found, "again", "deployment/web", trafficWeights=weights(a=0))
    assert set(notes(found)) == {"web"}
    found.delete(OVERRIDES, "again")
    assert notes(found) == {}


def test_a_new_slice_has_the_note_from_its_beginning() -> None:
    found = world("b")
    lay_down(found, "shift", "deployment/web", trafficWeights=weights(a=0))
    found.add(SERVICES, "front", spec={"selector": {"tier": "front"}, "ports": [{"port": 80}]})
    assert set(notes(found)) == {"web", "front"}, "front selects pods of web as well"


def test_of_two_workloads_behind_one_service_the_first_override_counts_until_it_ends() -> None:
    found = world("c")
    found.add(SERVICES, "front", spec={"selector": {"tier": "front"}, "ports": [{"port": 80}]})
    lay_down(found, "first", "deployment/web", "5m", trafficWeights=weights(a=0))
    found.tick(1)
    lay_down(found, "second", "deployment/api", "10m", trafficWeights=weights(b=0))
    assert notes(found)["front"]["by"] == "default/first"
    found.tick(300)
    assert notes(found)["front"]["by"] == "default/second"


def test_weights_that_leave_nobody_ready_are_told_at_the_override() -> None:
    found = world("a")
    lay_down(found, "shift", "deployment/web", trafficWeights=weights(a=0))
    notes(found)
    decision = found.turn(SLICES, "web")
    assert isinstance(decision.verdict, Waiting)
    (event,) = decision.events
    assert (event.regarding.kind, event.regarding.name, event.type) == (
        "SchedulerOverride",
        "shift",
        "Warning",
    )
    assert event.message == (
        "the zones with a weight above 0 have no ready endpoint of Service web: "
        "its traffic goes to all that are ready"
    )
    for pod in found.list(PODS):
        found.set_pod(pod.metadata.name, "Running", ready=False)
    notes(found)
    assert found.turn(SLICES, "web").events == (), "nobody is ready anywhere: that is no matter of weights"


def test_an_approval_wakes_and_what_else_a_status_says_does_not() -> None:
    found = world("b")
    lay_down(found, "shift", "deployment/web", trafficWeights=weights(a=0))
    (before,) = found.list(OVERRIDES)
    approved: Any = msgspec.to_builtins(before)
    approved["status"] = {"conditions": [{"type": "Approved", "status": "True"}], "active": True}
    after = msgspec.convert(approved, type(before))
    key = "scheduleroverrides.fairlead.dev"
    assert {each.name for each in waking.woken(SLICES, key, before, after, found)} == {"web", "api"}
    told: Any = msgspec.to_builtins(before)
    told["status"] = {"active": True}
    assert not [*waking.woken(SLICES, key, before, msgspec.convert(told, type(before)), found)], (
        "nothing to decide on"
    )
