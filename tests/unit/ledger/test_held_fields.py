"""Which fields of which objects an override holds."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.ledger.held_fields import SLICES, TABLE, HeldSubject, edited, held_fields, rows_of
from fairlead.ledger.zone_weights import NOTE
from fairlead.model.policy.override_risks import CONTROLS
from fairlead.model.views import Meta, SchedulerOverride

NOW = 1_767_225_600.0  # 2026-01-01T00:00:00Z
ZONE_A = {"topology.kubernetes.io/zone": "a"}
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-abc", "uid": "r", "controller": True}


def override(
    target: str, changes: dict[str, Any], namespace: str = "default", **more: Any
) -> SchedulerOverride:
    meta = {"name": "calm", "namespace": namespace, "uid": "o"}
    spec = {"target": target, "expiresAt": "2026-01-01T01:00:00Z", "changes": changes, **more.pop("spec", {})}
    return msgspec.convert({"metadata": meta, "spec": spec, **more}, SchedulerOverride)


def meta(name: str, namespace: str = "default", **more: Any) -> Meta:
    return msgspec.convert({"name": name, "uid": "u", "namespace": namespace, **more}, Meta)


def pod(**more: Any) -> Meta:
    return meta("web-abc-1", labels={"pod-template-hash": "abc"}, ownerReferences=[OWNER], **more)


WEB = HeldSubject("deployments.apps", meta("web"))
NODE = HeldSubject("nodes", meta("n1", "", labels=ZONE_A), "n1", ZONE_A)
POD = HeldSubject("pods", pod(), "n1", ZONE_A, 0)
PRIORITY = {"priority": {"value": 1000}}
RAISED = {"raised": [{"namespace": "default", "name": "web-abc-1", "uid": "u"}]}
WEIGHTS = {NOTE: '{"weights":{"a":0},"until":"2026-01-01T01:00:00Z","by":"default/calm"}'}

HELD: tuple[tuple[SchedulerOverride, HeldSubject, set[str]], ...] = (
    (override("deployment/web", {"pauseAutoscaler": True}), WEB, {"spec.replicas"}),
    (override("deployment/web", {"pauseExpansion": True}), WEB, {"spec.replicas"}),
    (override("workload/web", {"pauseRollout": True}), WEB, {"spec.template"}),
    (override("deployment/other", {"pauseRollout": True}), WEB, set()),
    (override("deployment/web", {"pauseRollout": True}, "shop"), WEB, set()),
    (override("deployment/web", {"pauseRepair": True}), POD, {""}),
    (override("deployment/web", {"pauseRepair": True}, spec={"scope": "zone/b"}), POD, set()),
    (override("zone/a", {"drain": True}, "kube-system"), POD, {""}),
    (override("zone/b", {"drain": True}, "kube-system"), POD, set()),
    (
        override("zone/a", {"cordon": True}, "kube-system"),
        NODE,
        {"spec.unschedulable", "spec.taints", "metadata.labels"},
    ),
    (override("zone/b", {"cordon": True}, "kube-system"), NODE, set()),
    (
        override("deployment/web", {"avoidZones": ["a"]}),
        NODE,
        {"spec.unschedulable", "spec.taints", "metadata.labels"},
    ),
    (
        override("deployment/web", {"approveRepair": {"kind": "Pod", "name": "web-abc-1", "uid": "u"}}),
        POD,
        {""},
    ),
    (
        override("deployment/web", {"approveRepair": {"kind": "Pod", "name": "web-abc-1", "uid": "x"}}),
        POD,
        set(),
    ),
    (
        override("deployment/web", {"priorityClassName": "urgent"}, spec=PRIORITY, status=RAISED),
        POD,
        {"spec.priority"},
    ),
    (override("deployment/web", {"priorityClassName": "urgent"}, spec=PRIORITY), POD, set()),
    (
        override("deployment/web", {"allowReservedCapacityClass": "recovery"}),
        HeldSubject(
            "reservations.fairlead.dev", meta("r", annotations={"fairlead.dev/override": "default/calm"})
        ),
        {"", "spec"},
    ),
    (
        override("deployment/web", {"trafficWeights": [{"zone": "a", "weight": 0}]}),
        HeldSubject(SLICES, meta("web-x", annotations=WEIGHTS)),
        {f'metadata.annotations["{NOTE}"]'},
    ),
    (
        override("deployment/web", {"trafficWeights": [{"zone": "a", "weight": 0}]}),
        HeldSubject(SLICES, meta("web-x")),
        set(),
    ),
)


def changes_of(found: SchedulerOverride) -> list[str]:
    changes = msgspec.to_builtins(found.spec.changes)
    return [field for field, value in changes.items() if value and field not in ("reservedReplicas",)]


@pytest.mark.parametrize(("found", "subject", "fields"), HELD)
def test_what_is_held_of_an_object(found: SchedulerOverride, subject: HeldSubject, fields: set[str]) -> None:
    assert {each.field for each in held_fields(found, changes_of(found), subject, NOW)} == fields
    assert held_fields(found, changes_of(found), subject, NOW + 3600) == []  # it has ended


def test_one_that_waits_for_approval_holds_nothing() -> None:
    found = override("deployment/web", {"pauseRollout": True}, spec={"approval": "many"})
    assert held_fields(found, ["pauseRollout"], WEB, NOW) == []


def test_every_control_holds_something() -> None:
    named = {each.change for each in TABLE}
    assert {field for control in CONTROLS for field in control.fields} == named


@pytest.mark.parametrize(
    ("fields", "removed", "met"),
    [
        (["spec.template.spec.containers[0].image"], False, {"spec.template"}),
        (["spec"], False, {"spec.template"}),
        (["spec.templates", "metadata.labels.a"], False, set()),
        ([], True, set()),
    ],
)
def test_an_edit_meets_what_lies_at_below_or_above_a_held_field(
    fields: list[str], removed: bool, met: set[str]
) -> None:
    rows = rows_of(["pauseRollout"], "deployments.apps")
    assert {each.field for each in edited(rows, fields, removed=removed)} == met


def test_the_removal_of_what_is_held_itself_is_an_edit_of_it() -> None:
    rows = rows_of(["pauseRepair"], "pods")
    assert [each.change for each in edited(rows, (), removed=True)] == ["pauseRepair"]
    assert edited(rows, ["metadata.labels"], removed=False) == []
