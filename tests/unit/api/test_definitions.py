"""The kinds of fairlead.dev as CustomResourceDefinitions: sound, complete, and able to hold what our own server takes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead.api.definitions import GROUP, definitions
from fairlead.core.problems import Problems
from fairlead.model.catalog import CATALOG
from fairlead.model.custom.structural import check_schema
from fairlead.model.files import load_tables
from fairlead.model.policy import evidence_rows
from tests.inprocess import InProcess

Json = dict[str, Any]
MADE = {each["spec"]["names"]["kind"]: each for each in definitions(load_tables())}


def test_each_of_our_kinds_has_one() -> None:
    here_only = {"Runbook", "RunbookRun"}  # whose runs nobody would advance there
    assert set(MADE) == {kind.kind for kind in CATALOG if kind.group == GROUP} - here_only


@pytest.mark.parametrize("kind", sorted(MADE))
def test_its_schema_is_structural_and_has_a_status_where_the_kind_has(kind: str) -> None:
    (version,) = MADE[kind]["spec"]["versions"]
    problems = Problems()
    check_schema(version["schema"]["openAPIV3Schema"], "schema", problems)
    assert not problems.causes
    (known,) = [each for each in CATALOG if each.kind == kind and each.group == GROUP]
    assert ("status" in version.get("subresources", {})) is ("status" in known.subresources)
    properties = version["schema"]["openAPIV3Schema"]["properties"]
    assert set(properties) == set(load_tables()[known.schema].fields)


def test_where_one_is_installed_it_holds_what_our_own_server_begins_with() -> None:
    """Under the name of another group, because ours is served already."""
    plane = InProcess()
    other = json.loads(json.dumps(MADE["EvidencePolicy"]))
    other["metadata"]["name"], other["spec"]["group"] = "evidencepolicies.example.org", "example.org"
    status, made = plane.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", other)
    assert status == 201, made
    policy: Json = {"apiVersion": "example.org/v1", "kind": "EvidencePolicy", "metadata": {"name": "default"}}
    policy["spec"] = evidence_rows.default_spec()
    status, kept = plane.post("/apis/example.org/v1/evidencepolicies", policy)
    assert status == 201, kept
    assert kept["spec"] == policy["spec"], "nothing of it is dropped"
    wrong = {**policy, "metadata": {"name": "wrong"}, "spec": {"rows": "none"}}
    assert plane.post("/apis/example.org/v1/evidencepolicies", wrong)[0] == 422
