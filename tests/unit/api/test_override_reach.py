"""How far SchedulerOverrides reach together, and what their weights of zones make endpoints take."""

from __future__ import annotations

import pytest

from fairlead.model.kind import Json
from tests.inprocess import InProcess
from tests.unit.api.test_overrides import OTHER, OVERRIDES, PLANE, made, override, plane

__all__ = ["plane"]
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
CORDON: Json = {"cordon": True}
AVOID: Json = {"avoidNodes": {"matchLabels": {"rack": "r2"}}}


@pytest.fixture
def racks(plane: InProcess) -> InProcess:
    for number in (1, 2, 3, 4):
        labels = {"metadata": {"labels": {"rack": f"r{number}"}}}
        assert plane.patch(f"/api/v1/nodes/n{number}", labels)[0] == 200
    return plane


def approval(plane: InProcess, body: Json, namespace: str = "kube-system") -> str:
    status, found = made(plane, body, namespace)
    assert status == 201, found
    return str(found["spec"].get("approval", ""))


def test_what_one_replaces_counts_with_it_as_it_holds_until_it_ends(racks: InProcess) -> None:
    first: Json = {"avoidNodes": {"matchLabels": {"rack": "r1"}}}
    assert approval(racks, override(name="first", changes=first), "default") == ""
    longer = override(name="longer", replaces="first", lasts="1h", changes=first)
    assert approval(racks, longer, "default") == "", "the same nodes"
    wider = override(name="wider", replaces="first", changes=AVOID)
    assert approval(racks, wider, "default").startswith("with default/first")


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (override("node/n1", changes=CORDON), override("node/n2", changes=CORDON, name="b"), "calm"),
        (override("node/n1", changes={"drain": True}), override("zone/a", changes=CORDON, name="b"), ""),
        (override("node/n1", changes=CORDON), override("cluster", changes=AVOID, name="b"), "calm"),
        (override("node/n1", changes={"pauseRepair": True}), override("node/n2", changes=CORDON), ""),
    ],
)
def test_many_small_ones_close_as_much_as_a_large_one(
    racks: InProcess, first: Json, second: Json, told: str
) -> None:
    assert approval(racks, {**first, "metadata": {"name": "calm"}}) == ""
    second["metadata"]["name"] = "b"
    limit = "and spec.overrides.nodesShareMax is 0.34"
    wanted = f"with kube-system/{told} it closes 2 of 4 nodes, {limit}" if told else ""
    assert approval(racks, second) == wanted


def test_nodes_that_two_workloads_avoid_are_not_counted_together(racks: InProcess) -> None:
    other: Json = {"avoidNodes": {"matchLabels": {"rack": "r1"}}}
    assert approval(racks, override("deployment/web", changes=AVOID), "default") == ""
    assert approval(racks, override("deployment/db", changes=other, name="b"), "default") == ""
    assert approval(racks, override("deployment/web", changes=other, name="c"), "default") != ""


def test_what_waits_for_approval_or_has_ended_closes_nothing(racks: InProcess) -> None:
    assert approval(racks, override("zone/b", changes=CORDON)) != ""
    assert approval(racks, override("node/n1", lasts="1m", changes=CORDON, name="b")) == ""
    racks.now += 61
    assert approval(racks, override("node/n2", changes=CORDON, name="c")) == ""


def test_an_approved_one_counts_and_who_prolongs_one_is_not_counted_twice(racks: InProcess) -> None:
    assert approval(racks, override("node/n1", changes=CORDON)) == ""
    assert approval(racks, override("node/n1", changes=CORDON, name="longer", replaces="calm")) == ""
    assert approval(racks, override("zone/b", changes=CORDON, name="b")) != ""
    path = f"{OVERRIDES.format('kube-system')}/b/approval"
    body = {"status": {"conditions": [{"type": "Approved", "status": "True"}]}}
    assert racks.patch(path, body, user=OTHER)[0] == 200
    told = approval(racks, override("node/n2", changes=CORDON, name="c"))
    assert told.startswith("with kube-system/b, kube-system/calm, kube-system/longer it closes 4 of 4 nodes")


def behind(plane: InProcess, service: str, zones: str) -> None:
    """A Service with a ready endpoint in each of these zones, of pods of Deployment `web`."""
    endpoints: list[Json] = []
    for number, zone in enumerate(zones):
        name = f"{service}-{number}"
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d9f8c7b6d", "uid": "rs"}
        meta = {
            "name": name,
            "labels": {"app": "web", "pod-template-hash": "5d9f8c7b6d"},
            "ownerReferences": [{**owner, "controller": True}],
        }
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta}
        spec = {"containers": [{"name": "c", "image": "i"}]}
        status, found = plane.post("/api/v1/namespaces/default/pods", {**pod, "spec": spec})
        assert status == 201, found
        reference = {"kind": "Pod", "namespace": "default", "name": name}
        endpoint = {"addresses": [f"10.0.0.{number}"], "conditions": {"ready": True}, "targetRef": reference}
        endpoints.append({**endpoint, **({"zone": zone} if zone != "-" else {})})
    body = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": service, "labels": {"kubernetes.io/service-name": service}},
        "addressType": "IPv4",
        "endpoints": endpoints,
        "ports": [{"port": 80}],
    }
    assert plane.post(SLICES, body, user=PLANE)[0] == 201


def weights(**zones: int) -> Json:
    return {"trafficWeights": [{"zone": zone, "weight": weight} for zone, weight in zones.items()]}


@pytest.mark.parametrize(
    ("zones", "shift", "load"),
    [
        ("aabb", weights(a=0), ""),
        ("aaab", weights(a=0), "4"),
        ("aaab", weights(a=50, b=50), ""),
        ("aaaaab", weights(a=10), "4"),
        ("aa--", weights(a=0), ""),
        ("bbba", weights(a=0), ""),
    ],
)
def test_weights_that_make_few_take_what_many_took_wait_for_a_second_person(
    plane: InProcess, zones: str, shift: Json, load: str
) -> None:
    behind(plane, "shop", zones)
    told = f"endpoints of Service default/shop in zone b get {load} times their new connections"
    wanted = f"{told}, and spec.overrides.trafficLoadMax is 2" if load else ""
    assert approval(plane, override(changes=shift), "default") == wanted


def test_the_load_is_that_of_services_of_the_target(plane: InProcess) -> None:
    behind(plane, "shop", "aaab")
    assert approval(plane, override("deployment/db", changes=weights(a=0)), "default") == ""
    assert plane.delete(f"{OVERRIDES.format('default')}/calm")[0] == 200
    assert "default/shop" in approval(plane, override("namespace", changes=weights(a=0)), "default")


def test_the_limit_of_the_load_is_a_setting(plane: InProcess) -> None:
    settings = {
        "apiVersion": "fairlead.dev/v1",
        "kind": "PlaneSettings",
        "metadata": {"name": "default"},
        "spec": {"overrides": {"trafficLoadMax": 5}},
    }
    assert plane.post("/apis/fairlead.dev/v1/planesettings", settings)[0] == 201
    behind(plane, "shop", "aaab")
    assert approval(plane, override(changes=weights(a=0)), "default") == ""


def test_weights_that_leave_nobody_are_warned_of(plane: InProcess) -> None:
    behind(plane, "shop", "aa")
    assert approval(plane, override(changes=weights(a=0)), "default") == ""
    assert any("no ready endpoint of Service default/shop" in each for each in plane.warnings), plane.warnings
