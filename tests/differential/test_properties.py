"""What holds of any configuration: applied twice is applied once, nothing applied is nothing owned, and the patches
agree where they must."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.differential.asking import apply, force, json_patch, merge, post, strategic
from tests.differential.objects import CM, WEB, Json, cm, deployment, of_web
from tests.differential.rows import Plane, found, owners

NAMES = ["a", "b", "c", "d"]
VALUES = st.sampled_from(["1", "2", "3"])
MAPS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4)
FINALIZERS = st.lists(st.sampled_from([f"example.com/{name}" for name in NAMES]), unique=True, max_size=3)
CONFIGS = st.builds(
    lambda data, labels, finalizers: cm(data, labels, finalizers=finalizers), MAPS, MAPS, FINALIZERS
)


def _ports(numbers: list[int]) -> list[Json]:
    return [{"containerPort": number} for number in numbers]


CONTAINERS = st.fixed_dictionaries(
    {},
    optional={
        "env": MAPS.map(lambda values: [{"name": name, "value": value} for name, value in values.items()]),
        "ports": st.lists(st.integers(80, 84), unique=True, max_size=3).map(_ports),
        "args": st.lists(VALUES, max_size=2),
        "resources": st.fixed_dictionaries(
            {"requests": st.dictionaries(st.sampled_from(["cpu", "memory"]), VALUES, max_size=2)}
        ),
    },
)


def _done(plane: Plane, ask: Any) -> Any:
    status, body = plane.ask(ask)
    assert status in (200, 201), body
    return body


def _told(obj: Json) -> Json:
    """An object without what tells when and by which write it came to be, and lists by key in the order of keys."""
    told = {**obj, "metadata": {**obj["metadata"], "managedFields": owners(obj)}}
    for name in ("resourceVersion", "uid", "creationTimestamp", "generation"):
        told["metadata"].pop(name, None)
    told["metadata"]["finalizers"] = sorted(told["metadata"].get("finalizers", []))
    for container in found(obj, "spec.template.spec.containers") if "spec" in obj else []:
        container.get("env", []).sort(key=lambda each: each["name"])
        container.get("ports", []).sort(key=lambda each: each["containerPort"])
    kept: Json = without_empty(told)
    return kept


def without_empty(value: Any) -> Any:
    """A value without what has nothing in it: clients must not tell that from what is not there."""
    if isinstance(value, dict):
        inside = {key: without_empty(each) for key, each in value.items()}
        return {key: each for key, each in inside.items() if each not in ({}, [], None)}
    return [without_empty(each) for each in value] if isinstance(value, list) else value


@given(CONFIGS, CONFIGS)
def test_applying_again_changes_nothing(before: Json, config: Json) -> None:
    plane = Plane()
    _done(plane, apply(before, "other"))
    once = _done(plane, force(config))
    twice = _done(plane, apply(config))
    assert once == twice == plane.get(CM)[1]


@given(CONTAINERS, CONTAINERS)
def test_applying_a_container_again_changes_nothing(before: Json, config: Json) -> None:
    plane = Plane()
    _done(plane, apply(deployment(), "base"))
    _done(plane, apply(of_web(**before), "other"))
    once = _done(plane, force(of_web(**config)))
    twice = _done(plane, apply(of_web(**config)))
    assert once == twice == plane.get(WEB)[1]


@given(CONFIGS, CONFIGS, CONFIGS)
def test_applying_nothing_releases_what_was_owned(base: Json, first: Json, second: Json) -> None:
    plane = Plane()
    _done(plane, apply(base, "base"))
    for config in (first, second):
        _done(plane, force(config))
    _done(plane, apply(cm()))
    stored = plane.get(CM)[1]
    kept = owners(stored)
    assert set(kept) <= {"base Apply"}
    left = {
        *(f".data.{key}" for key in stored.get("data", {})),
        *(f".metadata.labels.{key}" for key in stored["metadata"].get("labels", {})),
        *(f'.metadata.finalizers[="{each}"]' for each in stored["metadata"].get("finalizers", [])),
    }
    assert left == {
        each for each in kept.get("base Apply", set()) if each not in (".data", ".metadata.labels")
    }


@given(CONTAINERS)
def test_applying_nothing_to_a_container_leaves_it_as_it_was(config: Json) -> None:
    plane = Plane()
    before = _told(_done(plane, apply(deployment(), "base")))
    _done(plane, apply(of_web(**config)))
    after = _done(plane, apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}))
    assert _told(after) == before


@given(st.data())
def test_two_appliers_without_overlap_come_to_the_same_in_either_order(data: st.DataObject) -> None:
    first, second = _apart(data, CONFIGS), _apart(data, CONFIGS, "x")
    ends = []
    for order in ((("one", first), ("two", second)), (("two", second), ("one", first))):
        plane = Plane()
        for manager, config in order:
            _done(plane, apply(config, manager))
        ends.append(_told(plane.get(CM)[1]))
    assert ends[0] == ends[1]


def _apart(data: st.DataObject, configs: st.SearchStrategy[Json], mark: str = "") -> Json:
    """A configuration whose names carry a mark, so that two of them have none in common."""
    drawn = data.draw(configs)
    meta = drawn["metadata"]
    return cm(
        {mark + key: value for key, value in drawn["data"].items()},
        {mark + key: value for key, value in meta["labels"].items()},
        finalizers=[each + mark for each in meta["finalizers"]],
    )


@given(
    st.dictionaries(st.sampled_from(["cpu", "memory"]), VALUES),
    st.dictionaries(st.sampled_from(["A", "B"]), VALUES),
    st.dictionaries(st.sampled_from(["C", "D"]), VALUES),
)
def test_two_appliers_of_one_container_come_to_the_same_in_either_order(
    requests: Json, first: Json, second: Json
) -> None:
    ones = of_web(env=[{"name": name, "value": value} for name, value in first.items()])
    twos = of_web(
        env=[{"name": name, "value": value} for name, value in second.items()],
        resources={"requests": requests},
    )
    ends = []
    for order in ((("one", ones), ("two", twos)), (("two", twos), ("one", ones))):
        plane = Plane()
        _done(plane, apply(deployment(), "base"))
        for manager, config in order:
            _done(plane, apply(config, manager))
        ends.append(_told(plane.get(WEB)[1]))
    assert ends[0] == ends[1]


@given(MAPS, st.dictionaries(st.sampled_from(NAMES), st.one_of(st.none(), VALUES)))
def test_the_three_patches_agree_on_maps_of_scalars(before: Json, change: Json) -> None:
    """The values, and who owns them."""
    operations = [
        {"op": "add", "path": f"/data/{key}", "value": value}
        for key, value in change.items()
        if value is not None
    ]
    operations += [
        {"op": "remove", "path": f"/data/{key}"}
        for key, value in change.items()
        if value is None and key in before
    ]
    ends = []
    for patch in (
        merge(CM, {"data": change}),
        strategic(CM, {"data": change}),
        json_patch(CM, operations),
    ):
        plane = Plane()
        _done(plane, post(cm({"keep": "this", **before})))
        ends.append(_told(_done(plane, patch)))
    assert ends[0] == ends[1] == ends[2]
    wanted = {key: value for key, value in {**before, **change}.items() if value is not None}
    assert ends[0]["data"] == {"keep": "this", **wanted}
