"""Leases: durations, renewals as heartbeats, columns."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from fairlead.model.kind import Json
from fairlead.model.kinds.lease import KIND
from tests.unit.model.kinds.workload_objects import mistakes, row, shown, whole


def lease(**spec: Any) -> Json:
    base = {
        "holderIdentity": "node-1",
        "leaseDurationSeconds": 40,
        "renewTime": "2023-11-14T22:12:20.000000Z",
    }
    obj = whole(KIND, spec={**base, **spec})
    obj["metadata"]["resourceVersion"] = "7"
    return obj


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        ({"leaseTransitions": 0, "holderIdentity": ""}, []),
        ({"preferredHolder": "node-2", "strategy": "OldestEmulationVersion"}, []),
        (
            {"leaseDurationSeconds": 0},
            ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"],
        ),
        (
            {"leaseTransitions": -1},
            ["spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            {"preferredHolder": "node-2"},
            ["spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"],
        ),
    ],
)
def test_specs(spec: dict[str, Any], expected: list[str]) -> None:
    assert mistakes(KIND, lease(**spec)) == expected


def test_a_lease_without_a_spec_is_valid() -> None:
    assert mistakes(KIND, whole(KIND)) == []


def test_a_renewal_is_a_heartbeat() -> None:
    old, new = lease(), lease(renewTime="2023-11-14T22:12:30.000000Z")
    new["metadata"]["resourceVersion"] = "8"
    new["metadata"]["managedFields"] = [{"manager": "agent"}]
    assert KIND.heartbeat(new, old)


@pytest.mark.parametrize(
    "change",
    [
        {"holderIdentity": "node-2"},
        {"leaseTransitions": 1},
        {"acquireTime": "2023-11-14T22:12:30.000000Z"},
        {"leaseDurationSeconds": 10},
    ],
)
def test_a_change_of_holder_or_terms_is_no_heartbeat(change: dict[str, Any]) -> None:
    new = lease(renewTime="2023-11-14T22:12:30.000000Z", **change)
    assert not KIND.heartbeat(new, lease())


def test_a_change_of_metadata_is_no_heartbeat() -> None:
    new = lease(renewTime="2023-11-14T22:12:30.000000Z")
    new["metadata"]["labels"] = {"a": "b"}
    assert not KIND.heartbeat(new, lease())


def test_a_write_that_renews_nothing_is_no_heartbeat() -> None:
    assert not KIND.heartbeat(deepcopy(lease()), lease())


def test_columns_are_those_of_kubectl() -> None:
    assert shown(KIND) == ["HOLDER", "AGE"]
    assert row(KIND, lease())["Holder"] == "node-1"
    assert row(KIND, whole(KIND))["Holder"] == ""
    assert not KIND.generation
