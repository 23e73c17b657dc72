"""Any sequence of writes by several managers ends as the model says: values, owners, conflicts.

Three worlds: a map of strings, written in five ways; a container with a keyed list, a list of one piece and a map,
where an item has an owner beside those of its fields; containers with keyed lists inside, where an item goes with what
others have in it.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.differential.asking import apply, json_patch, merge, put, strategic
from tests.differential.model import Model
from tests.differential.objects import CM, IN_POD, POD, WEB, Json, cm, deployment, of_web, part, web
from tests.differential.rows import Plane, found, owners

MANAGERS = st.sampled_from(["one", "two", "three"])
VALUES = st.dictionaries(st.sampled_from("abcd"), st.sampled_from("123"), max_size=4)
WRITES = st.lists(
    st.one_of(
        st.tuples(st.just("apply"), MANAGERS, VALUES, st.booleans()),
        st.tuples(st.sampled_from(["put", "merge", "strategic", "json"]), MANAGERS, VALUES, st.just(False)),
    ),
    max_size=12,
)


@given(WRITES)
def test_a_map_of_several_managers(writes: list[Any]) -> None:
    plane, model = Plane(), Model()
    # The label keeps an entry for the one who made the object, so that every later write is tracked.
    plane.ask(apply(cm(None, {"keep": "this"}), "maker"))
    for how, manager, values, force in writes:
        if how == "apply":
            status, body = plane.ask(apply(cm(values or None), manager, force=str(force).lower()))
            conflicts = model.apply(manager, values, force)
            assert status == (409 if conflicts else 200), body
            if conflicts:
                assert _told(body, ".data.") == conflicts
        else:
            status, body = plane.ask(_update(how, manager, model.values, values))
            assert status == 200, body
            model.update(manager, values)
        stored = plane.get(CM)[1]
        assert stored.get("data", {}) == model.values
        assert _owners(stored, ".data.") == model.owners


def _update(how: str, manager: str, before: dict[str, str], after: dict[str, str]) -> Any:
    """The same change, said in four ways."""
    gone = [key for key in before if key not in after]
    if how == "put":
        return put(cm(after, {"keep": "this"}), manager)
    if how == "json":
        add = {"op": "add", "path": "/data", "value": after}
        remove = [{"op": "remove", "path": f"/data/{key}"} for key in gone]
        sets = [{"op": "add", "path": f"/data/{key}", "value": value} for key, value in after.items()]
        return json_patch(CM, [*remove, *sets] if before else [add], manager)
    change = {"data": {**after, **dict.fromkeys(gone)}}
    return (merge if how == "merge" else strategic)(CM, change, manager)


CONTAINERS = st.fixed_dictionaries(
    {},
    optional={
        "env": st.dictionaries(st.sampled_from("AB"), st.sampled_from("12"), min_size=1),
        "args": st.lists(st.sampled_from("12"), min_size=1, max_size=2),
        "requests": st.dictionaries(st.sampled_from(["cpu", "memory"]), st.sampled_from("12"), min_size=1),
    },
)
CONTAINER_WRITES = st.lists(
    st.one_of(
        st.tuples(st.just("apply"), MANAGERS, CONTAINERS, st.booleans()),
        st.tuples(st.just("put"), MANAGERS, CONTAINERS, st.just(False)),
    ),
    max_size=10,
)


@given(CONTAINER_WRITES)
def test_a_container_of_several_managers(writes: list[Any]) -> None:
    plane, model = Plane(), Model()
    plane.ask(apply(deployment(), "base"))
    for how, manager, said, force in writes:
        container = _container(said)
        if how == "apply":
            status, body = plane.ask(apply(of_web(**container), manager, force=str(force).lower()))
            conflicts = model.apply(manager, _flat(container), force)
            assert status == (409 if conflicts else 200), body
            if conflicts:
                assert _told(body, web("")) == conflicts
        else:
            whole = deployment({"containers": [{"name": "web", "image": "web:1", **container}]})
            status, body = plane.ask(put(whole, manager))
            assert status == 200, body
            model.update(manager, _flat(container))
        stored = plane.get(WEB)[1]
        assert _flat(found(stored, f"{IN_POD}.containers[0]")) == model.values
        assert _owners(stored, web(""), _is_told) == model.owners


PODS = st.dictionaries(
    st.sampled_from("xy"),
    st.dictionaries(st.sampled_from("AB"), st.sampled_from("12"), max_size=2),
    max_size=2,
)
POD_WRITES = st.lists(
    st.one_of(
        st.tuples(st.just("apply"), MANAGERS, PODS, st.booleans()),
        st.tuples(st.just("put"), MANAGERS, PODS, st.just(False)),
    ),
    max_size=10,
)


@given(POD_WRITES)
def test_containers_of_several_managers(writes: list[Any]) -> None:
    plane, model = Plane(), Model()
    plane.ask(apply(deployment(), "base"))
    for how, manager, said, force in writes:
        more = [{"name": name, "image": "i:1", **_container({"env": env})} for name, env in said.items()]
        if how == "apply":
            status, body = plane.ask(apply(_pod(more), manager, force=str(force).lower()))
            conflicts = model.apply(manager, _flat_all(more), force)
            assert status == (409 if conflicts else 200), body
            if conflicts:
                assert _told(body, f"{POD}.containers") == conflicts
        else:
            whole = deployment({"containers": [{"name": "web", "image": "web:1"}, *more]})
            status, body = plane.ask(put(whole, manager))
            assert status == 200, body
            model.update(manager, _flat_all(more))
        stored = plane.get(WEB)[1]
        assert _flat_all(found(stored, f"{IN_POD}.containers")) == model.values
        assert _owners(stored, f"{POD}.containers", _is_told_of_all) == model.owners


def _pod(containers: list[Json]) -> Json:
    return part({"containers": containers}) if containers else part()


def _flat_all(containers: list[Json]) -> Json:
    """The fields of all containers but web."""
    flat: Json = {}
    for each in containers:
        item = f'[name="{each["name"]}"]'
        if each["name"] != "web":
            flat |= {item: "an item", f"{item}.name": each["name"], f"{item}.image": each["image"]}
            flat |= {f"{item}{name}": value for name, value in _flat(each).items()}
    return flat


def _is_told_of_all(name: str) -> bool:
    told = name.removeprefix('[name="x"]').removeprefix('[name="y"]')
    return told != name and (told in ("", ".name", ".image") or told.startswith(".env["))


def _container(said: Json) -> Json:
    made: Json = {}
    if "env" in said:
        made["env"] = [{"name": name, "value": value} for name, value in said["env"].items()]
    if "args" in said:
        made["args"] = said["args"]
    if "requests" in said:
        made["resources"] = {"requests": said["requests"]}
    return made


def _flat(container: Json) -> Json:
    """A container's fields, items of its list among them."""
    flat: Json = {}
    for each in container.get("env", []):
        item = f'.env[name="{each["name"]}"]'
        flat[item] = "an item"
        flat.update({f"{item}.{key}": value for key, value in each.items()})
    if "args" in container:
        flat[".args"] = container["args"]
    requests = container.get("resources", {}).get("requests", {})
    return flat | {f".resources.requests.{key}": value for key, value in requests.items()}


def _is_told(name: str) -> bool:
    """Whether the model speaks of a field of the container: not of its name, its defaults, nor of lists as such."""
    return name.startswith((".env[", ".resources.requests.")) or name == ".args"


def _owners(stored: Any, under: str, told: Any = bool) -> dict[str, set[str]]:
    """The fields that each entry owns, as the model calls them; whether it owns what they are in is not its business."""
    keys = {
        name: {
            each.removeprefix(under)
            for each in fields
            if each.startswith(under) and told(each.removeprefix(under))
        }
        for name, fields in owners(stored).items()
    }
    return {name: owned for name, owned in keys.items() if owned}


def _told(body: Any, under: str) -> set[tuple[str, str]]:
    told = set()
    for cause in body["details"]["causes"]:
        manager = cause["message"].split('"')[1]
        operation = "Update" if " using " in cause["message"] else "Apply"
        told.add((f"{manager} {operation}", cause["field"].removeprefix(under)))
    return told
