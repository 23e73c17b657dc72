"""The `ensure_*` library: an effect where something differs, none where nothing does."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.decision.effects import OPERATION, Json
from fairlead.decision.ensure import (
    ensure_child,
    ensure_field,
    ensure_fields,
    ensure_gone,
    ensure_status,
)
from fairlead.model.patch.merge import merge_patch
from fairlead.model.views import (
    JOBS,
    PODS,
    REPLICASETS,
    Condition,
    Job,
    JobStatus,
    Meta,
    Pod,
    ReplicaSet,
    ReplicaSetStatus,
)

OWNER = Meta("web", "owner-uid", "team", resource_version="7")
POD = Pod(Meta("web-1", "pod-uid", "team", resource_version="12"))


def test_a_missing_child_is_created_with_its_identity_in_the_owners_namespace() -> None:
    create = ensure_child(
        "me", OWNER, PODS, None, {"metadata": {"name": "web-1", "annotations": {"a": "b"}}}, "3"
    )
    assert create is not None
    assert create.identity == "me/owner-uid/create/3"
    assert create.body["metadata"] == {
        "name": "web-1",
        "namespace": "team",
        "annotations": {"a": "b", OPERATION: create.identity},
    }
    assert (create.body["apiVersion"], create.body["kind"]) == ("v1", "Pod")
    assert create.is_done(create.body)


def test_a_child_that_is_there_is_not_created_again() -> None:
    assert ensure_child("me", OWNER, PODS, POD, {"metadata": {"name": "web-1"}}, "3") is None


def test_a_deletion_is_bound_to_the_uid_and_revision_that_were_seen() -> None:
    delete = ensure_gone("me", OWNER, PODS, POD)
    assert delete is not None
    assert (delete.uid, delete.revision, delete.identity) == ("pod-uid", 12, "me/owner-uid/delete/pod-uid")


@pytest.mark.parametrize("found", [None, Pod(Meta("web-1", "u", deletion_timestamp="2024-01-01T00:00:00Z"))])
def test_what_is_gone_or_going_is_not_deleted_again(found: Pod | None) -> None:
    assert ensure_gone("me", OWNER, PODS, found) is None


def test_a_field_that_is_right_gives_no_effect() -> None:
    assert ensure_field("me", OWNER, PODS, POD, ("spec", "replicas"), 3, 3) is None


def test_a_field_that_differs_is_changed_on_the_version_that_was_seen() -> None:
    change = ensure_field("me", OWNER, PODS, POD, ("spec", "replicas"), 3, 4)
    assert change is not None
    assert (change.patch, change.uid, change.revision) == ({"spec": {"replicas": 4}}, "pod-uid", 12)
    assert change.identity == "me/owner-uid/spec.replicas/pod-uid@12"


def test_fields_change_in_one_patch_with_one_intent() -> None:
    change = ensure_fields("me", OWNER, PODS, POD, "scale", {"a": 1, "b": 1}, {"a": 1, "b": 2})
    assert change is not None
    assert change.patch == {"b": 2}
    assert change.identity.startswith("me/owner-uid/scale/")


def test_a_status_that_is_right_is_not_written() -> None:
    found = ReplicaSet(OWNER, status=ReplicaSetStatus(replicas=2, conditions=(Condition("A", "True"),)))
    assert (
        ensure_status("me", REPLICASETS, found, ReplicaSetStatus(2, conditions=(Condition("A", "True"),)))
        is None
    )


STATUSES: list[tuple[Any, Any, Any, Json]] = [
    (REPLICASETS, ReplicaSetStatus(), ReplicaSetStatus(ready_replicas=1), {"readyReplicas": 1}),
    (REPLICASETS, ReplicaSetStatus(ready_replicas=1), ReplicaSetStatus(), {"readyReplicas": None}),
    (
        REPLICASETS,
        ReplicaSetStatus(),
        ReplicaSetStatus(conditions=(Condition("A", "True", message="m"),)),
        {"conditions": [{"type": "A", "status": "True", "message": "m"}]},
    ),
    (
        JOBS,
        JobStatus(uncounted_terminated_pods={"failed": ["x"]}),
        JobStatus(uncounted_terminated_pods={"succeeded": ["y"]}),
        {"uncountedTerminatedPods": {"failed": None, "succeeded": ["y"]}},
    ),
]


@pytest.mark.parametrize(("resource", "current", "wanted", "patch"), STATUSES)
def test_a_status_is_written_where_it_differs_and_leads_to_what_is_wanted(
    resource: Any, current: Any, wanted: Any, patch: Json
) -> None:
    owner: Any = (ReplicaSet if resource is REPLICASETS else Job)(OWNER, status=current)
    effect = ensure_status("me", resource, owner, wanted)
    assert effect is not None
    assert effect.patch == {"status": patch}
    stored = merge_patch(msgspec.to_builtins(current), effect.patch["status"])
    assert msgspec.convert(stored, type(wanted)) == wanted


def test_fields_that_the_api_wants_present_are_always_written() -> None:
    found = ReplicaSet(OWNER)
    effect = ensure_status("me", REPLICASETS, found, ReplicaSetStatus(observed_generation=1), ("replicas",))
    assert effect is not None
    assert effect.patch == {"status": {"replicas": 0, "observedGeneration": 1}}
