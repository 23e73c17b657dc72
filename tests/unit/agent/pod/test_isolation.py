"""What a pod asks of the walls around it: given, or refused with the field and the fix."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.agent import contract as c
from fairlead.agent.pod.isolation import CAPABILITIES, capabilities, labels, list_refusals
from fairlead.agent.views import BoundPod
from fairlead.model.views import SecurityContext
from tests.unit.agent.room import SETTINGS, container, running

ROOT = c.Isolation(user=0, group=0)
OTHER = c.Isolation(mounts=True, users=False, processes=False, pids=False, user=1000, group=100)
BARE = c.Isolation(mounts=False, users=False, processes=False, pids=False, user=1000, group=100)


def refused(
    isolation: c.Isolation, own: dict[str, Any], whole: dict[str, Any] | None = None, **more: Any
) -> list[str]:
    spec = {"containers": [{"name": "c", "securityContext": own, **more.pop("container", {})}], **more}
    pod = msgspec.convert(
        {
            "metadata": {"name": "p", "namespace": "n", "uid": "u", "resourceVersion": "1"},
            "spec": {**spec, "securityContext": whole or {}},
        },
        BoundPod,
    )
    return list(list_refusals(pod, pod.spec.containers[0], "spec.containers[0]", isolation))


@pytest.mark.parametrize("isolation", [ROOT, OTHER, BARE])
@pytest.mark.parametrize(
    "own",
    [
        {},
        {"allowPrivilegeEscalation": False},
        {"allowPrivilegeEscalation": True},
        {"capabilities": {"drop": ["ALL"]}},
        {"runAsNonRoot": True},
        {"seccompProfile": {"type": "Unconfined"}},
        {"readOnlyRootFilesystem": False},
    ],
)
def test_what_every_node_can_give(isolation: c.Isolation, own: dict[str, Any]) -> None:
    assert refused(isolation, own) == []


@pytest.mark.parametrize(
    ("field", "own", "whole"),
    [
        (
            "spec.containers[0].securityContext.seccompProfile",
            {"seccompProfile": {"type": "RuntimeDefault"}},
            {},
        ),
        ("spec.securityContext.seccompProfile", {}, {"seccompProfile": {"type": "Localhost"}}),
        (
            "spec.containers[0].securityContext.appArmorProfile",
            {"appArmorProfile": {"type": "Localhost"}},
            {},
        ),
        ("spec.securityContext.seLinuxOptions", {}, {"seLinuxOptions": {"level": "s0"}}),
        ("spec.securityContext.sysctls", {}, {"sysctls": [{"name": "a", "value": "b"}]}),
        ("spec.containers[0].securityContext.capabilities", {"capabilities": {"add": ["FLY"]}}, {}),
    ],
)
def test_what_no_node_can_give(field: str, own: dict[str, Any], whole: dict[str, Any]) -> None:
    (told,) = refused(ROOT, own, whole)
    assert told.startswith(f"{field}: ")


@pytest.mark.parametrize(
    ("own", "whole"),
    [
        ({"runAsUser": 1}, {}),
        ({"runAsUser": 0}, {}),
        ({}, {"runAsUser": 7}),
        ({"runAsGroup": 7}, {}),
        ({}, {"fsGroup": 7}),
        ({}, {"supplementalGroups": [7]}),
        ({"privileged": True}, {}),
        ({"capabilities": {"add": ["NET_ADMIN"]}}, {}),
        ({"capabilities": {"drop": ["ALL"]}, "allowPrivilegeEscalation": True}, {}),
    ],
)
def test_what_an_agent_without_root_cannot_give(own: dict[str, Any], whole: dict[str, Any]) -> None:
    assert refused(ROOT, own, whole) == []
    (told,) = refused(OTHER, own, whole)
    assert (
        "the agent of this node runs as user 1000, not as root: remove it, or run the agent as root" in told
    )


def test_what_an_agent_without_root_is_anyway() -> None:
    whole = {"runAsUser": 1000, "runAsGroup": 100, "fsGroup": 100, "supplementalGroups": [100]}
    assert refused(OTHER, {}, whole) == []


@pytest.mark.parametrize(
    ("field", "own", "mount"),
    [
        ("securityContext.readOnlyRootFilesystem", {"readOnlyRootFilesystem": True}, {}),
        ("volumeMounts[0].readOnly", {}, {"readOnly": True}),
    ],
)
def test_what_needs_files_of_its_own(field: str, own: dict[str, Any], mount: dict[str, Any]) -> None:
    mounts = [{"name": "scratch", "mountPath": "/data", **mount}]
    more: dict[str, Any] = {
        "volumes": [{"name": "scratch", "emptyDir": {}}],
        "container": {"volumeMounts": mounts},
    }
    assert refused(OTHER, own, **more) == []
    (told,) = refused(BARE, own, **more)
    assert told.startswith(f"spec.containers[0].{field}: ")


def test_capabilities_are_those_of_containers_but_for_what_is_asked() -> None:
    def names(**asked: Any) -> set[str]:
        mask = capabilities(msgspec.convert(asked, SecurityContext))
        return {name for name, number in CAPABILITIES.items() if mask >> number & 1}

    assert {"CHOWN", "NET_BIND_SERVICE"} < names()
    assert not names() & {"SYS_ADMIN", "SYS_PTRACE", "MKNOD"}
    assert names(capabilities={"drop": ["ALL"], "add": ["NET_RAW", "CAP_KILL"]}) == {"NET_RAW", "KILL"}
    assert names(capabilities={"drop": ["CHOWN"]}) == names() - {"CHOWN"}
    assert names(capabilities={"add": ["ALL"]}) == names(privileged=True) == set(CAPABILITIES)


def test_a_node_says_what_it_isolates() -> None:
    assert labels(BARE) == {
        "fairlead.dev/isolates-mounts": "false",
        "fairlead.dev/isolates-users": "false",
        "fairlead.dev/isolates-processes": "false",
        "fairlead.dev/isolates-pids": "false",
        "fairlead.dev/agent-user": "1000",
        "fairlead.dev/agent-group": "100",
    }


def test_a_pod_that_asks_for_more_is_refused_with_the_reason_and_started_nowhere() -> None:
    room = running(settings=msgspec.structs.replace(SETTINGS, isolation=OTHER))
    room.create(containers=[container(securityContext={"runAsUser": 7})])
    room.pass_time(5, looks=True)
    waiting = room.container()["state"]["waiting"]
    assert waiting["reason"] == "CreateContainerError"
    assert (
        "it asks for more than this node isolates: spec.containers[0].securityContext.runAsUser 7"
        in waiting["message"]
    )
    assert room.machine.running() == []
    assert room.reasons() == ["Failed"]
