"""The catalog: every kind is there, found by each of its names, and agrees with the field tables."""

from __future__ import annotations

import pytest

from fairlead.core.problems import Problems
from fairlead.model.catalog import CATALOG, Catalog
from fairlead.model.cells import label_selector_text, labels_text
from fairlead.model.files import load_tables
from fairlead.model.kind import Kind
from fairlead.model.structure import check

TABLES = load_tables()
KINDS = {
    "Namespace",
    "Node",
    "Pod",
    "Event",
    "ConfigMap",
    "Secret",
    "ServiceAccount",
    "ResourceQuota",
    "LimitRange",
    "Service",
    "EndpointSlice",
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "CronJob",
    "HorizontalPodAutoscaler",
    "PodDisruptionBudget",
    "PriorityClass",
    "CertificateSigningRequest",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "RuntimeClass",
    "Lease",
    "PlaneSettings",
    "SchedulingPolicy",
    "PlacementQuota",
    "Reservation",
    "SchedulerOverride",
    "EvidencePolicy",
    "AuditPolicy",
    "RecordingPolicy",
    "AccessGrant",
    "ChangeFreeze",
    "ChaosExperiment",
    "ServiceLevelObjective",
    "Runbook",
    "RunbookRun",
    "FlowSchema",
    "PriorityLevelConfiguration",
    "ControllerRevision",
    "CustomResourceDefinition",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
}


# The other versions of kinds that have several, which are stored in the first of them.
OTHERS = {"HorizontalPodAutoscaler": ["autoscaling/v1"]}


def test_every_kind_is_listed() -> None:
    assert {kind.kind for kind in CATALOG} == KINDS
    assert len(CATALOG) == len(KINDS) + sum(map(len, OTHERS.values()))


@pytest.mark.parametrize("kind", tuple(CATALOG), ids=lambda kind: kind.kind)
def test_a_kind_is_found_by_each_of_its_names(kind: Kind) -> None:
    assert CATALOG.find(kind.group, kind.version, kind.plural) is kind
    assert CATALOG.by_resource(kind.group, kind.version, kind.plural) is kind
    assert CATALOG.find_kind(kind.group, kind.version, kind.kind) is kind
    if kind.api_version in OTHERS.get(kind.kind, ()):
        first = CATALOG.of_resource(kind.resource)
        assert first is not None
        assert (first.kind, first.api_version) == (kind.kind, kind.stored_api_version)
    else:
        assert CATALOG.of_resource(kind.resource) is kind


def test_unknown_kinds_are_not_found() -> None:
    assert CATALOG.find("", "v1", "bananas") is None
    assert CATALOG.find("", "v2", "pods") is None
    assert CATALOG.find_kind("apps", "v1", "Pod") is None
    assert CATALOG.of_resource("pods.apps") is None
    with pytest.raises(KeyError):
        CATALOG.by_resource("", "v1", "bananas")


def test_versions_come_in_a_stable_order_with_the_core_first() -> None:
    assert list(dict.fromkeys(group for group, _ in CATALOG.versions))[:2] == ["", "apps"]
    assert len(set(CATALOG.versions)) == len(CATALOG.versions)


def test_two_kinds_of_one_name_are_refused() -> None:
    kind = next(iter(CATALOG))
    with pytest.raises(ValueError, match="share"):
        Catalog((kind, kind))


def test_no_two_kinds_share_a_name_on_the_command_line() -> None:
    kinds = [kind for kind in CATALOG if CATALOG.of_resource(kind.resource) is kind]
    names = [name for kind in kinds for name in (kind.plural, kind.singular_name, *kind.short_names)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("kind", tuple(CATALOG), ids=lambda kind: kind.kind)
def test_a_kinds_functions_take_an_object_that_has_nothing_but_a_name(kind: Kind) -> None:
    obj = {"metadata": {"name": "x"}}
    old = {"metadata": {"name": "x"}}
    kind.defaults(obj)
    kind.defaults(old)
    problems = Problems()
    kind.validate(obj, problems)
    changes = Problems()
    kind.validate_update(obj, old, changes)
    assert changes.causes == []
    assert all(isinstance(text, str) for text in kind.warnings(obj))
    assert all(isinstance(read(obj), str) for read in kind.selectable.values())
    assert [column.name for column in kind.columns if column.cell(obj, 0.0) is None] == []


@pytest.mark.parametrize("kind", tuple(CATALOG), ids=lambda kind: kind.kind)
def test_what_defaults_add_is_in_the_field_tables(kind: Kind) -> None:
    obj = {"metadata": {"name": "x"}}
    kind.defaults(obj)
    unknown: list[str] = []
    decode = check(TABLES, kind.schema, obj, unknown=unknown, values=Problems())
    assert (unknown, decode.causes) == ([], [])


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        (None, "<none>"),
        ({}, "<none>"),
        ({"matchLabels": {"b": "2", "a": "1"}}, "a=1,b=2"),
        (
            {
                "matchLabels": {"c": "3"},
                "matchExpressions": [
                    {"key": "d", "operator": "NotIn", "values": ["y", "x"]},
                    {"key": "a", "operator": "In", "values": ["x"]},
                    {"key": "b", "operator": "Exists"},
                    {"key": "e", "operator": "DoesNotExist"},
                ],
            },
            "a in (x),b,c=3,d notin (x,y),!e",
        ),
    ],
)
def test_selectors_are_shown_as_kubectl_writes_them(selector: dict[str, object] | None, text: str) -> None:
    assert label_selector_text(selector) == text


def test_labels_are_shown_in_order() -> None:
    assert labels_text({"b": "2", "a": ""}) == "a=,b=2"
    assert labels_text(None) == "<none>"
