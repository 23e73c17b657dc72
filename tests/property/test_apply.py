"""Laws of sets of fields and of applying, on arbitrary configurations; and the API's memory against none."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from fairlead.api.apply.managing import Managing
from fairlead.model.apply.applying import Applied, apply_configuration
from fairlead.model.apply.managers import APPLY, Who, entries_of, managed_fields
from fairlead.model.apply.rules import Rules
from fairlead.model.apply.sets import (
    decode_fields,
    encode_fields,
    intersection,
    minus,
    paths,
    union,
)
from fairlead.model.apply.trees import collect_all, collect_fields, compare, drop_absent, remove_fields
from fairlead.model.files import load_tables
from tests.field_sets import has, of_paths
from tests.inprocess import InProcess
from tests.unit.api.things import DEPLOYMENTS

RULES = Rules(load_tables())
POD = RULES.of("Pod")

STEPS = st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', 'v:"y"'])
SETS = st.lists(st.lists(STEPS, min_size=1, max_size=3).map(tuple), max_size=8).map(of_paths)

TEXTS = st.sampled_from(["1", "2"])
NAMES = st.sampled_from(["a", "b", "c"])
MAPS = st.dictionaries(NAMES, TEXTS, max_size=3)
PORTS = st.lists(
    st.fixed_dictionaries(
        {"containerPort": st.integers(1, 2)}, optional={"name": TEXTS, "protocol": st.just("UDP")}
    ),
    max_size=3,
    unique_by=lambda each: (each["containerPort"], each.get("protocol", "TCP")),
)
CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES},
        optional={
            "image": TEXTS,
            "ports": PORTS,
            "args": st.lists(TEXTS, max_size=2),
            "resources": st.just({}),
        },
    ),
    max_size=3,
    unique_by=lambda each: str(each["name"]),
)
CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.fixed_dictionaries(
            {}, optional={"labels": MAPS, "finalizers": st.lists(NAMES, max_size=2, unique=True)}
        ),
        "spec": st.fixed_dictionaries(
            {},
            optional={
                "containers": CONTAINERS,
                "nodeSelector": MAPS,
                "restartPolicy": TEXTS,
                "tolerations": st.lists(st.fixed_dictionaries({"key": TEXTS}), max_size=2),
                "securityContext": st.fixed_dictionaries({}, optional={"runAsUser": st.integers(0, 1)}),
            },
        ),
    },
)


def apply(live: Any, entries: Any, config: Any, name: str = "one", force: bool = True) -> Applied:
    return apply_configuration(
        POD, live, config, entries, Who(name, APPLY, "v1"), "t", lambda fields: fields, force=force
    )


def everything(tree: Any, kind: str = "Pod") -> Any:
    """Every field of a tree, and everything that holds one."""
    return {step: below for step, below in collect_all(RULES.of(kind), tree).items() if step != "."}


def empty(tree: Any) -> bool:
    """Whether there is nothing in it but what holds nothing."""
    if isinstance(tree, dict):
        return all(map(empty, tree.values()))
    return bool(tree == [])


@given(SETS)
def test_a_set_survives_the_wire(fields: Any) -> None:
    assert decode_fields(encode_fields(fields)) == fields
    assert of_paths(list(paths(fields))) == fields


@given(SETS, SETS)
def test_sets_are_sets(one: Any, other: Any) -> None:
    mine, theirs = set(paths(one)), set(paths(other))
    before = copy.deepcopy((one, other))
    assert set(paths(union(one, other))) == mine | theirs
    assert set(paths(minus(one, other))) == mine - theirs
    assert set(paths(intersection(one, other))) == mine & theirs
    assert union(minus(one, other), intersection(one, other)) == one
    assert all(has(one, path) for path in mine)
    assert (one, other) == before


@given(CONFIGS, CONFIGS)
def test_a_difference_tells_all_and_nothing_else(old: Any, new: Any) -> None:
    found = compare(POD, old, new)
    assert not compare(POD, old, old)
    back = compare(POD, new, old)
    assert not intersection(found.changed, found.removed)
    assert set(paths(found.removed)) <= set(paths(back.changed))
    gone = drop_absent(POD, remove_fields(POD, old, found.removed), {}) or {}
    assert not intersection(collect_fields(POD, gone), found.removed)


@given(CONFIGS, CONFIGS)
def test_applying_twice_is_applying_once(live: Any, config: Any) -> None:
    before = copy.deepcopy((live, config))
    once = apply(live, (), config)
    assert apply(once.tree, once.entries, config, force=False) == once
    assert (live, config) == before


@given(CONFIGS, CONFIGS)
def test_what_is_applied_is_there_and_owned(live: Any, config: Any) -> None:
    found = apply(live, (), config)
    owned = collect_fields(POD, config)
    assert not minus(owned, everything(found.tree))
    assert [each.fields for each in found.entries] == ([owned] if owned else [])


@given(CONFIGS)
def test_applying_nothing_releases_and_removes_all_that_was_owned(config: Any) -> None:
    found = apply({}, (), config)
    nothing = apply(found.tree, found.entries, {})
    assert nothing.entries == ()
    assert empty(nothing.tree), nothing.tree


@given(CONFIGS, CONFIGS)
def test_what_another_owns_outlives_the_applier(mine: Any, theirs: Any) -> None:
    first = apply({}, (), theirs, "two")
    both = apply(first.tree, first.entries, mine)
    left = next((each.fields for each in both.entries if each.who.manager == "two"), {})
    after = apply(both.tree, both.entries, {})
    assert {each.who.manager for each in after.entries} <= {"two"}
    assert [each.fields for each in after.entries] == ([left] if left else [])
    assert not minus(left, everything(after.tree))


@given(CONFIGS, CONFIGS)
def test_entries_survive_the_wire(one: Any, two: Any) -> None:
    first = apply({}, (), one)
    entries = apply(first.tree, first.entries, two, "two").entries
    assert entries_of(managed_fields(entries)) == entries


WRITES = st.lists(
    st.tuples(
        st.sampled_from(["one", "two", "three"]),
        st.sampled_from(["apply", "force", "merge", "strategic", "scale", "status"]),
        st.fixed_dictionaries({}, optional={"labels": MAPS, "replicas": st.integers(0, 3), "image": TEXTS}),
    ),
    max_size=8,
)


def sent(plane: InProcess, manager: str, how: str, change: dict[str, Any]) -> int:
    target = f"{DEPLOYMENTS}/web"
    spec: dict[str, Any] = {key: change[key] for key in ("replicas",) if key in change}
    if "image" in change:
        spec["template"] = {"spec": {"containers": [{"name": "web", "image": change["image"]}]}}
    body: dict[str, Any] = {"metadata": {"labels": change.get("labels", {})}, "spec": spec}
    plane.now += 7
    query = f"?fieldManager={manager}"
    if how in ("apply", "force"):
        whole: dict[str, Any] = {"apiVersion": "apps/v1", "kind": "Deployment", **body}
        whole["metadata"]["name"] = "web"
        query += "&force=true" if how == "force" else ""
        return plane.request("PATCH", target + query, whole, content_type="application/apply-patch+yaml")[0]
    if how == "scale":
        return plane.patch(f"{target}/scale{query}", {"spec": {"replicas": change.get("replicas", 1)}})[0]
    if how == "status":
        return plane.patch(f"{target}/status{query}", {"status": {"replicas": change.get("replicas", 1)}})[0]
    sort = "merge-patch" if how == "merge" else "strategic-merge-patch"
    if how == "merge":
        spec.pop("template", None)
    return plane.patch(target + query, body, sort)[0]


class Forgetful(Managing):
    """Finds everything out anew."""

    def track(self, tables: Any, attempt: Any) -> None:
        self._created.clear()
        self._updated.clear()
        super().track(tables, attempt)


@settings(max_examples=40)
@example(
    writes=[
        ("one", "merge", {"labels": {"c": "1"}}),
        ("one", "force", {"replicas": 0, "labels": {"a": "1", "c": "2"}, "image": "1"}),
        ("one", "apply", {"labels": {}, "image": "1"}),  # the last label goes, which an update had made
    ]
)
@given(WRITES)
def test_what_is_remembered_makes_no_difference(writes: Any) -> None:
    """The same writes twice on one plane, so that the second time all is known, and on one that remembers nothing."""
    made = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "web:1"}]},
            },
        },
    }
    plane, forgetful = InProcess(), InProcess()
    object.__setattr__(forgetful.desk, "managing", Forgetful())
    found = []
    for each in (plane, plane, forgetful):
        each.now = 1_800_000_000.0
        each.delete(f"{DEPLOYMENTS}/web")
        assert each.post(DEPLOYMENTS, made)[0] == 201
        statuses = [sent(each, *write) for write in writes]
        assert not {status for status in statuses if status not in (200, 409, 422)}
        obj = each.get(f"{DEPLOYMENTS}/web")[1]
        found.append((statuses, obj["metadata"].get("managedFields"), obj["spec"]))
        for entry in obj["metadata"]["managedFields"]:
            assert not minus(decode_fields(entry["fieldsV1"]), everything(obj, "Deployment")), (
                "nobody owns what is not there"
            )
    assert found[0] == found[1] == found[2]
