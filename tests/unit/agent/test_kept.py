"""An agent that is started while no API answers runs the pods that it knew, but for those of which at most one may run."""

from __future__ import annotations

import msgspec
import pytest

from fairlead.agent import contract as c
from fairlead.core.times import timestamp
from fairlead.ledger.zone_weights import NOTE
from fairlead.model.marks import AT_MOST_ONE
from fairlead.model.service_views import SERVICE_NAME
from tests.unit.agent.room import Room, container, running

FROM_MAP = container(env=[{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}}])


def restarted_away(room: Room) -> None:
    """The server is gone; so was the agent, and a new one is started."""
    room.broken = True
    room.start_agent()
    room.begin()
    room.pass_time(30)


def test_what_runs_is_adopted_and_keeps_its_restarts() -> None:
    room = running()
    uid = room.create()
    room.settle()
    restarted_away(room)
    assert room.machine.starts == [(uid, "main", 0)]
    room.exits("web", code=1)
    room.pass_time(30)
    assert room.machine.starts == [(uid, "main", 0), (uid, "main", 1)]


def test_what_was_lost_is_started_again_with_the_same_variables_and_address() -> None:
    room = running()
    room.put("configmaps", "m", data={"k": "v"})
    room.put("services", "db", spec={"ports": [{"port": 80}], "clusterIP": "127.96.0.9"})
    uid = room.create(containers=[FROM_MAP])
    room.settle()
    before = dict(room.machine.runs[uid, "main"].environment)
    assert before["A"] == "v"
    address = room.machine.sandboxes[uid].address
    room.machine.sandboxes.clear()
    restarted_away(room)
    assert room.machine.running() == [(uid, "main")]
    assert dict(room.machine.runs[uid, "main"].environment) == before
    assert room.machine.sandboxes[uid].address == address
    assert any(each.address == "127.96.0.9" for each in room.serves[-1].routes)


def test_one_of_which_at_most_one_may_run_starts_again_on_the_word_of_the_api_only() -> None:
    room = running()
    uid = room.create("db", metadata={"annotations": {AT_MOST_ONE: "true"}})
    room.settle()
    room.lose_supervisor(uid)
    restarted_away(room)
    room.pass_time(600)
    assert room.machine.running() == []
    room.broken = False
    room.pass_time(90)
    assert room.machine.running() == [(uid, "main")]


def test_while_the_api_answers_nothing_is_done_by_what_was_kept() -> None:
    room = running()
    uid = room.create()
    room.settle()
    room.delete(grace=0)
    room.machine.sandboxes.clear()
    room.start_agent()
    room.begin()
    assert not [each for each in room.driver if isinstance(each, c.Open | c.Start)]
    room.settle()
    assert room.machine.starts == [(uid, "main", 0)]
    assert ("pods", "default", "web") not in room.machine.kept


def test_what_no_pod_reads_any_more_is_forgotten() -> None:
    room = running()
    room.put("configmaps", "m", data={"k": "v"})
    room.create(containers=[FROM_MAP])
    room.settle()
    assert ("configmaps", "default", "m") in room.machine.kept
    room.delete()
    room.pass_time(40)
    assert ("configmaps", "default", "m") not in room.machine.kept


@pytest.mark.parametrize("away", [False, True])
def test_the_last_end_of_a_container_is_still_told_by_the_next_agent(away: bool) -> None:
    room = running()
    uid = room.create()
    room.settle()
    room.lose_supervisor(uid)
    room.settle()
    told = room.container()["lastState"]
    assert told["terminated"]["reason"] == "SupervisorLost"
    box = room.machine.sandboxes[uid]
    import msgspec

    forgetful = tuple(msgspec.structs.replace(each, previous=None) for each in box.containers)
    room.machine.sandboxes[uid] = msgspec.structs.replace(box, containers=forgetful)
    room.broken = away
    room.start_agent()
    room.begin()
    room.pass_time(30)
    room.broken = False
    room.pass_time(60)
    assert room.container()["lastState"] == told


def test_a_node_that_is_ready_does_not_say_that_it_is_not_because_its_agent_starts() -> None:
    room = running()
    room.start_agent()
    room.begin_unknowing()
    states = []
    for _ in range(200):
        ready = room.waiting()
        if not ready:
            break
        ready[0]()
        conditions = room.node()["status"]["conditions"]
        states.append(next(each["status"] for each in conditions if each["type"] == "Ready"))
    assert set(states) == {"True"}


def test_weights_of_zones_end_by_the_nodes_clock_while_no_api_answers() -> None:
    room = running()
    room.put("services", "web", spec={"ports": [{"port": 80}], "clusterIP": "127.96.0.9"})
    note = {"weights": {"a": 0}, "until": timestamp(room.now + 120), "by": "default/shift"}
    body = {
        "metadata": {
            "name": "web-1",
            "labels": {SERVICE_NAME: "web"},
            "annotations": {NOTE: msgspec.json.encode(note).decode()},
        },
        "addressType": "IPv4",
        "endpoints": [
            {"addresses": [f"127.128.9.{each}"], "zone": zone} for each, zone in ((1, "a"), (2, "b"))
        ],
        "ports": [{"name": "", "protocol": "TCP", "port": 8080}],
    }
    status, made = room.api.post("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", body)
    assert status == 201, made
    room.settle()
    assert backends_of(room) == ["127.128.9.2"]
    restarted_away(room)
    assert backends_of(room) == ["127.128.9.2"]
    room.pass_time(120)
    assert backends_of(room) == ["127.128.9.1", "127.128.9.2"]


def backends_of(room: Room) -> list[str]:
    (found,) = (each for each in room.serves[-1].routes if each.address == "127.96.0.9")
    return [each.address for each in found.backends]
