"""The roles that every plane has: what a start adds to them, what it leaves, and what each is for."""

from __future__ import annotations

import copy

import pytest

from fairlead.api.access.rbac.default_roles import AUTOUPDATE, completed, default_bindings, default_roles
from fairlead.model.catalog import CATALOG
from fairlead.model.kind import Json
from tests.unit.api.access.granting import change_of, default_grants
from tests.unit.api.access.rbac.notation import binding, rules, subject, user
from tests.unit.api.access.test_authz import asked

ROLES = {each["metadata"]["name"]: each for each in default_roles(CATALOG)}
BINDINGS = {each["metadata"]["name"]: each for each in default_bindings()}


def _changed(obj: Json, **fields: object) -> Json:
    return {**copy.deepcopy(obj), **fields}


@pytest.mark.parametrize("name", sorted(ROLES))
def test_nothing_is_missing_from_what_was_just_made(name: str) -> None:
    assert completed(ROLES[name], ROLES[name]) == {}


@pytest.mark.parametrize("name", sorted(BINDINGS))
def test_nothing_is_missing_from_bindings_that_were_just_made(name: str) -> None:
    assert completed(BINDINGS[name], BINDINGS[name]) == {}


def test_rules_that_were_taken_out_come_back_and_added_ones_stay() -> None:
    wanted = ROLES["system:basic-user"]
    found = _changed(wanted, rules=[wanted["rules"][0], *rules("get pods")])
    assert completed(found, wanted) == {"rules": [wanted["rules"][0], *rules("get pods"), wanted["rules"][1]]}


def test_a_rule_that_others_cover_is_not_missing() -> None:
    wanted = ROLES["system:auth-delegator"]
    assert completed(_changed(wanted, rules=rules("* * @*")), wanted) == {}


def test_subjects_and_labels_come_back_and_added_ones_stay() -> None:
    wanted = BINDINGS["system:public-info-viewer"]
    found = _changed(wanted, subjects=[subject("User/ada"), wanted["subjects"][1]])
    del found["metadata"]["labels"]
    assert completed(found, wanted) == {
        "subjects": [*found["subjects"], wanted["subjects"][0]],
        "metadata": {"labels": wanted["metadata"]["labels"]},
    }


def test_a_label_that_was_set_otherwise_stays() -> None:
    wanted = ROLES["edit"]
    found = copy.deepcopy(wanted)
    key = "rbac.authorization.k8s.io/aggregate-to-admin"
    found["metadata"]["labels"][key] = "false"
    assert completed(found, wanted) == {}


@pytest.mark.parametrize("wanted", [ROLES["cluster-admin"], BINDINGS["cluster-admin"]])
def test_what_says_that_it_is_not_to_be_touched_is_not(wanted: Json) -> None:
    found = _changed(wanted, rules=[], subjects=[])
    assert completed(found, wanted)
    found["metadata"]["annotations"] = {AUTOUPDATE: "false"}
    assert completed(found, wanted) == {}


def test_the_rules_of_a_gathering_role_are_left_to_who_gathers_them() -> None:
    assert completed(_changed(ROLES["view"], rules=[]), ROLES["view"]) == {}


MAY = [
    ("view", "get", "pods", True),
    ("view", "get", "pods:log", True),
    ("view", "list", "configmaps", True),
    ("view", "get", "secrets", False),
    ("view", "create", "pods", False),
    ("view", "get", "rbac.authorization.k8s.io/roles", False),
    ("view", "get", "resourcequotas", True),
    ("edit", "get", "pods", True),
    ("edit", "create", "apps/deployments", True),
    ("edit", "update", "apps/deployments:scale", True),
    ("edit", "delete", "secrets", True),
    ("edit", "create", "pods:eviction", True),
    ("edit", "patch", "resourcequotas", False),
    ("edit", "patch", "fairlead.dev/placementquotas", False),
    ("edit", "create", "rbac.authorization.k8s.io/rolebindings", False),
    ("edit", "create", "pods:binding", False),
    ("edit", "update", "pods:status", False),
    ("admin", "create", "rbac.authorization.k8s.io/rolebindings", True),
    ("admin", "create", "rbac.authorization.k8s.io/clusterroles", False),
    ("admin", "patch", "apps/deployments", True),
    ("admin", "patch", "resourcequotas", False),
    ("admin", "create", "authorization.k8s.io/localsubjectaccessreviews", True),
    ("cluster-admin", "deletecollection", "example.com/anything", True),
]


@pytest.mark.parametrize(("name", "verb", "what", "allowed"), MAY)
def test_what_people_bind_in_namespaces(name: str, verb: str, what: str, allowed: bool) -> None:
    grants = default_grants()
    bound = binding("ada", f"ClusterRole/{name}", [subject("User/ada")], "default")
    assert grants.observe([change_of(bound)]) == []
    assert grants.authorize(asked(user("ada"), verb, what, "x")).allowed is allowed
    assert not grants.authorize(asked(user("ada"), verb, what, "x", "other")).allowed
    assert not grants.authorize(asked(user("ada"), verb, what, "x", "")).allowed
