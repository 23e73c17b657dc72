"""Metadata of every kind: names, labels, annotations, owners, finalizers."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.problems import Problems
from fairlead.model.kinds.namespace import KIND as NAMESPACE
from fairlead.model.kinds.pod.kind import KIND as POD
from fairlead.model.kinds.service import KIND as SERVICE
from fairlead.model.metadata import metadata_warnings, validate_metadata, validate_metadata_update

Json = dict[str, Any]
OWNER: Json = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}


def causes(kind: Any = POD, **metadata: Any) -> list[str]:
    problems = Problems()
    validate_metadata(kind, {"metadata": {"name": "p", "namespace": "default", **metadata}}, problems)
    return [f"{cause.field}: {cause.message}" for cause in problems.causes]


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"name": "a.b-c"},
        {"name": None, "generateName": "web-"},
        {"labels": {"app": "web", "example.com/Name": "", "a_b": "C.d"}},
        {"annotations": {"Example.com/any": "free text\n", "k": ""}},
        {"ownerReferences": [OWNER, {**OWNER, "controller": False}]},
        {"finalizers": ["example.com/hold", "orphan"]},
    ],
)
def test_good_metadata_passes(metadata: Json) -> None:
    assert causes(**metadata) == []


@pytest.mark.parametrize(
    ("metadata", "wanted"),
    [
        ({"name": None}, "metadata.name: Required value: name or generateName is required"),
        ({"name": "A"}, 'metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain'),
        ({"name": "a" * 254}, "metadata.name: Invalid value: "),
        (
            {"generateName": "A-"},
            'metadata.generateName: Invalid value: "A-": a lowercase RFC 1123 subdomain',
        ),
        ({"namespace": ""}, "metadata.namespace: Required value"),
        ({"namespace": "a.b"}, 'metadata.namespace: Invalid value: "a.b": a lowercase RFC 1123 label'),
        ({"labels": {"a b": "c"}}, 'metadata.labels: Invalid value: "a b": name part must consist of'),
        ({"labels": {"a": "b c"}}, 'metadata.labels: Invalid value: "b c": a valid label must be'),
        ({"annotations": {"a b": "c"}}, 'metadata.annotations: Invalid value: "a b": name part'),
        (
            {"annotations": {"a": "é" * (128 * 1024)}},
            "metadata.annotations: Too long: may not be more than 262144 bytes",
        ),
        (
            {"ownerReferences": [{**OWNER, "apiVersion": ""}]},
            'metadata.ownerReferences[0].apiVersion: Invalid value: "": version must not be empty',
        ),
        (
            {"ownerReferences": [{**OWNER, "uid": ""}]},
            'metadata.ownerReferences[0].uid: Invalid value: "": must not be empty',
        ),
        (
            {"ownerReferences": [{**OWNER, "apiVersion": "v1", "kind": "Event"}]},
            "metadata.ownerReferences[0]: Invalid value: ",
        ),
        ({"ownerReferences": [OWNER, {**OWNER, "name": "s"}]}, "metadata.ownerReferences: Invalid value: "),
        ({"finalizers": ["a b"]}, 'metadata.finalizers: Invalid value: "a b": name part'),
        ({"finalizers": ["orphan", "foregroundDeletion"]}, "metadata.finalizers: Invalid value: "),
    ],
)
def test_bad_metadata_is_named(metadata: Json, wanted: str) -> None:
    found = causes(**metadata)
    assert len(found) == 1
    assert found[0].startswith(wanted)


def test_annotations_of_exactly_the_limit_pass() -> None:
    assert causes(annotations={"a": "x" * (256 * 1024 - 1)}) == []
    assert causes(annotations={"a": "x" * (256 * 1024)}) != []


def test_two_controllers_are_named() -> None:
    (found,) = causes(ownerReferences=[OWNER, {**OWNER, "name": "s"}])
    assert found.endswith('Found "true" in references for r and s')


def test_a_kind_brings_its_own_rule_for_names() -> None:
    assert causes(SERVICE, name="1a")[0].startswith('metadata.name: Invalid value: "1a": a DNS-1035 label')
    assert causes(POD, name="1a") == []


def test_cluster_wide_objects_have_no_namespace() -> None:
    assert causes(NAMESPACE, name="n") == ["metadata.namespace: Forbidden: not allowed on this type"]
    assert causes(NAMESPACE, name="n", namespace=None) == []


BEFORE: Json = {"name": "p", "namespace": "d", "uid": "u", "creationTimestamp": "t"}


@pytest.mark.parametrize("field", ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp"])
def test_identity_never_changes(field: str) -> None:
    problems = Problems()
    validate_metadata_update({"metadata": {**BEFORE, field: "x"}}, {"metadata": BEFORE}, problems)
    assert [(cause.field, cause.message) for cause in problems.causes] == [
        (f"metadata.{field}", 'Invalid value: "x": field is immutable')
    ]


def test_finalizers_only_go_while_an_object_is_being_deleted() -> None:
    deleting = {**BEFORE, "deletionTimestamp": "t", "finalizers": ["a/b", "c/d"]}
    problems = Problems()
    validate_metadata_update(
        {"metadata": {**deleting, "finalizers": ["a/b"]}}, {"metadata": deleting}, problems
    )
    assert not problems
    validate_metadata_update(
        {"metadata": {**deleting, "finalizers": ["e/f"]}}, {"metadata": deleting}, problems
    )
    assert problems.summary() == (
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
        'found new finalizers []string{"e/f"}'
    )


def test_grace_changes_through_deletion_only() -> None:
    problems = Problems()
    new = {"metadata": {**BEFORE, "deletionGracePeriodSeconds": 5}}
    validate_metadata_update(new, {"metadata": BEFORE}, problems)
    assert "may only be changed via deletion" in problems.summary()


def test_finalizers_without_a_domain_are_warned_about() -> None:
    (found,) = metadata_warnings({"metadata": {"finalizers": ["mine", "orphan", "example.com/mine"]}})
    assert found.startswith('metadata.finalizers: "mine": prefer a domain-qualified finalizer name')
