"""FlowSchemas and PriorityLevelConfigurations: defaults, each rule of validation, columns."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairlead.api.flow.defaults import default_levels, default_schemas
from fairlead.model.kind import Json
from fairlead.model.kinds import flowschema, prioritylevelconfiguration
from tests.samples import SAMPLES
from tests.unit.model.kinds.workload_objects import defaulted, mistakes, row, whole

SCHEMA, LEVEL = flowschema.KIND, prioritylevelconfiguration.KIND
QUEUING = ("limited", "limitResponse", "queuing")


def level(name: str = "batch", **spec: Any) -> Json:
    return whole(LEVEL, name, spec=copy.deepcopy(SAMPLES["PriorityLevelConfiguration"]["spec"]) | spec)


def limited(**fields: Any) -> Json:
    """A level of which these fields of `limited` are others; of `queuing`, with that."""
    made = level()
    queuing = fields.pop("queuing", {})
    made["spec"]["limited"].update(fields)
    if queuing:
        made["spec"]["limited"]["limitResponse"]["queuing"].update(queuing)
    return made


def schema(name: str = "robots", **spec: Any) -> Json:
    return whole(SCHEMA, name, spec=copy.deepcopy(SAMPLES["FlowSchema"]["spec"]) | spec)


def rule(**fields: Any) -> Json:
    made: Json = copy.deepcopy(SAMPLES["FlowSchema"]["spec"]["rules"][0])
    return schema(rules=[made | fields])


def resource_rule(**fields: Any) -> Json:
    given = rule()["spec"]["rules"][0]["resourceRules"][0] | fields
    return rule(resourceRules=[given])


def test_what_every_plane_has_is_valid_and_complete() -> None:
    for kind, objects in ((LEVEL, default_levels()), (SCHEMA, default_schemas())):
        for obj in objects:
            made = whole(kind, obj["metadata"]["name"], spec=copy.deepcopy(obj["spec"]))
            assert mistakes(kind, made) == []
            assert defaulted(kind, made)["spec"] == obj["spec"], (
                "what a start puts right must be what is stored"
            )
    levels = {obj["metadata"]["name"] for obj in default_levels()}
    assert {obj["spec"]["priorityLevelConfiguration"]["name"] for obj in default_schemas()} == levels


def test_defaults_of_levels() -> None:
    queue = {"type": "Queue", "queuing": {}}
    made = defaulted(LEVEL, whole(LEVEL, "a", spec={"type": "Limited", "limited": {"limitResponse": queue}}))
    assert made["spec"]["limited"] == {
        "nominalConcurrencyShares": 30,
        "lendablePercent": 0,
        "limitResponse": {"type": "Queue", "queuing": {"queues": 64, "handSize": 8, "queueLengthLimit": 50}},
    }
    exempt = defaulted(LEVEL, whole(LEVEL, "exempt", spec={"type": "Exempt"}))
    assert exempt["spec"]["exempt"] == {"nominalConcurrencyShares": 0, "lendablePercent": 0}


def test_defaults_of_schemas() -> None:
    assert defaulted(SCHEMA, schema(matchingPrecedence=0))["spec"]["matchingPrecedence"] == 1000


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (level(type="Other"), "spec.type"),
        (level(type="Exempt"), "spec.limited"),
        (level(limited=None), "spec.limited"),
        (level(exempt={}), "spec.exempt"),
        (level("exempt"), "spec.type"),
        (whole(LEVEL, "mine", spec={"type": "Exempt"}), "spec.type"),
        (level("catch-all"), "spec"),
        (limited(nominalConcurrencyShares=-1), "spec.limited.nominalConcurrencyShares"),
        (limited(lendablePercent=101), "spec.limited.lendablePercent"),
        (limited(borrowingLimitPercent=-1), "spec.limited.borrowingLimitPercent"),
        (limited(limitResponse={"type": "Drop"}), "spec.limited.limitResponse.type"),
        (limited(limitResponse={"type": "Queue"}), "spec.limited.limitResponse.queuing"),
        (limited(limitResponse={"type": "Reject", "queuing": {}}), "spec.limited.limitResponse.queuing"),
        (limited(queuing={"queues": -1}), "spec.limited.limitResponse.queuing.queues"),
        (limited(queuing={"queues": 10_000_001}), "spec.limited.limitResponse.queuing.queues"),
        (limited(queuing={"handSize": 17}), "spec.limited.limitResponse.queuing.handSize"),
        (limited(queuing={"queues": 1000, "handSize": 20}), "spec.limited.limitResponse.queuing.handSize"),
        (limited(queuing={"queueLengthLimit": -2}), "spec.limited.limitResponse.queuing.queueLengthLimit"),
    ],
)
def test_what_is_wrong_with_a_level_is_told_by_its_field(given: Json, field: str) -> None:
    assert field in [each.partition(": ")[0] for each in mistakes(LEVEL, given)]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (schema(matchingPrecedence=10_001), "spec.matchingPrecedence"),
        (schema(matchingPrecedence=-1), "spec.matchingPrecedence"),
        (schema(matchingPrecedence=1), "spec.matchingPrecedence"),
        (schema(distinguisherMethod={"type": "ByMood"}), "spec.distinguisherMethod.type"),
        (schema(priorityLevelConfiguration={"name": ""}), "spec.priorityLevelConfiguration.name"),
        (schema(priorityLevelConfiguration={"name": "A B"}), "spec.priorityLevelConfiguration.name"),
        (schema("catch-all"), "spec"),
        (schema(rules=[rule()["spec"]["rules"][0]] * 257), "spec.rules"),
        (rule(subjects=[]), "spec.rules[0].subjects"),
        (rule(resourceRules=[], nonResourceRules=[]), "spec.rules[0]"),
        (rule(subjects=[{"kind": "Robot"}]), "spec.rules[0].subjects[0].kind"),
        (rule(subjects=[{"kind": "User"}]), "spec.rules[0].subjects[0].user"),
        (rule(subjects=[{"kind": "User", "user": {"name": ""}}]), "spec.rules[0].subjects[0].user.name"),
        (
            rule(subjects=[{"kind": "User", "user": {"name": "a"}, "group": {"name": "b"}}]),
            "spec.rules[0].subjects[0].group",
        ),
        (
            rule(subjects=[{"kind": "ServiceAccount", "serviceAccount": {"name": "a", "namespace": ""}}]),
            "spec.rules[0].subjects[0].serviceAccount.namespace",
        ),
        (resource_rule(verbs=[]), "spec.rules[0].resourceRules[0].verbs"),
        (resource_rule(verbs=["*", "get"]), "spec.rules[0].resourceRules[0].verbs"),
        (resource_rule(verbs=["look"]), "spec.rules[0].resourceRules[0].verbs[0]"),
        (resource_rule(apiGroups=[]), "spec.rules[0].resourceRules[0].apiGroups"),
        (resource_rule(resources=["*", "pods"]), "spec.rules[0].resourceRules[0].resources"),
        (resource_rule(namespaces=[], clusterScope=False), "spec.rules[0].resourceRules[0].namespaces"),
        (
            rule(nonResourceRules=[{"verbs": ["look"], "nonResourceURLs": ["/a"]}]),
            "spec.rules[0].nonResourceRules[0].verbs[0]",
        ),
        *(
            (
                rule(nonResourceRules=[{"verbs": ["get"], "nonResourceURLs": [url]}]),
                "spec.rules[0].nonResourceRules[0].nonResourceURLs[0]",
            )
            for url in ("metrics", "/a b", "/a//b", "/a*", "/*/b/*")
        ),
    ],
)
def test_what_is_wrong_with_a_schema_is_told_by_its_field(given: Json, field: str) -> None:
    assert field in [each.partition(": ")[0] for each in mistakes(SCHEMA, given)]


def test_the_samples_have_no_mistakes() -> None:
    assert mistakes(SCHEMA, schema()) == mistakes(LEVEL, level()) == []


def test_columns_are_those_of_kubectl() -> None:
    assert [column.name for column in SCHEMA.columns] == [
        "PriorityLevel",
        "MatchingPrecedence",
        "DistinguisherMethod",
        "Age",
        "MissingPL",
    ]
    dangling = schema() | {"status": {"conditions": [{"type": "Dangling", "status": "True"}]}}
    assert [*row(SCHEMA, dangling).values()][:3] == ["batch", 700, "ByUser"]
    assert (row(SCHEMA, dangling)["MissingPL"], row(SCHEMA, schema())["MissingPL"]) == ("True", "?")
    assert [column.name for column in LEVEL.columns] == [
        "Type",
        "NominalConcurrencyShares",
        "Queues",
        "HandSize",
        "QueueLengthLimit",
        "Age",
    ]
    assert [*row(LEVEL, level()).values()][:5] == ["Limited", "15", "16", "4", "20"]
