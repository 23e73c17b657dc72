"""The node itself: its Node and Lease, what renewals allow, agents that come back, supervisors that are lost."""

from __future__ import annotations

import msgspec
import pytest

from fairlead.agent import contract as c
from fairlead.agent.disk import describe_pressure
from fairlead.agent.machine import Agent
from fairlead.cache import events as mirrored
from fairlead.model.marks import AT_MOST_ONE, FENCES_AFTER, NODE_ENDPOINT
from fairlead.port.driving import Started, Stepped
from fairlead.port.outcome import Unknown
from tests.unit.agent.room import NODE, SETTINGS, Room, container, running


def test_a_node_registers_with_all_that_it_is() -> None:
    settings = msgspec.structs.replace(SETTINGS, annotations={NODE_ENDPOINT: "https://127.0.0.9:4711"})
    room = running(settings=settings)
    node = room.node()
    assert node["metadata"]["labels"] == {"kubernetes.io/hostname": NODE, "fairlead.dev/driver": "process"}
    assert node["metadata"]["annotations"] == {NODE_ENDPOINT: "https://127.0.0.9:4711"}
    status = node["status"]
    assert status["allocatable"] == {"cpu": "2", "memory": "4Gi", "pods": "110"}
    assert status["addresses"][0] == {"type": "InternalIP", "address": "127.0.0.9"}
    told = {each["type"]: each["status"] for each in status["conditions"]}
    assert told == {
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
        "Ready": "True",
    }
    spec = room.lease()["spec"]
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == (NODE, 40)


def test_a_node_that_exists_is_kept_with_what_others_gave_it() -> None:
    room = Room()
    labels = {"mine": "x", "fairlead.dev/driver": "other"}
    given = {"name": NODE, "labels": labels, "annotations": {"note": "y", FENCES_AFTER: "40s"}}
    room.api.post("/api/v1/nodes", {"metadata": given, "spec": {"unschedulable": True}})
    foreign = {"type": "Other", "status": "True"}
    unknown = {"type": "Ready", "status": "Unknown"}
    room.api.patch(f"/api/v1/nodes/{NODE}/status", {"status": {"conditions": [foreign, unknown]}})
    uid = room.node()["metadata"]["uid"]
    room.begin()
    room.settle()
    node = room.node()
    assert (node["metadata"]["uid"], node["spec"]["unschedulable"]) == (uid, True)
    assert node["metadata"]["labels"]["mine"] == "x"
    notes = node["metadata"]["annotations"]
    assert (notes["note"], FENCES_AFTER in notes) == ("y", False), "what an older agent promised is taken off"
    assert node["metadata"]["labels"]["fairlead.dev/driver"] == "process"
    told = {each["type"]: each["status"] for each in node["status"]["conditions"]}
    assert (told["Other"], told["Ready"]) == ("True", "True")


@pytest.mark.parametrize(
    ("free", "size", "free_files", "files", "before", "told"),
    [
        (500, 100_000, 0, 0, "", ""),
        (64, 100_000, 0, 0, "", ""),
        (63, 100_000, 0, 0, "", "63 MiB of 100000 MiB are free where /n is: free space on that disk"),
        (6, 100, 0, 0, "", ""),
        (4, 100, 0, 0, "", "4 MiB of 100 MiB are free where /n is: free space on that disk"),
        (
            500,
            100_000,
            20,
            1_000_000,
            "",
            "20 of 1000000 inodes are free where /n is: free space on that disk",
        ),
        (120, 100_000, 0, 0, "as it was", "as it was"),
        (129, 100_000, 0, 0, "as it was", ""),
    ],
)
def test_when_a_disk_is_too_full(
    free: int, size: int, free_files: int, files: int, before: str, told: str
) -> None:
    mib = 1024 * 1024
    assert (
        describe_pressure(
            c.Disk(
                where="/n",
                free_bytes=free * mib,
                bytes=size * mib,
                free_files=free_files,
                files=files,
                now=0.0,
            ),
            before,
        )
        == told
    )


def test_a_full_disk_is_said_once_and_taken_back() -> None:
    room = running()
    writes = []
    for free in (3, 2, 1, 500, 499):
        before = room.node()["metadata"]["resourceVersion"]
        room.tell(
            c.Disk(where="/n", free_bytes=free << 20, bytes=1 << 30, free_files=0, files=0, now=room.now)
        )
        room.settle()
        writes.append(room.node()["metadata"]["resourceVersion"] != before)
        (disk,) = (each for each in room.node()["status"]["conditions"] if each["type"] == "DiskPressure")
        assert disk["status"] == ("True" if free < 64 else "False")
    assert writes == [True, False, False, True, False]


def test_a_node_that_was_deleted_is_not_made_again() -> None:
    room = running()
    room.api.delete(f"/api/v1/nodes/{NODE}")
    room.pass_time(700)
    assert room.node()["code"] == 404
    assert room.logs == [f"Node {NODE} was deleted; restart the agent to register it again"]


def test_an_unchanged_node_is_written_every_five_minutes_and_its_lease_every_ten_seconds() -> None:
    room = running()
    room.requests.clear()
    room.pass_time(305)
    verbs = [(each.plural, each.subresource) for each in room.requests]
    assert verbs.count(("nodes", "status")) == 1
    assert verbs.count(("leases", "")) == 30


def test_only_what_is_done_extends_and_from_when_it_was_sent() -> None:
    room = running()
    sent = room.now
    assert room.told(c.Extend)[-1] == c.Extend(sent + 38)
    room.pass_time(9)
    room.api.now += 1
    room.fire()
    sent = room.now
    room.api.now += 5  # the answer takes its time
    room.settle()
    assert room.told(c.Extend)[-1] == c.Extend(sent + 38)
    count = len(room.told(c.Extend))
    room.broken = True
    room.pass_time(30)
    assert len(room.told(c.Extend)) == count


def test_a_fenced_pod_is_told_ended_and_runs_again_with_the_next_attempt() -> None:
    room = running()
    uid = room.create(initContainers=[container("one")], metadata={"annotations": {AT_MOST_ONE: "true"}})
    room.settle()
    room.exits("web", "one")
    room.broken = True
    room.pass_time(60)
    assert room.machine.running() == []
    assert room.machine.starts == [(uid, "one", 0), (uid, "main", 0)]
    room.broken = False
    room.pass_time(31)
    room.exits("web", "one")
    assert room.machine.starts[2:] == [(uid, "one", 1), (uid, "main", 1)]
    ended = room.container()["lastState"]["terminated"]
    assert (ended["reason"], ended["exitCode"]) == ("DeadlineExceeded", 137)
    assert room.status()["phase"] == "Running"


def test_a_fenced_pod_runs_again_on_a_server_that_has_no_room_to_be_told() -> None:
    room = running()
    uid = room.create(metadata={"annotations": {AT_MOST_ONE: "true"}})
    room.settle()
    room.broken = True
    room.pass_time(60)
    assert room.machine.running() == []
    room.broken, room.is_full = False, True
    room.pass_time(120)
    assert room.machine.starts == [(uid, "main", 0), (uid, "main", 1)]
    room.start_agent()
    room.begin()
    room.pass_time(60)
    assert len(room.machine.starts) == 2
    room.is_full = False
    room.pass_time(60)
    told = room.container()
    assert (told["restartCount"], told["state"].keys(), len(room.machine.starts)) == (1, {"running"}, 2)


@pytest.mark.parametrize(("policy", "phase", "starts"), [("Always", "Running", 2), ("Never", "Failed", 1)])
def test_a_lost_supervisor(policy: str, phase: str, starts: int) -> None:
    room = running()
    uid = room.create(restartPolicy=policy)
    room.settle()
    room.lose_supervisor(uid)
    room.settle()
    assert (room.status()["phase"], len(room.machine.starts)) == (phase, starts)
    told = room.container()
    assert (told["lastState"] if starts > 1 else told["state"])["terminated"]["reason"] == "SupervisorLost"


# Agents that come back


def test_an_agent_that_comes_back_adopts_what_runs() -> None:
    room = running()
    room.create(containers=[container(readinessProbe={"exec": {"command": ["ok"]}})])
    room.pass_time(11, looks=True)
    assert room.condition("Ready")["status"] == "True"
    room.requests.clear()
    room.start_agent()
    room.begin()
    room.settle()
    assert len(room.machine.starts) == 1
    assert room.condition("Ready")["status"] == "True", "what was told of this very run stands until a look"
    assert not [each for each in room.requests if each.plural == "pods"]


@pytest.mark.parametrize("outdated", [True, False])
def test_a_pod_of_an_older_supervisor_is_told_that_it_has_less_around_it_once(outdated: bool) -> None:
    room = running()
    uid = room.create()
    room.settle()
    room.machine.sandboxes[uid] = msgspec.structs.replace(room.machine.sandboxes[uid], outdated=outdated)
    room.start_agent()
    room.begin()
    room.settle()
    room.pass_time(30)
    assert room.reasons().count("OlderIsolation") == int(outdated)


def test_a_directory_that_is_gone_is_history() -> None:
    room = running()
    uid = room.create(initContainers=[container("one")])
    room.settle()
    room.exits("web", "one")
    room.machine.sandboxes.clear()
    room.machine.deadlines.clear()
    room.start_agent()
    room.begin()
    room.settle()
    assert room.machine.starts[2:] == [(uid, "one", 1)], "what it had made is gone: it runs again"
    ended = room.container()["state"]["terminated"]
    assert ended["reason"] == "ContainerStatusUnknown"
    room.exits("web", "one")
    assert room.machine.starts[3:] == [(uid, "main", 1)]


@pytest.mark.parametrize("first", ["found", "mirror"])
def test_orphans_are_stopped_when_pods_and_machine_are_known_and_not_before(first: str) -> None:
    room = running()
    uid = room.create()
    room.settle()
    room.start_agent()
    room.delete(grace=0)
    room.machine.told.clear()
    room.tell(Started(room.now, 0.5))
    if first == "mirror":
        room.settle()
    else:
        room.tell(c.Found(tuple(room.machine.sandboxes.values()), room.now))
        while room.driver:
            room.drive_next()
    assert not [each for each in room.machine.told if not isinstance(each, c.Extend)]
    if first == "mirror":
        room.tell(c.Found(tuple(room.machine.sandboxes.values()), room.now))
    room.settle()
    assert room.told(c.Stop) == [c.Stop(uid, "", 30.0)]
    assert room.told(c.Close) == [c.Close(uid)]


def test_nothing_of_which_at_most_one_may_run_starts_without_a_lease() -> None:
    room = Room()
    room.begin()
    room.create(metadata={"annotations": {AT_MOST_ONE: "true"}})
    while room.lists:
        room.list_next()
    for _ in range(3):
        room.answer_next(lost_before=True)
    assert room.agent.works
    assert not [each for each in room.driver if isinstance(each, c.Open)]
    room.pass_time(10)
    assert room.status()["phase"] == "Running"


def test_a_pod_that_cannot_be_read_is_left_as_it_is() -> None:
    """As an agent of an older version meets it."""
    room = running()
    uid = room.create()
    room.settle()
    entry = next(each for each in room.api.store.list("pods") if each.uid == uid)
    garbled = msgspec.structs.replace(
        entry, revision=entry.revision + 1, data=entry.data.replace(b'"spec":{', b'"spec":{"volumes":7,')
    )
    room.tell(mirrored.Mirrored("pods", (mirrored.Framed("MODIFIED", garbled, room.now),)))
    room.settle()
    assert room.told(c.Stop) == []
    assert "cannot be read and is left as it is" in room.logs[0]
    room.start_agent()
    room.tell(Started(room.now, 0.5))
    room.find()
    room.lists.clear()
    listed = mirrored.Listed(garbled.revision, (garbled,), room.now)
    room.tell(mirrored.Mirrored("pods", (listed,)))
    room.settle()
    assert room.told(c.Stop) == []
    assert room.machine.running() == [(uid, "main")]


# Outcomes that are not known


@pytest.mark.parametrize("after", [False, True])
def test_a_status_of_unknown_outcome_is_written_again_and_changes_nothing_twice(after: bool) -> None:
    room = running()
    room.create()
    while not any(each.request.plural == "pods" for each in room.asks):
        room.waiting()[0]()
    while room.asks[0].request.plural != "pods":
        room.answer_next()
    room.answer_next(lost_before=not after, lost_after=after)
    room.pass_time(5)
    assert room.status()["phase"] == "Running"
    assert room.machine.starts == [(room.uid(), "main", 0)]


def test_a_removal_of_unknown_outcome_is_looked_at_and_asked_again() -> None:
    room = running()
    room.create()
    room.settle()
    room.delete()
    for _ in range(200):
        if room.asks and room.asks[0].request.verb == "delete":
            break
        room.waiting()[0]()
    room.answer_next(lost_before=True)
    room.pass_time(5)
    assert room.pod() is None


def test_a_condition_that_comes_at_the_same_time_is_kept() -> None:
    room = running()
    room.create()
    while not any(each.request.plural == "pods" for each in room.asks):
        room.waiting()[0]()
    room.release()
    room.pass_time(5)
    assert room.condition("fairlead.dev/Released")["status"] == "True"
    assert room.condition("Ready")["status"] == "True"


# Leaving


def test_an_agent_that_leaves_ends_all_with_grace_and_a_later_one_goes_on() -> None:
    room = running()
    uid = room.create()
    room.settle()
    room.machine.stubborn = True
    room.tell(c.ShutdownRequested(room.now))
    room.settle()
    assert room.told(c.Stop) == [c.Stop(uid, "main", 30.0)]
    assert not room.agent.empty
    room.exits("web", code=143)
    assert room.agent.empty
    assert room.machine.sandboxes == {}
    assert room.status()["phase"] == "Running"
    ready = [each for each in room.node()["status"]["conditions"] if each["type"] == "Ready"]
    assert (ready[0]["status"], ready[0]["message"]) == ("False", "node is shutting down")
    room.start_agent()
    room.begin()
    room.settle()
    assert room.machine.starts == [(uid, "main", 0), (uid, "main", 1)]


def test_an_agent_that_leaves_without_an_api_leaves_the_directories() -> None:
    room = running()
    room.create()
    room.settle()
    room.broken = True
    room.tell(c.ShutdownRequested(room.now))
    room.pass_time(3)
    assert room.agent.empty
    assert len(room.machine.sandboxes) == 1, "nobody was told how it ended"


# Beside the pods


def test_services_are_served_and_named_in_the_environment() -> None:
    room = running()
    ports = [{"port": 80, "protocol": "TCP"}]
    room.put("services", "front", spec={"ports": ports, "selector": {"a": "b"}})
    room.settle()
    assert room.serves[-1].routes[0].service == "default/front:80"
    room.create()
    room.create("plain", enableServiceLinks=False)
    room.settle()
    linked = dict(room.machine.runs[room.uid("web"), "main"].environment)
    assert linked["FRONT_SERVICE_PORT"] == "80"
    assert "FRONT_SERVICE_PORT" not in dict(room.machine.runs[room.uid("plain"), "main"].environment)


def test_events_are_bounded_for_each_pod() -> None:
    room = running()
    probe = {"exec": {"command": ["x"]}, "periodSeconds": 1, "failureThreshold": 10_000}
    room.create(containers=[container(readinessProbe=probe)])
    for turn in range(100):
        room.pass_time(1)
        for number in list(room.looks):
            del room.looks[number]
            room.events.append(c.Probed(number, False, f"failure {turn}", room.now))
    room.settle()
    assert 20 <= len(room.reasons()) <= 26
    assert room.agent.means.notes.dropped > 50


def test_answers_and_reports_that_belong_to_nobody_do_nothing() -> None:
    agent = Agent(SETTINGS)
    assert agent.handle(c.Answered(99, Unknown("late"), 1.0)) == ()
    assert agent.handle(c.Closed("u", 1.0)) == ()
    assert agent.handle(c.Failed("u", "Open", "no", 1.0)) == ()
    assert agent.handle(c.Probed(7, True, "", 1.0)) == ()


def test_the_node_role_is_all_it_takes() -> None:
    """Every request of the room goes out with the node's own rights; none may be refused for want of more."""
    room = running()
    room.put("secrets", "s", data={"k": "dg=="})
    room.create(containers=[container(envFrom=[{"secretRef": {"name": "s"}}])])
    room.settle()
    assert dict(room.machine.runs[room.uid(), "main"].environment)["k"] == "v"


def test_that_the_wall_clock_was_set_is_told_as_an_event_of_the_node() -> None:
    room = running()
    renewed = room.lease()["spec"]["renewTime"]
    for _ in range(2):
        room.tell(Stepped(-3600.0, "the wall clock was set back by 3600 s", room.now))
        room.settle()
    found = room.api.get("/api/v1/namespaces/default/events")[1]["items"]
    (event,) = [each for each in found if each["reason"] == "ClockStepped"]
    assert (event["type"], event["count"]) == ("Warning", 2)
    node = room.node()["metadata"]
    involved = {"apiVersion": "v1", "kind": "Node", "name": node["name"], "uid": node["uid"]}
    assert event["involvedObject"] == involved
    room.pass_time(20)
    assert room.lease()["spec"]["renewTime"] > renewed


def test_an_agent_whose_first_writes_are_not_answered_does_not_spin() -> None:
    """The Node is there without its knowing: until it can say that it is ready it says nothing, and sleeps."""
    room = Room()
    room.begin()
    for _ in range(2):
        room.waiting()[0]()
    room.answer_next(lost_before=True)  # the lease
    room.answer_next(lost_after=True)  # the Node
    room.pass_time(60.0, looks=True)
    assert room.node()["status"]["conditions"]
    assert room.lease()["spec"]["holderIdentity"] == NODE
