"""Objects against sets: what they cover, in what they differ, what is left of them. By the tables of real kinds."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.apply.rules import Rules
from fairlead.model.apply.sets import path_text, paths
from fairlead.model.apply.trees import add_parents, collect_fields, compare, drop_absent, remove_fields
from fairlead.model.fields import Field, FieldTables, ListOf, ObjectType, Ref, Scalar
from fairlead.model.files import load_tables

RULES = Rules(load_tables())


def texts(fields: Any) -> set[str]:
    return {path_text(path) for path in paths(fields)}


def container(**fields: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "c", **fields}]}}


AT = '.spec.containers[name="c"]'

COVERED = [
    ("a scalar", "Deployment", {"spec": {"replicas": 1}}, ".spec.replicas"),
    ("labels one by one", "Pod", {"metadata": {"labels": {"a": "1"}}}, ".metadata.labels.a"),
    ("an empty map", "Pod", {"metadata": {"labels": {}}}, ".metadata.labels"),
    ("an empty struct", "Pod", {"spec": {"securityContext": {}}}, ".spec.securityContext"),
    ("an atomic struct", "Deployment", {"spec": {"selector": {"matchLabels": {"a": "b"}}}}, ".spec.selector"),
    ("an atomic map", "Pod", {"spec": {"nodeSelector": {"a": "b"}}}, ".spec.nodeSelector"),
    ("an atomic list", "Pod", {"spec": {"tolerations": [{"key": "a"}]}}, ".spec.tolerations"),
    ("an empty atomic list", "Pod", {"spec": {"tolerations": []}}, ".spec.tolerations"),
    ("an item with its key", "Pod", container(), f"{AT} {AT}.name"),
    ("the default of a key", "Pod", container(ports=[{"containerPort": 80}]),
     f'{AT} {AT}.name {AT}.ports[containerPort=80,protocol="TCP"] '
     f'{AT}.ports[containerPort=80,protocol="TCP"].containerPort'),
    ("items of a set", "Pod", {"metadata": {"finalizers": ["a/b", "c/d"]}},
     '.metadata.finalizers[="a/b"] .metadata.finalizers[="c/d"]'),
    ("an atomic item", "Pod", {"metadata": {"ownerReferences": [{"uid": "u", "name": "n"}]}},
     '.metadata.ownerReferences[uid="u"]'),
    ("an empty list of items is nothing", "Pod", {"spec": {"containers": []}}, ""),
    ("quantities", "Pod", container(resources={"limits": {"cpu": "1"}}),
     f"{AT} {AT}.name {AT}.resources.limits.cpu"),
    ("a map of data", "ConfigMap", {"data": {"a": "1", "b": "2"}}, ".data.a .data.b"),
    ("what has no type, by its keys", "ControllerRevision", {"data": {"a": {"b": [1]}}},
     ".data.a .data.a.b"),
    ("items with the same key, without what is in them", "Pod",
     container(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]),
     f'{AT} {AT}.name {AT}.env[name="A"]'),
]  # fmt: skip


@pytest.mark.parametrize(("what", "kind", "tree", "owned"), COVERED, ids=[row[0] for row in COVERED])
def test_a_configuration_covers(what: str, kind: str, tree: Any, owned: str) -> None:
    assert texts(collect_fields(RULES.of(kind), tree)) == set(owned.split())


DIFFERENT = [
    ("nothing", "Pod", container(image="a"), container(image="a"), "", ""),
    ("a value", "Pod", container(image="a"), container(image="b"), f"{AT}.image", ""),
    ("a field more", "Pod", container(), container(image="b"), f"{AT}.image", ""),
    ("a field less", "Pod", container(image="b"), container(), "", f"{AT}.image"),
    ("the first label", "Pod", {"metadata": {}}, {"metadata": {"labels": {"a": "1"}}},
     ".metadata.labels .metadata.labels.a", ""),
    ("another label", "Pod", {"metadata": {"labels": {"b": "1"}}},
     {"metadata": {"labels": {"a": "1", "b": "1"}}}, ".metadata.labels.a", ""),
    ("the last label", "Pod", {"metadata": {"labels": {"b": "1"}}}, {"metadata": {}}, "",
     ".metadata.labels .metadata.labels.b"),
    ("a whole item", "Pod", {"spec": {"containers": []}}, container(image="b"), f"{AT} {AT}.image {AT}.name", ""),
    ("all items, whose list is always there", "Pod", {}, container(), f"{AT} {AT}.name", ""),
    ("a struct that is always there", "Deployment", {}, {"spec": {"strategy": {"type": "Recreate"}}},
     ".spec.strategy.type", ""),
    ("a struct that is not", "Deployment", {"spec": {"strategy": {}}},
     {"spec": {"strategy": {"rollingUpdate": {"maxSurge": 1}}}},
     ".spec.strategy.rollingUpdate .spec.strategy.rollingUpdate.maxSurge", ""),
    ("an item of an atomic list", "Pod", {"spec": {"tolerations": [{"key": "a"}]}},
     {"spec": {"tolerations": [{"key": "b"}]}}, ".spec.tolerations", ""),
    ("the order of items", "Pod",
     {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}},
     {"spec": {"containers": [{"name": "b"}, {"name": "a"}]}}, "", ""),
    ("an item of a set", "Pod", {"metadata": {"finalizers": ["a/a", "b/b"]}},
     {"metadata": {"finalizers": ["b/b", "c/c"]}}, '.metadata.finalizers[="c/c"]', '.metadata.finalizers[="a/a"]'),
    ("what has no type, of another sort", "ControllerRevision", {"data": {"a": {"b": 1}}}, {"data": {"a": 5}},
     ".data.a", ".data.a.b"),
    ("and back", "ControllerRevision", {"data": {"a": 5}}, {"data": {"a": {"b": 1}}}, ".data.a .data.a.b", ""),
    ("one of two with the same key", "Pod",
     container(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]),
     container(env=[{"name": "A", "value": "1"}]), f'{AT}.env[name="A"]', ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("what", "kind", "old", "new", "changed", "removed"), DIFFERENT, ids=[row[0] for row in DIFFERENT]
)
def test_two_objects_differ_in(what: str, kind: str, old: Any, new: Any, changed: str, removed: str) -> None:
    found = compare(RULES.of(kind), old, new)
    assert (texts(found.changed), texts(found.removed)) == (set(changed.split()), set(removed.split()))
    assert bool(found) is bool(changed or removed)


def test_what_is_left_with_nothing_in_it_goes_too() -> None:
    rule = RULES.of("Pod")
    tree = {"metadata": {"name": "x", "labels": {"a": "1"}}, **container(env=[{"name": "A", "value": "1"}])}
    gone = {
        "f:metadata": {"f:labels": {"f:a": {}}},
        "f:spec": {"f:containers": {'k:{"name":"c"}': {"f:env": {'k:{"name":"A"}': {}}}}},
    }
    left = remove_fields(rule, tree, gone)
    assert drop_absent(rule, left, {}) == {"metadata": {"name": "x"}, **container()}
    owned: dict[str, Any] = {"f:metadata": {"f:labels": {}}}
    assert drop_absent(rule, left, owned) == {"metadata": {"name": "x", "labels": {}}, **container()}
    assert tree["metadata"]["labels"] == {"a": "1"}, "the tree that went in is as it was"


def test_fields_with_members_below_are_members_and_items_are_not() -> None:
    fields = {
        "f:metadata": {"f:labels": {"f:a": {}}},
        "f:spec": {"f:containers": {'k:{"name":"c"}': {"f:image": {}}}},
    }
    assert texts(add_parents(RULES.of("Pod"), fields)) == {
        ".metadata", ".metadata.labels", ".metadata.labels.a", ".spec", ".spec.containers", f"{AT}.image",
    }  # fmt: skip
    assert texts(add_parents(RULES.of("Pod"), fields, objects=True)) == {
        ".metadata", ".metadata.labels.a", ".spec", f"{AT}.image",
    }  # fmt: skip


def test_a_type_that_is_replaced_has_other_rules_and_one_may_hold_itself() -> None:
    tree = Field("children", ListOf(Ref("x/Node")), list_type="map", list_keys=("id",))
    number = Field("id", Scalar("int32"), default="7")
    tables = FieldTables({"x/Node": ObjectType("x/Node", {"children": tree, "id": number})})
    rules = Rules(tables)
    obj = {"children": [{"children": [{"id": 1}]}]}
    assert texts(collect_fields(rules.of("x/Node"), obj)) == {
        ".children[id=7]", ".children[id=7].children[id=1]", ".children[id=7].children[id=1].id",
    }  # fmt: skip
    tables.add([ObjectType("x/Node", {"children": Field("children", ListOf(Scalar("any")))})])
    assert texts(collect_fields(rules.of("x/Node"), obj)) == {".children"}
