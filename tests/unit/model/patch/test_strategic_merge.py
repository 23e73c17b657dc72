"""Strategic merge patch: worked examples on pods and deployments, directives, order, refusals.

The tables are a small hand-made part of Kubernetes' own.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairlead.core.errors import BadRequest
from fairlead.model.fields import Field, FieldTables, ListOf, MapOf, ObjectType, Ref, Scalar, Type
from fairlead.model.patch.strategic import strategic

TEXT, NUMBER, ANY = Scalar("string"), Scalar("int32"), Scalar("any")
MERGE = frozenset({"merge"})


def table(name: str, /, **fields: Type | Field) -> ObjectType:
    made = {key: value if isinstance(value, Field) else Field(key, value) for key, value in fields.items()}
    return ObjectType(name, made)


def keyed(name: str, item: Type, key: str, *more: str) -> Field:
    return Field(name, ListOf(item), merge_key=key, strategy=MERGE | frozenset(more))


TABLES = FieldTables(
    {
        each.name: each
        for each in (
            table("Meta", name=TEXT, labels=MapOf(TEXT), annotations=MapOf(TEXT)),
            table("Port", containerPort=NUMBER, name=TEXT, protocol=TEXT),
            table("Env", name=TEXT, value=TEXT, valueFrom=MapOf(ANY)),
            table(
                "Container",
                name=TEXT,
                image=TEXT,
                command=ListOf(TEXT),
                ports=keyed("ports", Ref("Port"), "containerPort"),
                env=keyed("env", Ref("Env"), "name"),
                resources=MapOf(MapOf(TEXT)),
            ),
            table("Toleration", key=TEXT, operator=TEXT, effect=TEXT),
            table("Volume", name=TEXT, emptyDir=MapOf(ANY), hostPath=MapOf(ANY)),
            table("Rolling", maxSurge=TEXT, maxUnavailable=TEXT),
            table("Strategy", type=TEXT, rollingUpdate=Ref("Rolling")),
            table(
                "Spec",
                containers=keyed("containers", Ref("Container"), "name"),
                volumes=keyed("volumes", Ref("Volume"), "name", "retainKeys"),
                tolerations=ListOf(Ref("Toleration")),
                nodeSelector=Field("nodeSelector", MapOf(TEXT), strategy=frozenset({"replace"})),
                strategy=Field("strategy", Ref("Strategy"), strategy=frozenset({"retainKeys"})),
                replicas=NUMBER,
                extra=ANY,
            ),
            table(
                "Thing",
                metadata=Ref("Meta"),
                finalizers=Field("finalizers", ListOf(TEXT), strategy=MERGE),
                spec=Ref("Spec"),
            ),
        )
    }
)
THING = TABLES["Thing"]


def apply(current: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    before = copy.deepcopy((current, patch))
    result = strategic(current, patch, THING, TABLES)
    assert (current, patch) == before
    return result


def spec(current: dict[str, Any], patch: dict[str, Any]) -> Any:
    return apply({"spec": current}, {"spec": patch})["spec"]


def containers(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "image": f"{name}:1"} for name in names]


def order_of(items: list[dict[str, Any]]) -> str:
    return "".join(item["name"] for item in items)


@pytest.mark.parametrize(
    ("current", "patch", "expected"),
    [
        pytest.param({"replicas": 1}, {"replicas": 2}, {"replicas": 2}, id="scalars replace"),
        pytest.param({"replicas": 1}, {"replicas": None}, {}, id="null removes"),
        pytest.param({}, {"replicas": None}, {}, id="null on nothing is nothing"),
        pytest.param({"strategy": {"type": "A"}}, {"strategy": None}, {}, id="null removes an object"),
        pytest.param(
            {"containers": containers("a")},
            {"containers": [{"name": "a", "image": "a:2"}]},
            {"containers": [{"name": "a", "image": "a:2"}]},
            id="containers merge by name",
        ),
        pytest.param(
            {"containers": [{"name": "a", "image": "a:1", "command": ["x", "y"]}]},
            {"containers": [{"name": "a", "command": ["z"]}]},
            {"containers": [{"name": "a", "image": "a:1", "command": ["z"]}]},
            id="commands are replaced",
        ),
        pytest.param(
            {"containers": [{"name": "a", "image": "a:1"}]},
            {"containers": [{"name": "a", "image": None}]},
            {"containers": [{"name": "a"}]},
            id="null inside an item",
        ),
        pytest.param(
            {"containers": [{"name": "a", "ports": [{"containerPort": 80, "name": "http"}]}]},
            {"containers": [{"name": "a", "ports": [{"containerPort": 80, "protocol": "TCP"}]}]},
            {
                "containers": [
                    {"name": "a", "ports": [{"containerPort": 80, "name": "http", "protocol": "TCP"}]}
                ]
            },
            id="ports merge by number",
        ),
        pytest.param(
            {
                "containers": [
                    {"name": "a", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]}
                ]
            },
            {"containers": [{"name": "a", "env": [{"name": "Y", "value": None, "valueFrom": {"k": 1}}]}]},
            {
                "containers": [
                    {"name": "a", "env": [{"name": "X", "value": "1"}, {"name": "Y", "valueFrom": {"k": 1}}]}
                ]
            },
            id="env merges by name",
        ),
        pytest.param(
            {"containers": containers("a", "b")},
            {"containers": [{"name": "b", "$patch": "delete"}]},
            {"containers": containers("a")},
            id="an item is deleted",
        ),
        pytest.param(
            {"containers": containers("a")},
            {"containers": [{"name": "zz", "$patch": "delete"}]},
            {"containers": containers("a")},
            id="deleting what is not there",
        ),
        pytest.param(
            {"containers": containers("a", "b")},
            {"containers": [{"$patch": "replace"}, {"name": "c"}]},
            {"containers": [{"name": "c"}]},
            id="a list is replaced on demand",
        ),
        pytest.param(
            {"containers": containers("a")},
            {"containers": [{"name": "a", "$patch": "merge", "image": "a:2"}]},
            {"containers": [{"name": "a", "image": "a:2"}]},
            id="merge said aloud",
        ),
        pytest.param(
            {},
            {"containers": [{"name": "a", "image": None, "env": [{"name": "X", "$patch": "delete"}]}]},
            {"containers": [{"name": "a", "env": []}]},
            id="directives and nulls don't stay in what is new",
        ),
        pytest.param(
            {"tolerations": [{"key": "a"}, {"key": "b"}]},
            {"tolerations": [{"key": "c", "effect": None}]},
            {"tolerations": [{"key": "c"}]},
            id="tolerations are replaced",
        ),
        pytest.param(
            {"nodeSelector": {"a": "1", "b": "2"}},
            {"nodeSelector": {"c": "3"}},
            {"nodeSelector": {"c": "3"}},
            id="a map whose strategy is replace",
        ),
        pytest.param(
            {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "1"}}},
            {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}},
            {"strategy": {"type": "Recreate"}},
            id="retainKeys on a deployment's strategy",
        ),
        pytest.param(
            {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "1"}}},
            {
                "strategy": {
                    "$retainKeys": ["type", "rollingUpdate"],
                    "rollingUpdate": {"maxUnavailable": "2"},
                }
            },
            {
                "strategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxSurge": "1", "maxUnavailable": "2"},
                }
            },
            id="retained fields merge",
        ),
        pytest.param(
            {"volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "emptyDir": {}}]},
            {"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}]},
            {"volumes": [{"name": "v", "hostPath": {"path": "/x"}}, {"name": "w", "emptyDir": {}}]},
            id="retainKeys on a volume",
        ),
        pytest.param(
            {"strategy": {"type": "A", "rollingUpdate": {"maxSurge": "1"}}},
            {"strategy": {"$patch": "replace", "type": "B"}},
            {"strategy": {"type": "B"}},
            id="an object is replaced",
        ),
        pytest.param(
            {"strategy": {"type": "A"}},
            {"strategy": {"$patch": "delete"}},
            {"strategy": {}},
            id="an object is emptied",
        ),
        pytest.param(
            {"containers": [{"name": "a", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}]},
            {"containers": [{"name": "a", "resources": {"limits": {"cpu": "2", "memory": None}}}]},
            {"containers": [{"name": "a", "resources": {"limits": {"cpu": "2"}}}]},
            id="maps of maps merge",
        ),
        pytest.param(
            {"extra": {"list": [1, 2], "a": 1}},
            {"extra": {"list": [3], "$odd": 1}},
            {"extra": {"list": [3], "a": 1, "$odd": 1}},
            id="free data merges as in a merge patch",
        ),
        pytest.param(
            {"unknown": {"a": 1}}, {"unknown": {"b": 2}}, {"unknown": {"a": 1, "b": 2}}, id="unknown fields"
        ),
        pytest.param(
            {"replicas": {"a": 1}}, {"replicas": [1]}, {"replicas": [1]}, id="another type replaces"
        ),
        pytest.param(
            {"strategy": 5}, {"strategy": {"type": "A"}}, {"strategy": {"type": "A"}}, id="a scalar gives way"
        ),
    ],
)
def test_worked_examples(current: dict[str, Any], patch: dict[str, Any], expected: dict[str, Any]) -> None:
    assert spec(current, patch) == expected


def test_labels_and_annotations_merge_key_by_key() -> None:
    result = apply(
        {"metadata": {"labels": {"a": "1", "b": "2"}, "annotations": {"x/y": "1"}}},
        {"metadata": {"labels": {"b": None, "c": "3"}, "annotations": {"z": "2"}}},
    )
    assert result == {"metadata": {"labels": {"a": "1", "c": "3"}, "annotations": {"x/y": "1", "z": "2"}}}


@pytest.mark.parametrize(
    ("current", "patch", "expected"),
    [
        (["a", "b"], {"finalizers": ["b", "c"]}, ["a", "b", "c"]),
        (["a", "b"], {"finalizers": ["c"]}, ["c", "a", "b"]),
        (["a", "b", "c"], {"$deleteFromPrimitiveList/finalizers": ["b"]}, ["a", "c"]),
        (["a", "b"], {"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"]}, ["c", "b"]),
        (["a"], {"$deleteFromPrimitiveList/finalizers": ["a", "zz"]}, []),
        (["a", "b"], {"$setElementOrder/finalizers": ["b", "a"]}, ["b", "a"]),
        (
            ["a", "b"],
            {
                "$setElementOrder/finalizers": ["b", "c"],
                "finalizers": ["c"],
                "$deleteFromPrimitiveList/finalizers": ["a"],
            },
            ["b", "c"],
        ),
        (["a", "a"], {"finalizers": ["a", "a"]}, ["a"]),
    ],
)
def test_scalar_lists_merge_as_sets(current: list[str], patch: dict[str, Any], expected: list[str]) -> None:
    assert apply({"finalizers": current}, patch) == {"finalizers": expected}


def test_directives_on_a_list_that_is_not_there_make_none() -> None:
    patch = {"$deleteFromPrimitiveList/finalizers": ["a"], "$setElementOrder/finalizers": ["b"]}
    assert apply({}, patch) == {}
    assert apply({"finalizers": ["a"]}, {**patch, "finalizers": None}) == {}


@pytest.mark.parametrize(
    ("current", "patched", "order", "expected"),
    [
        ("ab", "c", None, "cab"),
        ("abc", "ca", None, "bca"),
        ("abc", "b", None, "abc"),
        ("ab", "", "ba", "ba"),
        ("ab", "c", "abc", "abc"),
        ("ab", "c", "cab", "cab"),
        ("ab", "c", "acb", "acb"),
        ("sab", "", "ba", "sba"),
        ("asb", "", "ab", "asb"),
        ("abs", "", "ab", "abs"),
        ("asb", "c", "cab", "casb"),
        ("asb", "c", "abc", "asbc"),
        ("asbt", "c", "bac", "sbact"),
        ("", "ab", "ab", "ab"),
        ("ab", "", "abz", "ab"),
    ],
)
def test_merged_lists_follow_the_patch_and_keep_server_items_in_place(
    current: str, patched: str, order: str | None, expected: str
) -> None:
    patch: dict[str, Any] = {"containers": [{"name": name} for name in patched]} if patched else {}
    if order is not None:
        patch["$setElementOrder/containers"] = [{"name": name} for name in order]
    before = {"containers": containers(*current)} if current else {}
    assert order_of(spec(before, patch)["containers"]) == expected


def test_a_deletion_and_an_order_go_together_as_kubectl_apply_sends_them() -> None:
    result = spec(
        {"containers": containers("a", "b", "c")},
        {
            "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}],
            "containers": [{"name": "a", "image": "a:2"}, {"name": "b", "$patch": "delete"}],
        },
    )
    assert result == {"containers": [{"name": "c", "image": "c:1"}, {"name": "a", "image": "a:2"}]}


def test_of_two_server_items_with_one_key_the_first_merges_and_both_stay() -> None:
    ports = [{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}]
    result = spec(
        {"containers": [{"name": "a", "ports": ports}]},
        {"containers": [{"name": "a", "ports": [{"containerPort": 53, "name": "dns"}]}]},
    )
    assert result["containers"][0]["ports"] == [{**ports[0], "name": "dns"}, ports[1]]


def test_the_result_shares_nothing_with_object_or_patch() -> None:
    current: dict[str, Any] = {"spec": {"containers": containers("a"), "tolerations": [{"key": "x"}]}}
    patch: dict[str, Any] = {"spec": {"containers": [{"name": "b", "command": ["run"]}]}, "finalizers": ["f"]}
    saved = copy.deepcopy((current, patch))
    result = strategic(current, patch, THING, TABLES)
    result["spec"]["containers"][0]["command"].append("more")
    result["spec"]["containers"][1]["image"] = "changed"
    result["spec"]["tolerations"][0]["key"] = "changed"
    result["finalizers"].append("g")
    assert (current, patch) == saved


def test_fields_stay_where_they_were_and_new_ones_follow() -> None:
    result = spec({"replicas": 1, "containers": [], "extra": 1}, {"strategy": {}, "replicas": 2, "extra": 2})
    assert list(result) == ["replicas", "containers", "extra", "strategy"]


@pytest.mark.parametrize(
    ("patch", "part"),
    [
        ({"$patch": "delete"}, "use DELETE"),
        ({"$patch": "destroy"}, 'unknown $patch "destroy": use delete, replace or merge'),
        ({"spec": {"$patch": 5}}, "spec: unknown $patch 5"),
        ({"spec": {"$foo": 1}}, 'spec: unknown directive "$foo"'),
        ({"spec": {"containers": [{"image": "x"}]}}, "spec.containers[0]: the merge key 'name' is missing"),
        ({"spec": {"containers": [{"name": {}}]}}, "spec.containers[0]: the merge key 'name' is missing"),
        (
            {"spec": {"containers": [{"$patch": "delete"}]}},
            "spec.containers[0]: the merge key 'name' is missing",
        ),
        (
            {"spec": {"containers": ["a"]}},
            "spec.containers[0]: must be an object with the merge key 'name', got \"a\"",
        ),
        ({"spec": {"containers": [{"name": "a", "$patch": "x"}]}}, 'spec.containers[0]: unknown $patch "x"'),
        (
            {"spec": {"containers": [{"name": "a", "ports": [{"name": "x"}]}]}},
            "spec.containers[name=\"a\"].ports[0]: the merge key 'containerPort' is missing",
        ),
        (
            {"spec": {"tolerations": [{"key": "a", "$patch": "delete"}]}},
            "spec.tolerations[0]: this list is always",
        ),
        ({"finalizers": [{}]}, "finalizers: must be a list of scalars, got {}"),
        ({"finalizers": [None]}, "finalizers: must be a list of scalars, got null"),
        ({"$deleteFromPrimitiveList/finalizers": "a"}, "must be a list"),
        (
            {"$deleteFromPrimitiveList/nothing": ["a"]},
            "nothing: a directive for lists needs a list that merges",
        ),
        (
            {"spec": {"$deleteFromPrimitiveList/containers": ["a"]}},
            "spec.containers: $deleteFromPrimitiveList is for",
        ),
        ({"spec": {"$setElementOrder/tolerations": []}}, "spec.tolerations: a directive for lists needs"),
        (
            {"spec": {"$setElementOrder/containers": ["a"]}},
            "items of $setElementOrder must have the merge key 'name'",
        ),
        (
            {"spec": {"$setElementOrder/containers": [{"name": "b"}], "containers": [{"name": "a"}]}},
            'spec.containers: the patch\'s items must be in $setElementOrder, in its order: "a" is not',
        ),
        ({"$setElementOrder/finalizers": ["a", "b"], "finalizers": ["b", "a"]}, '"a" is not'),
        ({"$setElementOrder/finalizers": ["a"], "finalizers": {"a": 1}}, "finalizers must be a list"),
        (
            {"spec": {"strategy": {"$retainKeys": "type"}}},
            "spec.strategy: $retainKeys must be a list of field names",
        ),
        (
            {"spec": {"strategy": {"$retainKeys": ["type"], "rollingUpdate": {}}}},
            "spec.strategy: $retainKeys must name every field that the patch sets: add rollingUpdate",
        ),
    ],
)
def test_patches_that_make_no_sense_are_bad_requests_with_a_path(patch: dict[str, Any], part: str) -> None:
    current = {"spec": {"containers": containers("a", "b")}, "finalizers": ["a"]}
    with pytest.raises(BadRequest) as caught:
        apply(current, patch)
    assert str(caught.value).startswith("strategic merge patch: ")
    assert part in str(caught.value)


def test_long_lists_merge_in_reasonable_time() -> None:
    names = [f"n{index}" for index in range(20_000)]
    current = {"spec": {"containers": [{"name": name} for name in names]}, "finalizers": names}
    order = list(reversed(names))
    result = apply(
        current,
        {
            "spec": {
                "$setElementOrder/containers": [{"name": name} for name in order],
                "containers": [{"name": name, "image": "x"} for name in order],
            },
            "$setElementOrder/finalizers": order,
            "$deleteFromPrimitiveList/finalizers": names[:10_000],
        },
    )
    assert [item["name"] for item in result["spec"]["containers"]] == order
    assert result["finalizers"] == order[:10_000]
