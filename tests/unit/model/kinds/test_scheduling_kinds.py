"""SchedulingPolicy, PlacementQuota and Reservation: what may be said in them, and what is told of what may not."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.fields import ListOf, MapOf, Ref
from fairlead.model.files import load_tables
from fairlead.model.kind import Json
from fairlead.model.kinds import placementquota, reservation, schedulingpolicy
from fairlead.model.policy.plugin_names import PLUGINS, SCORING
from fairlead.schedule import registry
from tests.unit.model.kinds.workload_objects import mistakes, update_mistakes, whole

OWNER = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "risk-api", "uid": "u-1"}
NAME = reservation.name_for("u-1", "recover")


def policy(**spec: Any) -> Json:
    return whole(schedulingpolicy.KIND, "v4", spec=spec)


def reserved(name: str = NAME, **spec: Any) -> Json:
    whole_spec = {
        "owner": OWNER,
        "intent": "recover",
        "nodeName": "node-1",
        "requests": {"cpu": "1"},
        "ttlSeconds": 60,
        **spec,
    }
    return whole(
        reservation.KIND,
        name,
        spec={field: value for field, value in whole_spec.items() if value is not None},
    )


def test_validation_knows_the_plugins_that_the_scheduler_has_in_their_order() -> None:
    assert tuple(registry.PLUGINS) == PLUGINS
    assert set(SCORING) <= set(PLUGINS)
    assert registry.default_policy().weights == SCORING


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        ({"plugins": [{"name": "NodePorts", "disabled": True}, {"name": "NodeAffinity", "weight": 0}]}, []),
        (
            {"plugins": [{"name": "NodeAfinity"}]},
            [
                'spec.plugins[0].name: Unsupported value: "NodeAfinity": supported values: '
                + ", ".join(f'"{name}"' for name in PLUGINS)
            ],
        ),
        (
            {"plugins": [{"name": "NodeAffinity", "weight": -5}]},
            [
                "spec.plugins[0].weight: Invalid value: -5: must be between 0 and 100; 0 takes its scores out, "
                "disabled: true the whole plugin"
            ],
        ),
        (
            {"plugins": [{"name": "NodePorts", "weight": 1}]},
            [
                "spec.plugins[0].weight: Invalid value: 1: NodePorts only filters and has no scores; leave it out"
            ],
        ),
        (
            {"plugins": [{"name": "NodePorts"}, {"name": "NodePorts"}]},
            ['spec.plugins[1].name: Duplicate value: "NodePorts"'],
        ),
        (
            {"scoring": {"resources": [{"name": "cpu", "weight": 0}]}},
            [
                "spec.scoring.resources[0].weight: Invalid value: 0: must be between 1 and 100; "
                "leave a resource out that is not to count"
            ],
        ),
        (
            {"capacityClasses": [{"name": "recovery", "nodeSelector": {}}]},
            [
                "spec.capacityClasses[0].nodeSelector: Required value: "
                "an empty one would keep every node for this class"
            ],
        ),
    ],
)
def test_a_policy_names_plugins_that_exist_with_weights_that_make_sense(
    spec: Json, expected: list[str]
) -> None:
    assert mistakes(schedulingpolicy.KIND, policy(**spec)) == expected


def test_a_policy_without_the_check_for_room_is_warned_of() -> None:
    off = policy(plugins=[{"name": "NodeResourcesFit", "disabled": True}])
    assert len(schedulingpolicy.KIND.warnings(off)) == 1
    assert schedulingpolicy.KIND.warnings(policy()) == []


@pytest.mark.parametrize(
    ("hard", "wrong"),
    [
        ({"cpu": "1", "memory": "1Gi", "pods": "3", "example.com/gpu": "2"}, []),
        ({}, ["spec.hard"]),
        ({"requests.cpu": "1"}, ["spec.hard[requests.cpu]"]),
        ({"cpus": "1"}, ["spec.hard[cpus]"]),
        ({"pods": "1.5"}, ["spec.hard[pods]"]),
        ({"cpu": "-1"}, ["spec.hard[cpu]"]),
    ],
)
def test_a_placement_quota_limits_what_pods_request(hard: Json, wrong: list[str]) -> None:
    quota = whole(placementquota.KIND, "zone-c", spec={"hard": hard})
    assert [text.partition(": ")[0] for text in mistakes(placementquota.KIND, quota)] == wrong


@pytest.mark.parametrize(
    ("made", "wrong"),
    [
        (reserved(), []),
        (reserved(nodeName=None, nodeSelector={}), []),
        (reserved(ttlSeconds=None, expiresAt="2026-01-01T00:00:00Z"), []),
        (reserved("mine"), ["metadata.name"]),
        (reserved(nodeSelector={}), ["spec"]),
        (reserved(nodeName=None), ["spec"]),
        (reserved(ttlSeconds=None), ["spec.ttlSeconds"]),
        (reserved(expiresAt="2026-01-01T00:00:00Z"), ["spec.ttlSeconds"]),
        (reserved(ttlSeconds=0), ["spec.ttlSeconds"]),
        (reserved(requests={}), ["spec.requests"]),
        (reserved("x", intent="No Name"), ["spec.intent", "metadata.name"]),
    ],
)
def test_a_reservation_has_a_place_a_size_and_an_end(made: Json, wrong: list[str]) -> None:
    assert [text.partition(": ")[0] for text in mistakes(reservation.KIND, made)] == wrong


def test_the_name_of_a_reservation_follows_from_owner_and_intent() -> None:
    name_of = reservation.KIND.name_of
    assert name_of is not None
    assert name_of(reserved()) == NAME
    assert name_of({"spec": {"intent": "recover"}}) == ""
    others = {reservation.name_for("u-1", "other"), reservation.name_for("u-2", "recover"), NAME}
    assert len(others) == 3


def test_a_reservation_can_be_prolonged_and_otherwise_stays_as_it_is() -> None:
    assert update_mistakes(reservation.KIND, reserved(ttlSeconds=90), reserved()) == []
    changed = reserved(requests={"cpu": "2"})
    assert update_mistakes(reservation.KIND, changed, reserved()) == [
        'spec.requests: Invalid value: {"cpu":"2"}: field is immutable'
    ]


@pytest.mark.parametrize("kind", ["PlaneSettings", "SchedulingPolicy", "PlacementQuota", "Reservation"])
def test_kubectl_explains_every_field_of_our_kinds(kind: str) -> None:
    tables = load_tables()
    left, seen = [kind], {"ObjectMeta"}
    silent = []
    while left:
        name = left.pop()
        seen.add(name)
        for field in tables[name].fields.values():
            if not field.description:
                silent.append(f"{name}.{field.name}")
            inner = field.type
            while isinstance(inner, ListOf | MapOf):
                inner = inner.item if isinstance(inner, ListOf) else inner.value
            if isinstance(inner, Ref) and inner.name not in (*seen, *left):
                left.append(inner.name)
    assert silent == []
