"""Nodes: taints, immutable fields, heartbeats, columns."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairlead.core.problems import Problems
from fairlead.core.times import timestamp
from fairlead.model.kinds.node import KIND

Json = dict[str, Any]
NOW = 1_700_000_000.0
NODE: Json = {
    "metadata": {
        "name": "n",
        "resourceVersion": "1",
        "creationTimestamp": timestamp(NOW - 3600 * 50),
        "labels": {
            "node-role.kubernetes.io/worker": "",
            "kubernetes.io/role": "edge",
            "node-role.kubernetes.io/": "",
        },
    },
    "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]},
    "status": {
        "capacity": {"cpu": "4", "memory": "4096Mi"},
        "addresses": [{"type": "Hostname", "address": "n"}, {"type": "InternalIP", "address": "10.0.0.1"}],
        "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2023-01-01T00:00:00Z"}],
        "nodeInfo": {"kubeletVersion": "v1.34.0", "osImage": "Debian"},
    },
}


def node(**spec: Any) -> Json:
    return {"metadata": {"name": "n"}, "spec": spec}


def causes(new: Json, old: Json | None = None) -> list[str]:
    problems = Problems()
    KIND.validate(new, problems)
    if old is not None:
        KIND.validate_update(new, old, problems)
    return [f"{cause.field}: {cause.message}" for cause in problems.causes]


def test_allocatable_is_the_capacity_unless_said() -> None:
    made = copy.deepcopy(NODE)
    KIND.defaults(made)
    assert made["status"]["allocatable"] == made["status"]["capacity"] == {"cpu": "4", "memory": "4Gi"}
    assert causes(made) == []
    assert KIND.status_on_create


@pytest.mark.parametrize(
    ("taints", "wanted"),
    [
        (
            [{"key": "", "effect": "NoSchedule"}],
            'spec.taints[0].key: Invalid value: "": name part must be non-empty',
        ),
        (
            [{"key": "a", "value": "b c", "effect": "NoSchedule"}],
            'spec.taints[0].value: Invalid value: "b c"',
        ),
        (
            [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "value": "x", "effect": "NoSchedule"}],
            'spec.taints[1]: Duplicate value: {"key":"a","value":"x","effect":"NoSchedule"}: taints must be unique',
        ),
    ],
)
def test_bad_taints_are_named(taints: list[Json], wanted: str) -> None:
    assert causes(node(taints=taints))[0].startswith(wanted)


def test_one_key_may_have_two_effects() -> None:
    assert (
        causes(node(taints=[{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"}])) == []
    )


@pytest.mark.parametrize(
    ("field", "value", "name"),
    [("podCIDR", "10.0.0.0/24", "podCIDR"), ("providerID", "x://1", "providerID")],
)
def test_what_a_provider_assigned_stays(field: str, value: str, name: str) -> None:
    assert causes(node(**{field: value}), node()) == []
    assert causes(node(**{field: "other"}), node(**{field: value})) == [
        f'spec.{field}: Forbidden: node updates may not change {name} except from "" to valid'
    ]


def test_amounts_are_not_negative() -> None:
    problems = Problems()
    KIND.validate_status({"status": {"capacity": {"cpu": "-1"}}}, {}, problems)
    assert [cause.field for cause in problems.causes] == ["status.capacity[cpu]"]


def test_addresses_are_listed_once_and_the_first_range_is_the_range() -> None:
    problems = Problems()
    address = {"type": "InternalIP", "address": "10.0.0.1"}
    KIND.validate_status({"status": {"addresses": [address, address]}}, {}, problems)
    assert [cause.field for cause in problems.causes] == ["status.addresses[1]"]
    assert causes(node(podCIDR="10.0.0.0/24", podCIDRs=["10.0.1.0/24"]))[0].startswith("spec.podCIDRs: ")


@pytest.mark.parametrize(
    ("networks", "wanted"),
    [
        (["10.0.0.0/24"], []),
        (["10.0.0.0/24", "fd00::/64"], []),
        (["10.0.0.0/24", "10.0.1.0/24"], ["spec.podCIDRs: "]),
        (["10.0.0.1/24"], ["spec.podCIDRs[0]: "]),
        (["10.0.0.0"], ["spec.podCIDRs[0]: "]),
        (["x"], ["spec.podCIDRs[0]: "]),
    ],
)
def test_networks_of_pods(networks: list[str], wanted: list[str]) -> None:
    made = node(podCIDRs=networks)
    KIND.defaults(made)
    assert made["spec"]["podCIDR"] == networks[0]
    found = causes(made)
    assert len(found) == len(wanted)
    assert all(text.startswith(start) for text, start in zip(found, wanted, strict=True))
    only = node(podCIDR=networks[0])
    KIND.defaults(only)
    assert only["spec"]["podCIDRs"] == networks[:1]


def changed(*path: Any, value: Any) -> Json:
    new = copy.deepcopy(NODE)
    place = new
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return new


@pytest.mark.parametrize(
    ("new", "heartbeat"),
    [
        (NODE, True),
        (changed("status", "conditions", 0, "lastHeartbeatTime", value="2023-01-01T00:00:10Z"), True),
        (changed("metadata", "resourceVersion", value="2"), True),
        (changed("status", "conditions", 0, "status", value="False"), False),
        (changed("status", "capacity", "cpu", value="8"), False),
        (changed("status", "phase", value="x"), False),
        (changed("spec", "unschedulable", value=True), False),
        (changed("metadata", "labels", value={}), False),
    ],
)
def test_only_fresh_times_make_a_heartbeat(new: Json, heartbeat: bool) -> None:
    assert KIND.heartbeat(new, NODE) is heartbeat


def row(obj: Json) -> list[Any]:
    return [column.cell(obj, NOW) for column in KIND.columns]


def test_columns_read_as_in_kubectl() -> None:
    assert [column.name for column in KIND.columns] == [
        "Status",
        "Roles",
        "Age",
        "Version",
        "Internal-IP",
        "External-IP",
        "OS-Image",
        "Kernel-Version",
        "Container-Runtime",
        "Reason",
    ]
    wanted = [
        "Ready",
        "edge,worker",
        "2d2h",
        "v1.34.0",
        "10.0.0.1",
        "<none>",
        "Debian",
        "<unknown>",
        "<unknown>",
        "<none>",
    ]
    assert row(NODE) == wanted


@pytest.mark.parametrize(
    ("obj", "word"),
    [
        (changed("spec", "unschedulable", value=True), "Ready,SchedulingDisabled"),
        (changed("status", "conditions", 0, "status", value="Unknown"), "NotReady"),
        (node(), "Unknown"),
    ],
)
def test_the_status_column_says_whether_pods_may_come(obj: Json, word: str) -> None:
    assert row(obj)[0] == word


def test_cordoned_nodes_can_be_selected() -> None:
    read = KIND.selectable["spec.unschedulable"]
    assert (read(node()), read(node(unschedulable=True))) == ("false", "true")
