"""Roles that are made of others: what a gathering role has, when it follows, and the role of each custom kind."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.control.roster import serving_deciders
from fairlead.model.kind import Json
from fairlead.reconcile.role_aggregation import CLUSTER_ROLES, role_aggregation_decider
from fairlead.reconcile.viewer_role import viewer_role_decider
from tests.inprocess import InProcess
from tests.unit.api.access.rbac.notation import role, rules
from tests.unit.control.driving import Driver

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def _gathering(name: str, *selectors: Json, labels: dict[str, str] | None = None, text: str = "") -> Json:
    return {**role(name, text, labels=labels), "aggregationRule": {"clusterRoleSelectors": list(selectors)}}


def _labelled(name: str, text: str, **labels: str) -> Json:
    return role(name, text, labels=labels)


TO_ALL: Json = {"matchLabels": {"to": "all"}}


@pytest.fixture
def driver() -> Driver:
    driver = Driver(InProcess(), deciders=serving_deciders())
    driver.run(10)
    return driver


def _make(driver: Driver, *roles: Json) -> None:
    for each in roles:
        status, answer = driver.api.post(ROLES, each)
        assert status == 201, answer
    driver.run(5)


def _rules(driver: Driver, name: str) -> Any:
    return driver.api.get(f"{ROLES}/{name}")[1].get("rules") or []


def test_a_gathering_role_has_the_rules_of_those_that_it_selects_by_name_and_once(driver: Driver) -> None:
    _make(
        driver,
        _labelled("b", "get pods ; get secrets", to="all"),
        _gathering("whole", TO_ALL, text="delete everything"),
        _labelled("a", "get nodes ; get pods", to="all"),
        _labelled("other", "get events", to="some"),
        _labelled("none", "get leases"),
    )
    assert _rules(driver, "whole") == rules("get nodes ; get pods ; get secrets")


def test_selectors_count_in_their_order_and_any_may_match(driver: Driver) -> None:
    expression = {"matchExpressions": [{"key": "to", "operator": "In", "values": ["first"]}]}
    _make(
        driver,
        _labelled("a", "get nodes", to="all"),
        _labelled("z", "get pods", to="first"),
        _gathering("whole", expression, TO_ALL),
    )
    assert _rules(driver, "whole") == rules("get pods ; get nodes")


def test_it_follows_rules_labels_and_deletions(driver: Driver) -> None:
    _make(
        driver, _gathering("whole", TO_ALL), _labelled("a", "get pods", to="all"), _labelled("b", "get nodes")
    )
    driver.api.patch(f"{ROLES}/a", {"rules": rules("list pods")})
    driver.run(5)
    assert _rules(driver, "whole") == rules("list pods")
    driver.api.patch(f"{ROLES}/b", {"metadata": {"labels": {"to": "all"}}})
    driver.run(5)
    assert _rules(driver, "whole") == rules("list pods ; get nodes")
    driver.api.patch(f"{ROLES}/a", {"metadata": {"labels": {"to": None}}})
    driver.run(5)
    assert _rules(driver, "whole") == rules("get nodes")
    driver.api.delete(f"{ROLES}/b")
    driver.run(5)
    assert _rules(driver, "whole") == []


def test_what_is_written_into_it_by_hand_is_replaced(driver: Driver) -> None:
    _make(driver, _gathering("whole", TO_ALL), _labelled("a", "get pods", to="all"))
    driver.api.patch(f"{ROLES}/whole", {"rules": rules("* *")})
    driver.run(5)
    assert _rules(driver, "whole") == rules("get pods")


def test_a_role_that_gathers_no_more_keeps_what_it_has(driver: Driver) -> None:
    _make(driver, _gathering("whole", TO_ALL), _labelled("a", "get pods", to="all"))
    driver.api.patch(f"{ROLES}/whole", {"aggregationRule": None})
    driver.api.delete(f"{ROLES}/a")
    driver.run(5)
    assert _rules(driver, "whole") == rules("get pods")


def test_gathering_roles_gather_each_other_and_come_to_rest(driver: Driver) -> None:
    _make(
        driver,
        _gathering("outer", {"matchLabels": {"to": "outer"}}),
        _gathering("inner", TO_ALL, labels={"to": "outer"}),
        _gathering("ring", {"matchLabels": {"to": "ring"}}, labels={"to": "ring"}),
        _gathering("gnir", {"matchLabels": {"to": "ring"}}, labels={"to": "ring"}),
        _labelled("a", "get pods", to="all"),
    )
    assert _rules(driver, "inner") == _rules(driver, "outer") == rules("get pods")
    assert _rules(driver, "ring") == _rules(driver, "gnir") == []
    before = driver.api.get(ROLES)[1]["items"]
    driver.run(60)
    assert driver.api.get(ROLES)[1]["items"] == before


def test_what_it_declares() -> None:
    decider = role_aggregation_decider()
    assert decider.reads == (CLUSTER_ROLES,)
    assert {each.name for each in viewer_role_decider().reads} == {
        CLUSTER_ROLES.name,
        "customresourcedefinitions.apiextensions.k8s.io",
    }


def _definition(plural: str = "widgets", group: str = "example.com") -> Json:
    schema = {"openAPIV3Schema": {"type": "object"}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": plural.title()},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


NAME = "fairlead:viewer:widgets.example.com"


def test_a_definition_has_a_role_that_reads_its_objects_and_takes_it_along(driver: Driver) -> None:
    assert driver.api.post(DEFINITIONS, _definition())[0] == 201
    driver.run(5)
    made = driver.api.get(f"{ROLES}/{NAME}")[1]
    resources = "widgets,widgets/status,widgets/scale"
    (rule,) = made["rules"]
    assert rule == rules(f"get,list,watch {resources} @example.com")[0]
    assert made["metadata"]["labels"] == {"rbac.fairlead.dev/aggregate-to-viewer": "true"}
    assert driver.api.delete(f"{DEFINITIONS}/widgets.example.com")[0] == 200
    driver.run(60)
    assert driver.api.get(f"{ROLES}/{NAME}")[0] == 404


def test_the_role_is_made_again_but_what_was_changed_in_it_stays(driver: Driver) -> None:
    driver.api.post(DEFINITIONS, _definition())
    driver.run(5)
    driver.api.patch(f"{ROLES}/{NAME}", {"rules": [], "metadata": {"labels": None}})
    driver.run(5)
    assert _rules(driver, NAME) == []
    driver.api.delete(f"{ROLES}/{NAME}")
    driver.run(5)
    assert len(_rules(driver, NAME)) == 1


def test_the_viewer_reads_it_from_then_on(driver: Driver) -> None:
    _make(
        driver,
        _gathering("fairlead:viewer", {"matchLabels": {"rbac.fairlead.dev/aggregate-to-viewer": "true"}}),
    )
    driver.api.post(DEFINITIONS, _definition())
    driver.run(5)
    assert ["example.com"] in [each["apiGroups"] for each in _rules(driver, "fairlead:viewer")]
