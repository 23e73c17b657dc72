"""CustomResourceDefinitions through the API: what is refused, what follows from it, and names that others have."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from fairlead.api.admission import definitions
from fairlead.api.plan import AGAIN, Plan
from fairlead.port.request import Reply, Request
from tests.inprocess import InProcess
from tests.unit.api.custom.definitions import CRDS, CRONTABS, GROUP, Json, crontab, definition, version

NAME = f"crontabs.{GROUP}"


def put(obj: Json, path: str, value: Any) -> Json:
    """A copy with one field set, or removed for None."""
    found: Any = copy.deepcopy(obj)
    at = found
    *parents, last = path.split("/")
    for part in parents:
        at = at[int(part)] if part.isdecimal() else at.setdefault(part, {})
    if value is None:
        at.pop(last)
    else:
        at[last] = value
    return found  # type: ignore[no-any-return]


def causes(reply: tuple[int, Any]) -> list[str]:
    status, found = reply
    assert status == 422, found
    return [f"{each['field']}: {each['message']}" for each in found["details"]["causes"]]


def conditions(plane: InProcess, name: str = NAME) -> dict[str, tuple[str, str, str]]:
    found = plane.get(f"{CRDS}/{name}")[1]["status"]["conditions"]
    return {each["type"]: (each["status"], each["reason"], each["message"]) for each in found}


V = "spec/versions/0"
AT = "spec.versions[0]"


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("metadata/name", "x.example.com", ['metadata.name: Invalid value: "x.example.com": must be spec.names.plural+"."+spec.group']),
        ("spec/group", "example", [
            'metadata.name: Invalid value: "crontabs.example.com": must be spec.names.plural+"."+spec.group',
            'spec.group: Invalid value: "example": should be a domain with at least one dot',
        ]),
        ("spec/scope", "Everywhere", ['spec.scope: Unsupported value: "Everywhere": supported values: "Cluster", "Namespaced"']),
        ("spec/names/listKind", "CronTab", ['spec.names.listKind: Invalid value: "CronTab": kind and listKind may not be the same']),
        ("spec/preserveUnknownFields", True, ["spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"]),
        ("spec/conversion", {"strategy": "Webhook"}, ["spec.conversion.strategy: Forbidden: conversion webhooks are not supported here; use None, with one schema for all versions"]),
        ("spec/versions", [version(), version()], [
            'spec.versions: Invalid value: ["v1","v1"]: must contain unique version names',
            'spec.versions: Invalid value: ["v1","v1"]: must have exactly one version marked as storage version',
        ]),
        (f"{V}/storage", False, ['spec.versions: Invalid value: ["v1"]: must have exactly one version marked as storage version']),
        (f"{V}/schema", None, [f"{AT}.schema.openAPIV3Schema: Required value: schemas are required"]),
        (f"{V}/deprecationWarning", "old", [f'{AT}.deprecationWarning: Invalid value: "old": can only be set for deprecated versions']),
        (f"{V}/subresources", {"scale": {"specReplicasPath": ".status.n", "statusReplicasPath": "status[0]"}}, [
            f'{AT}.subresources.scale.specReplicasPath: Invalid value: ".status.n": should be a json path under .spec',
            f'{AT}.subresources.scale.statusReplicasPath: Invalid value: "status[0]": must be a json path without array notation, and begin with a dot',
        ]),
        (f"{V}/additionalPrinterColumns", [{"name": "A", "type": "text", "jsonPath": "x"}], [
            f'{AT}.additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string',
            f"{AT}.additionalPrinterColumns[0].jsonPath: Invalid value: \"x\": unrecognized characters in the path: 'x'",
        ]),
        (f"{V}/selectableFields", [{"jsonPath": ".spec.none"}, {"jsonPath": ".metadata.name"}], [
            f'{AT}.selectableFields[0].jsonPath: Invalid value: ".spec.none": is an invalid path: must point to a field of type string, boolean or integer of the schema',
            f'{AT}.selectableFields[1].jsonPath: Invalid value: ".metadata.name": must not point to fields in metadata',
        ]),
        (f"{V}/schema/openAPIV3Schema/properties/spec/type", None, [f"{AT}.schema.openAPIV3Schema.properties[spec].type: Required value: must not be empty for specified object fields"]),
    ],
)  # fmt: skip
def test_what_a_definition_may_not_say(path: str, value: Any, expected: list[str]) -> None:
    assert causes(InProcess().post(CRDS, put(definition(), path, value))) == expected


def test_a_group_of_kubernetes_needs_its_approval() -> None:
    wanted = definition()
    wanted["spec"]["group"], wanted["metadata"]["name"] = "x.k8s.io", "crontabs.x.k8s.io"
    (said,) = causes(InProcess().post(CRDS, wanted))
    assert said.startswith(
        "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups"
    )


def test_the_answer_to_a_definition_says_that_it_is_established() -> None:
    plane = InProcess()
    status, made = plane.post(CRDS, definition(singular=None))
    assert status == 201, made
    assert made["spec"]["names"]["singular"] == made["status"]["acceptedNames"]["singular"] == "crontab"
    assert made["status"]["acceptedNames"]["listKind"] == "CronTabList"
    assert made["status"]["storedVersions"] == ["v1"]
    assert conditions(plane)["Established"] == (
        "True", "InitialNamesAccepted", "the initial names have been accepted",
    )  # fmt: skip
    assert conditions(plane)["NamesAccepted"] == ("True", "NoConflicts", "no conflicts found")
    assert plane.post(CRONTABS, crontab())[0] == 201


@pytest.mark.parametrize(
    ("names", "reason", "message"),
    [
        ({"kind": "CronTab"}, "ListKindConflict", '"CronTabList" is already in use'),
        ({"kind": "CronTab", "listKind": "Ys"}, "KindConflict", '"CronTab" is already in use'),
        ({"singular": "crontab"}, "SingularConflict", '"crontab" is already in use'),
        ({"shortNames": ["ct", "y"]}, "ShortNamesConflict", '"ct" is already in use'),
    ],
)
def test_names_that_another_has_are_not_accepted(names: Json, reason: str, message: str) -> None:
    plane = InProcess()
    plane.post(CRDS, definition())
    second = definition(**{"plural": "ys", "singular": "y", "kind": "Y", "shortNames": [], **names})
    assert plane.post(CRDS, second)[0] == 201
    told = conditions(plane, f"ys.{GROUP}")
    assert told["NamesAccepted"] == ("False", reason, message)
    assert told["Established"] == ("False", "NotAccepted", "not all names are accepted")
    assert plane.get(f"/apis/{GROUP}/v1/namespaces/default/ys")[0] == 404


def test_what_may_not_change() -> None:
    plane = InProcess()
    plane.post(CRDS, definition())
    changed = definition(scope="Cluster", kind="Other")
    changed["spec"]["names"]["listKind"] = "OtherList"
    assert causes(plane.put(f"{CRDS}/{NAME}", changed)) == [
        'spec.scope: Invalid value: "Cluster": field is immutable',
        'spec.names.kind: Invalid value: "Other": field is immutable',
    ]
    stored = definition(version("v2", storage=True))
    assert causes(plane.put(f"{CRDS}/{NAME}", stored)) == [
        'status.storedVersions[0]: Invalid value: "v1": must appear in spec.versions'
    ]


def test_nobody_writes_names_and_conditions_but_the_server() -> None:
    plane = InProcess()
    plane.post(CRDS, definition())
    wanted = {
        "status": {"acceptedNames": {"kind": "Other"}, "storedVersions": ["v1", "v0"], "conditions": []}
    }
    status, after = plane.patch(f"{CRDS}/{NAME}/status", wanted, "merge-patch")
    assert status == 200
    assert after["status"]["acceptedNames"]["kind"] == "CronTab"
    assert after["status"]["storedVersions"] == ["v1", "v0"]
    assert conditions(plane)["Established"][0] == "True"


def test_there_are_not_more_definitions_than_a_server_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(definitions, "DEFINITIONS_MAX", 1)
    plane = InProcess()
    plane.post(CRDS, definition())
    status, found = plane.post(CRDS, definition(plural="ys", singular="y", kind="Y", shortNames=[]))
    assert (status, found["reason"]) == (403, "Forbidden")


def test_a_start_finds_what_is_stored() -> None:
    """Also when two came at the same moment and want the same names: the first has them."""
    plane = InProcess()
    plane.post(CRDS, definition())
    plane.post(CRONTABS, crontab())
    plane.desk.catalog.withdraw(NAME)  # type: ignore[attr-defined]
    assert plane.get(CRONTABS)[0] == 404
    fresh = type(plane.custom)(plane.desk.catalog, plane.desk.tables)  # type: ignore[arg-type]
    assert fresh.learn(plane.store) == []
    assert [each["metadata"]["name"] for each in plane.get(CRONTABS)[1]["items"]] == ["a"]


def test_of_two_that_claim_a_name_at_the_same_moment_one_gets_it() -> None:
    plane = InProcess()
    plans = []
    for wanted in (definition(), definition(plural="ys", singular="y", kind="Y")):
        body = json.dumps(wanted).encode()
        plan = plane.plan(
            Request("create", "apiextensions.k8s.io", "v1", "customresourcedefinitions", body=body)
        )
        assert isinstance(plan, Plan)
        plans.append(plan)
    first, second = plans  # both were decided before either was committed
    assert isinstance(first.finish(plane.commit(first.transaction)), Reply)
    assert second.finish(plane.commit(second.transaction)) is AGAIN
