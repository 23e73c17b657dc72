"""The life of pods on a node, as readers of the API see it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.agent import contract as c
from fairlead.agent.pace import Pace
from fairlead.cache.events import Framed, Listed, Mirrored
from tests.unit.agent.room import SETTINGS, container, running

SIDECAR = container("beside", restartPolicy="Always")


def test_a_bound_pod_runs_and_its_status_tells_everything() -> None:
    room = running()
    uid = room.create()
    room.settle()
    status = room.status()
    assert (status["phase"], status["podIP"], status["hostIP"]) == ("Running", "127.128.1.1", "127.0.0.1")
    assert status["qosClass"] == "BestEffort"
    assert [(each["type"], each["status"]) for each in status["conditions"]] == [
        ("PodReadyToStartContainers", "True"),
        ("Initialized", "True"),
        ("Ready", "True"),
        ("ContainersReady", "True"),
    ]
    told = room.container()
    assert told["containerID"] == f"process://{uid}/main/0"
    assert (told["ready"], told["started"], told["restartCount"]) == (True, True, 0)
    assert room.reasons() == ["Started"]


@pytest.mark.parametrize(
    ("image", "reasons"),
    [("process", ["Started"]), ("nginx:1.25", ["Started", "ImageIgnored"])],
)
def test_an_image_is_not_used_and_whoever_names_one_is_told_so_once(image: str, reasons: list[str]) -> None:
    room = running()
    room.create(containers=[container(image=image)])
    room.pass_time(5, looks=True)
    assert room.reasons() == reasons


def test_what_is_not_enforced_is_told_by_name() -> None:
    room = running()
    own = {"readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}, "runAsUser": 0}
    volumes = [{"name": "scratch", "emptyDir": {"sizeLimit": "1Mi"}}]
    room.create(containers=[container(securityContext=own)], securityContext={"fsGroup": 5}, volumes=volumes)
    room.pass_time(5, looks=True)
    (told,) = [
        each["message"]
        for each in room.api.get("/api/v1/namespaces/default/events")[1]["items"]
        if each["reason"] == "NotEnforced"
    ]
    assert told.endswith(": spec.volumes[0].emptyDir.sizeLimit")


def test_a_settled_pod_is_written_no_more() -> None:
    room = running()
    room.create(containers=[container(readinessProbe={"exec": {"command": ["ok"]}, "periodSeconds": 1})])
    room.pass_time(5, looks=True)
    room.requests.clear()
    room.pass_time(60, looks=True)
    assert {each.plural for each in room.requests} == {"leases"}


@pytest.mark.parametrize(
    ("policy", "code", "phase", "starts"),
    [
        ("Always", 0, "Running", 2),
        ("Always", 1, "Running", 2),
        ("OnFailure", 0, "Succeeded", 1),
        ("OnFailure", 1, "Running", 2),
        ("Never", 0, "Succeeded", 1),
        ("Never", 1, "Failed", 1),
    ],
)
def test_the_restart_policy_says_what_follows_an_end(policy: str, code: int, phase: str, starts: int) -> None:
    room = running()
    room.create(restartPolicy=policy)
    room.settle()
    room.exits("web", code=code)
    assert room.status()["phase"] == phase
    assert len(room.machine.starts) == starts
    told = room.container()
    assert told["restartCount"] == starts - 1
    ended = (told["lastState"] if starts > 1 else told["state"])["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (code, "Error" if code else "Completed")


def test_a_container_that_ends_again_and_again_waits_longer_each_time() -> None:
    room = running()
    room.create()
    waited = []
    for _ in range(8):
        room.settle()
        room.exits("web", code=1)
        before, since = len(room.machine.starts), room.now
        if room.container()["state"].get("waiting"):
            assert room.container()["state"]["waiting"]["reason"] == "CrashLoopBackOff"
            assert room.container()["lastState"]["terminated"]["exitCode"] == 1
            while len(room.machine.starts) == before:
                room.pass_time(10)
            waited.append(round(room.now - since))
    assert waited == [10, 20, 40, 80, 160, 300, 300]
    assert room.machine.starts[-1][2] == 8
    assert "BackOff" in room.reasons()


def test_a_long_run_ends_the_waiting() -> None:
    room = running(Pace(crash_reset_seconds=50))
    room.create()
    room.settle()
    room.exits("web", code=1)
    room.exits("web", code=1)
    room.pass_time(10)
    assert len(room.machine.starts) == 3
    room.pass_time(60)
    room.exits("web", code=1)
    assert len(room.machine.starts) == 4


def test_init_containers_go_in_order_and_sidecars_stay() -> None:
    room = running()
    room.create(initContainers=[container("one"), SIDECAR, container("two")])
    room.settle()
    assert [each[1] for each in room.machine.starts] == ["one"]
    assert room.condition("Initialized")["message"] == "containers with incomplete status: [one beside two]"
    assert room.container(container="main")["state"]["waiting"]["reason"] == "PodInitializing"
    room.exits("web", "one")
    assert [each[1] for each in room.machine.starts] == ["one", "beside", "two"]
    assert room.status()["phase"] == "Pending"
    room.exits("web", "two")
    assert [each[1] for each in room.machine.starts] == ["one", "beside", "two", "main"]
    assert (room.status()["phase"], room.condition("Ready")["status"]) == ("Running", "True")
    room.exits("web", "beside", code=1)
    assert room.machine.starts[-1][1:] == ("beside", 1)


@pytest.mark.parametrize(("policy", "phase", "starts"), [("Never", "Failed", 1), ("OnFailure", "Pending", 2)])
def test_an_init_container_that_fails(policy: str, phase: str, starts: int) -> None:
    room = running()
    room.create(restartPolicy=policy, initContainers=[container("one")])
    room.settle()
    room.exits("web", "one", code=3)
    assert (room.status()["phase"], len(room.machine.starts)) == (phase, starts)


def test_sidecars_of_a_pod_that_is_through_are_stopped() -> None:
    room = running()
    room.create(restartPolicy="Never", initContainers=[SIDECAR])
    room.settle()
    room.exits("web", "main")
    assert room.machine.running() == []
    assert room.status()["phase"] == "Succeeded"


def test_deletion_stops_tells_and_removes() -> None:
    room = running()
    hook = {"preStop": {"exec": {"command": ["bye"]}}}
    uid = room.create(containers=[container(lifecycle=hook)], terminationGracePeriodSeconds=7)
    room.settle()
    room.machine.stubborn = True
    room.delete()
    room.settle()
    assert room.told(c.Stop) == [c.Stop(uid, "main", 7.0, ("bye",))]
    assert room.pod() is not None
    assert room.condition("Ready")["status"] == "True"
    room.exits("web", code=137)
    assert room.pod() is None
    assert isinstance(room.machine.told[-1], c.Close)
    assert room.agent.works == {}


def test_a_shorter_grace_replaces_a_longer_one() -> None:
    room = running()
    uid = room.create()
    room.settle()
    room.machine.stubborn = True
    room.delete()
    room.settle()
    room.delete(grace=5)
    room.settle()
    assert [each.grace_seconds for each in room.told(c.Stop)] == [30.0, 5.0]
    assert (uid, "main") in room.machine.running()


def test_main_containers_stop_before_sidecars() -> None:
    room = running()
    room.create(initContainers=[SIDECAR, container("late", restartPolicy="Always")])
    room.settle()
    room.machine.stubborn = True
    room.delete()
    room.settle()
    order = ["main", "late", "beside"]
    for index, name in enumerate(order):
        assert [each.container for each in room.told(c.Stop)] == order[: index + 1]
        if name != order[-1]:
            room.exits("web", name, code=143)


def test_a_pod_with_a_finalizer_shows_its_end_and_is_removed_once() -> None:
    room = running()
    room.create(metadata={"finalizers": ["example.com/hold"]})
    room.settle()
    room.delete()
    room.pass_time(100)
    assert room.status()["phase"] == "Failed"
    assert room.pod()["metadata"]["deletionGracePeriodSeconds"] == 0
    assert [each.verb for each in room.requests].count("delete") == 1
    assert room.told(c.Close) == []


@pytest.mark.parametrize("replaced", [False, True])
def test_a_pod_whose_object_went_is_stopped_with_grace_and_closed(replaced: bool) -> None:
    room = running()
    old = room.create()
    room.settle()
    room.machine.stubborn = True
    room.delete(grace=0)
    if replaced:
        room.create()
    room.settle()
    assert [(each.uid, each.grace_seconds) for each in room.told(c.Stop)] == [(old, 30.0)]
    assert room.told(c.Close) == []
    room.machine._end(old, "", 137, room.now, "Error")
    room.events.append(c.Saw(room.machine.sandboxes[old], room.now))
    room.settle()
    assert [each.uid for each in room.told(c.Close)] == [old]
    assert len(room.machine.running()) == replaced


@pytest.mark.parametrize("deleted", [True, False])
def test_a_pod_that_an_old_list_did_not_show_is_not_forgotten_when_it_is_seen(deleted: bool) -> None:
    room = running()
    uid = room.create()
    room.settle()
    if deleted:
        room.delete()
    room.start_agent()
    room.machine.kept.clear()
    room.begin()
    asked = next(each for each in room.lists if each.resource_name == "pods")
    room.lists.remove(asked)
    room.tell(Mirrored("pods", (Listed(1, (), room.now, asked.attempt),)))
    while not any(isinstance(each, c.Close) for each in room.driver):
        room.waiting()[0]()
    entry = next(each for each in room.api.store.list("pods") if each.key.name == "web")
    room.tell(Mirrored("pods", (Framed("ADDED", entry, room.now),)))
    room.pass_time(60)
    if deleted:
        assert room.api.get("/api/v1/namespaces/default/pods/web")[0] == 404
    else:
        assert room.machine.running() == [(uid, "main")]


def test_active_deadline() -> None:
    room = running()
    room.create(activeDeadlineSeconds=20)
    room.pass_time(19)
    assert room.status()["phase"] == "Running"
    room.pass_time(2)
    status = room.status()
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")
    assert room.machine.running() == []


def test_a_status_that_others_ended_ends_the_containers_and_stays() -> None:
    room = running()
    room.create()
    room.settle()
    body = {"status": {"phase": "Failed", "reason": "Evicted", "message": "by hand"}}
    room.api.patch("/api/v1/namespaces/default/pods/web/status", body)
    room.settle()
    assert room.machine.running() == []
    status = room.status()
    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "Evicted", "by hand")
    assert "terminated" in room.container()["state"]


def test_readiness_gates_and_conditions_of_others() -> None:
    room = running()
    room.create(readinessGates=[{"conditionType": "example.com/gate"}])
    room.settle()
    assert room.condition("ContainersReady")["status"] == "True"
    assert room.condition("Ready")["reason"] == "ReadinessGatesNotReady"
    gate = {"type": "example.com/gate", "status": "True"}
    others = [*room.status()["conditions"], gate]
    room.api.patch("/api/v1/namespaces/default/pods/web/status", {"status": {"conditions": others}})
    room.settle()
    assert room.condition("Ready")["status"] == "True"
    room.exits("web", code=1)
    assert room.condition("example.com/gate")["status"] == "True"


# What cannot be started


@pytest.mark.parametrize(
    ("fields", "reason", "words"),
    [
        (
            {"command": None},
            "CreateContainerError",
            "the process driver runs no images: give spec.containers[0].command",
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}}]},
            "CreateContainerConfigError",
            'configmap "m" not found',
        ),
        (
            {"envFrom": [{"secretRef": {"name": "s"}}]},
            "CreateContainerConfigError",
            'secret "s" not found',
        ),
        (
            {"livenessProbe": {"grpc": {"port": 1}}},
            "CreateContainerError",
            "spec.containers[0].livenessProbe.grpc is not supported on this node: use exec, httpGet or tcpSocket",
        ),
        (
            {"securityContext": {"runAsNonRoot": True}},
            "CreateContainerConfigError",
            "container has runAsNonRoot and would run as root: "
            "give spec.containers[0].securityContext.runAsUser another user",
        ),
        (
            {"securityContext": {"runAsNonRoot": True, "runAsUser": 0}},
            "CreateContainerConfigError",
            "container has runAsNonRoot and would run as root: "
            "give spec.containers[0].securityContext.runAsUser another user",
        ),
    ],
)
def test_what_keeps_a_container_from_starting_is_named(fields: Any, reason: str, words: str) -> None:
    room = running(settings=msgspec.structs.replace(SETTINGS, user=0))
    wanted = {key: value for key, value in container(**fields).items() if value is not None}
    room.create(containers=[wanted])
    room.settle()
    waiting = room.container()["state"]["waiting"]
    assert (waiting["reason"], waiting["message"]) == (reason, words)
    assert room.status()["phase"] == "Pending"
    assert room.machine.starts == []
    assert "Failed" in room.reasons()


def test_args_alone_are_the_command_where_images_mean_nothing() -> None:
    room = running()
    wanted = {
        key: value for key, value in container(command=None, args=["sleep", "5"]).items() if value is not None
    }
    room.create(containers=[wanted])
    room.settle()
    (start,) = room.machine.starts
    assert start[1] == "main"


@pytest.mark.parametrize(
    ("agent", "pod", "own"),
    [
        (1000, {"runAsNonRoot": True}, {}),
        (0, {"runAsNonRoot": True, "runAsUser": 1000}, {}),
        (0, {"runAsNonRoot": True}, {"runAsUser": 1000}),
        (0, {"runAsNonRoot": True}, {"runAsNonRoot": False}),
        (0, {}, {}),
    ],
)
def test_whoever_may_not_be_root_and_is_not_runs(agent: int, pod: Any, own: Any) -> None:
    room = running(settings=msgspec.structs.replace(SETTINGS, user=agent))
    room.create(securityContext=pod, containers=[container(securityContext=own)])
    room.settle()
    assert len(room.machine.starts) == 1


def test_a_map_that_arrives_later_starts_the_pod() -> None:
    room = running()
    room.create(
        containers=[
            container(env=[{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}}])
        ]
    )
    room.settle()
    room.put("configmaps", "m", data={"other": "x"})
    room.pass_time(6)
    assert room.container()["state"]["waiting"]["message"] == "couldn't find key k in ConfigMap default/m"
    room.put("configmaps", "m", data={"k": "v"})
    room.pass_time(61)
    assert dict(room.machine.runs[room.uid(), "main"].environment)["A"] == "v"
    assert room.status()["phase"] == "Running"


@pytest.mark.parametrize(
    ("volume", "reason", "words"),
    [
        (
            {"hostPath": {"path": "/x"}},
            "CreateContainerConfigError",
            "spec.volumes[0].hostPath is not supported",
        ),
        (
            {"nfs": {"server": "s", "path": "/"}},
            "CreateContainerConfigError",
            "spec.volumes[0].nfs is not supported",
        ),
        ({"configMap": {"name": "m"}}, "ContainerCreating", 'configmap "m" not found'),
    ],
)
def test_volumes_that_cannot_be_had(volume: Any, reason: str, words: str) -> None:
    room = running()
    room.create(volumes=[{"name": "v", **volume}])
    room.settle()
    waiting = room.container()["state"]["waiting"]
    assert waiting["reason"] == reason
    assert words in waiting["message"]
    assert room.told(c.Open) == []
    assert room.reasons() == ["FailedMount"]


def test_without_a_range_or_a_free_address_a_pod_waits() -> None:
    room = running(cidr="")
    room.create()
    room.settle()
    assert room.container()["state"]["waiting"]["message"] == "the node has no spec.podCIDR yet"
    room.cidr = "127.128.1.0/30"
    room._assign_range()
    room.settle()
    assert room.status()["podIP"] == "127.128.1.1"
    room.create("two")
    room.create("three")
    room.settle()
    words = "no address of the node's spec.podCIDR is free"
    assert room.container("three")["state"]["waiting"]["message"] == words
    room.delete("two")
    room.settle()
    assert room.status("three")["podIP"] == "127.128.1.2"


def test_files_follow_their_objects() -> None:
    room = running()
    room.put("configmaps", "m", data={"k": "1"})
    uid = room.create(volumes=[{"name": "v", "configMap": {"name": "m"}}])
    room.settle()
    assert room.machine.opened[uid].volumes == (c.Volume("v", (("k", b"1", 0o644),)),)
    room.put("configmaps", "m", data={"k": "2"})
    room.pass_time(61)
    assert room.told(c.Refresh) == [c.Refresh(uid, (c.Volume("v", (("k", b"2", 0o644),)),))]


# Drivers that refuse


@pytest.mark.parametrize(("what", "shown"), [("Open", "ContainerCreating"), ("Start", "RunContainerError")])
def test_what_the_driver_cannot_do_is_told_and_tried_again(what: str, shown: str) -> None:
    room = running()
    room.machine.refuse = {what: "the disk is full"}
    room.create()
    room.pass_time(5)
    waiting = room.container()["state"]["waiting"]
    assert waiting["reason"] == shown
    assert "the disk is full" in waiting["message"]
    room.machine.refuse = {}
    room.pass_time(31)
    assert (room.status()["phase"], room.container()["restartCount"]) == ("Running", 0)


def test_stops_and_closes_that_fail_are_tried_again() -> None:
    room = running()
    room.create()
    room.settle()
    room.machine.refuse = {"Stop": "no", "Close": "no"}
    room.delete()
    room.pass_time(10)
    assert room.pod() is not None
    room.machine.refuse = {"Close": "no"}
    room.pass_time(31)
    assert room.pod() is None
    assert room.agent.works
    room.machine.refuse = {}
    room.pass_time(61)
    assert room.agent.works == {}
