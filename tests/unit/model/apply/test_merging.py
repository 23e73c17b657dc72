"""Configurations merged into objects: what is replaced, what is kept, and in which order items come."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.apply.elements import UndecodableError
from fairlead.model.apply.merging import check_configuration, merge
from fairlead.model.apply.rules import Rules
from fairlead.model.files import load_tables

POD = Rules(load_tables()).of("Pod")


def pod(names: str, **fields: Any) -> Any:
    return {"spec": {"containers": [{"name": name, **fields} for name in names]}}


def names(obj: Any) -> str:
    return "".join(each["name"] for each in obj["spec"]["containers"])


@pytest.mark.parametrize(
    ("live", "config", "order"),
    [
        ("ab", "ab", "ab"), ("ab", "ba", "ba"), ("ab", "bc", "abc"), ("ab", "c", "abc"), ("abc", "ca", "bca"),
        ("abc", "xb", "axbc"), ("", "ab", "ab"), ("ab", "", "ab"), ("abcd", "dx", "abcdx"), ("a", "xay", "xay"),
        ("abcd", "db", "acdb"), ("abc", "cba", "cba"),
    ],
)  # fmt: skip
def test_shared_items_come_in_the_order_of_the_configuration_and_others_stay(
    live: str, config: str, order: str
) -> None:
    assert names(merge(POD, pod(live), pod(config))) == order


def test_merging_again_changes_nothing() -> None:
    once = merge(POD, pod("abcd"), pod("xdb"))
    assert merge(POD, once, pod("xdb")) == once


@pytest.mark.parametrize(
    ("live", "config", "result"),
    [
        ({"metadata": {"labels": {"a": "1"}}}, {"metadata": {"labels": {"b": "2"}}},
         {"metadata": {"labels": {"a": "1", "b": "2"}}}),
        ({"spec": {"nodeSelector": {"a": "1"}}}, {"spec": {"nodeSelector": {"b": "2"}}},
         {"spec": {"nodeSelector": {"b": "2"}}}),
        ({"spec": {"tolerations": [{"key": "a"}]}}, {"spec": {"tolerations": []}}, {"spec": {"tolerations": []}}),
        ({"metadata": {"finalizers": ["a/a", "b/b"]}}, {"metadata": {"finalizers": ["c/c", "a/a"]}},
         {"metadata": {"finalizers": ["c/c", "a/a", "b/b"]}}),
        (pod("a", image="i", ports=[{"containerPort": 80, "protocol": "TCP"}]),
         pod("a", ports=[{"containerPort": 80, "name": "web"}, {"containerPort": 80, "protocol": "UDP"}]),
         pod("a", image="i", ports=[{"containerPort": 80, "protocol": "TCP", "name": "web"},
                                    {"containerPort": 80, "protocol": "UDP"}])),
        ({}, {"spec": {"containers": []}}, {"spec": {"containers": []}}),
    ],
)  # fmt: skip
def test_each_type_merges_in_its_way(live: Any, config: Any, result: Any) -> None:
    assert merge(POD, live, config) == result


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (pod("aa"), '.spec.containers: duplicate entries for key [name="a"]'),
        ({"spec": {"containers": [{"image": "x"}]}},
         '.spec.containers: element 0: associative list with keys has an element that omits key field "name" '
         "(and doesn't have default value)"),
        ({"spec": {"containers": ["x"]}}, "may not have non-map elements"),
        (pod("a", ports=[{"containerPort": 1}, {"containerPort": 1, "protocol": "TCP"}]),
         '.spec.containers[name="a"].ports: duplicate entries for key [containerPort=1,protocol="TCP"]'),
        ({"metadata": {"finalizers": ["a", "a"]}}, 'duplicate entries for key [="a"]'),
        ({"metadata": {"finalizers": [{}]}}, "a set may hold only"),
    ],
)  # fmt: skip
def test_items_that_cannot_be_told_apart_are_refused(config: Any, message: str) -> None:
    with pytest.raises(UndecodableError) as refused:
        check_configuration(POD, config)
    assert message in str(refused.value)


def test_an_object_whose_items_cannot_be_told_apart_is_merged_all_the_same() -> None:
    twice = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    live = pod("a", env=[*twice, {"name": "B", "value": "3"}])
    config = pod("a", env=[{"name": "B", "value": "4"}])
    assert merge(POD, live, config) == pod("a", env=[*twice, {"name": "B", "value": "4"}])
    config = pod("a", env=[{"name": "A", "value": "4"}])
    assert merge(POD, live, config) == pod(
        "a", env=[{"name": "A", "value": "4"}, {"name": "B", "value": "3"}]
    )
