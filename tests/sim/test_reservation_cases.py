"""A duplicate reservation, step by step: the create is committed, its answer lost, the leader gone, and the next one has
not been told. There is one Reservation for the workload's intent; it is found again, used once, and goes with the pod."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.agent.hollow.decider import hollow_decider
from fairlead.api.plan import Watch
from fairlead.control.roster import default_deciders
from fairlead.port.request import Request
from fairlead.sim.worlds.recovery import REPLICAS, lend, risk_api, standing
from tests.inprocess import InProcess
from tests.sim.lagging import Lagging
from tests.unit.control.driving import Lose
from tests.unit.reconcile.world import CONTROLLERS

Json = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
SETS = "/apis/apps/v1/namespaces/default/replicasets"
RESERVATIONS = "/apis/fairlead.dev/v1/namespaces/default/reservations"
WATCH = "reservations.fairlead.dev"


def plane(api: InProcess, identity: str, lose: Lose | None = None) -> Lagging:
    nodes = hollow_decider("node-", 2, labels={"tier": "recovery"})
    return Lagging(api, lose, identity, (*default_deciders(), nodes), CONTROLLERS)


def pod(api: InProcess) -> Json:
    """The one replica, as the scheduler would leave it that finds no room for it."""
    (found,) = [each for each in api.get(PODS)[1]["items"] if each["metadata"]["name"] != "other"]
    return dict(found)


def reservations(api: InProcess) -> list[Json]:
    found: list[Json] = api.get(RESERVATIONS)[1]["items"]
    return found


def creates(driver: Lagging) -> list[Request]:
    return [each for each in driver.sent if (each.verb, each.plural) == ("create", "reservations")]


@pytest.fixture
def api() -> InProcess:
    return InProcess()


@pytest.fixture
def second(api: InProcess) -> Lagging:
    """Follows the first, which made a Reservation and was gone before it heard of it; its own watch is late."""

    def dies(request: Request) -> str:
        if request.plural != "reservations":
            return ""
        first.stopped = True  # before it can look
        return "reply"

    first = plane(api, "first", dies)
    api.post(SETS, {"apiVersion": "apps/v1", **risk_api(1)})
    first.run(30)
    follower = plane(api, "second")
    follower.run(1)
    assert not follower.plane.leadership.leads
    for step in (*standing(0), lend(0.0, REPLICAS)):
        assert not isinstance(reply := api.send(step.request), Watch)
        assert reply.status == 201, reply.body
    first.run(2)
    follower.run(1)
    follower.held |= {WATCH, "scheduleroverrides.fairlead.dev"}  # also of what the server counted
    told = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    path = f"{PODS}/{pod(api)['metadata']['name']}/status"
    assert api.patch(path, {"status": {"conditions": [told]}}, user=CONTROLLERS)[0] == 200
    first.run(5)
    assert len(creates(first)) == len(reservations(api)) == 1
    return follower


def test_who_takes_over_waits_until_it_is_told_and_goes_on_with_what_is_there(
    api: InProcess, second: Lagging
) -> None:
    made = reservations(api)[0]
    second.run(120)
    assert second.plane.leadership.leads
    about = [each for each in second.records if each.get("controller") == "override-capacity"]
    assert about == []  # what it knows may be older than what the former leader did

    second.held.clear()
    second.run(30)
    assert creates(second) == []
    (found,) = reservations(api)
    assert found["metadata"]["uid"] == made["metadata"]["uid"]
    assert found["status"]["phase"] == "Active"


def test_one_that_does_not_wait_meets_the_first_under_the_same_name_and_takes_it_for_its_own(
    api: InProcess, second: Lagging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(second.plane._progress, "look", lambda now: (True, ()))
    made = reservations(api)[0]
    second.run(120)
    assert len(creates(second)) == 1
    looks = [each for each in second.sent if (each.verb, each.plural) == ("get", "reservations")]
    assert [each.name for each in looks] == [made["metadata"]["name"]]
    assert [each["metadata"]["uid"] for each in reservations(api)] == [made["metadata"]["uid"]]


def test_a_second_one_for_the_same_purpose_is_refused_whatever_it_is_called(
    api: InProcess, second: Lagging
) -> None:
    made = reservations(api)[0]
    body = {"apiVersion": made["apiVersion"], "kind": made["kind"], "spec": made["spec"]}
    unnamed, named = {**body, "metadata": {}}, {**body, "metadata": {"name": "another"}}
    assert [api.post(RESERVATIONS, each)[0] for each in (unnamed, named)] == [409, 422]


def test_it_is_used_once_and_goes_with_the_pod_that_uses_it(api: InProcess, second: Lagging) -> None:
    second.held.clear()
    second.run(60)
    (found,) = reservations(api)
    name, node, own = found["metadata"]["name"], found["status"]["nodeName"], pod(api)
    replica = own["metadata"]["name"]
    container = own["spec"]["containers"][0]
    spec = {"containers": [{"name": "main", "image": "i", "resources": container["resources"]}]}
    other: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "other"}, "spec": spec}
    other["metadata"]["annotations"] = {"fairlead.dev/reservation": name}
    api.post(PODS, other)

    assert bind(api, replica, name, node)[0] == 201
    status, refused = bind(api, "other", name, node)
    assert (status, f"it is Allocated to pod {replica}" in refused["message"]) == (409, True)
    assert reservations(api)[0]["status"]["allocatedTo"]["name"] == replica

    second.run(2)
    api.patch(f"{SETS}/risk-api", {"spec": {"replicas": 0}})
    second.run(60)
    assert reservations(api) == []


def bind(api: InProcess, pod: str, reservation: str, node: str) -> tuple[int, Json]:
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod, "annotations": {"fairlead.dev/reservation": reservation}},
        "target": {"kind": "Node", "name": node},
    }
    return api.post(f"{PODS}/{pod}/binding", body)
