"""The record of a controller, and the mappings by which changes wake its keys."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fairlead.decision.contract import EFFECTS_MAX, NOTHING, Decision, in_batches
from fairlead.decision.decider import Decider, KeysOf, Wake, WatchEvent
from fairlead.decision.effects import Bind
from fairlead.decision.predicates import GONE, NEW, OWNED, PRESENT
from fairlead.decision.wakes import (
    always,
    by_controller,
    called,
    changed,
    each_of,
    in_namespace,
    inside,
    itself,
    itself_if,
    named_by,
    within,
)
from fairlead.model.key import Key
from fairlead.model.views import (
    CONTROLLER_REVISIONS,
    NODES,
    PODS,
    REPLICASETS,
    Meta,
    Namespace,
    Owner,
    Pod,
    Resource,
    View,
)
from tests.unit.reconcile.world import World

POD = Key("pods", "default", "one")


def made(**parts: Any) -> Decider:
    given: dict[str, Any] = {
        "name": "test", "reads": (REPLICASETS, PODS), "wakes": (), "decide": lambda view, key, now: NOTHING
    }  # fmt: skip
    return Decider(**{**given, **parts})


def pod(owner: str = "", kind: str = "ReplicaSet", **labels: str) -> Pod:
    owners = (Owner(kind, owner, f"uid-{owner}", "apps/v1", controller=True),) if owner else ()
    return Pod(Meta("one", "uid-one", "default", labels=labels, owner_references=owners))


def event(before: Pod | None, after: Pod | None, view: Any = None) -> WatchEvent[Pod]:
    return WatchEvent(view if view is not None else World(), POD, before, after)


def replicaset(name: str) -> Key:
    return Key(REPLICASETS.name, "default", name)


def test_a_part_that_there_is_not_is_refused() -> None:
    with pytest.raises(TypeError, match="adopter"):
        made(adopter=lambda: ())
    with pytest.raises(TypeError, match="adopter"):
        replace(made(), adopter=lambda: ())  # type: ignore[call-arg]


def test_a_part_does_not_change() -> None:
    with pytest.raises(AttributeError):
        made().name = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"wakes": (Wake(NODES, itself),)}, "test watches nodes, which it does not read"),
        ({"dated": (NODES,)}, "test watches nodes, which it does not read"),
        ({"gathers": NODES}, "test watches nodes, which it does not read"),
        ({"reads": ()}, "test reads nothing: its keys have no resource"),
    ],
)
def test_what_does_not_fit_together_is_refused(parts: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=f"^{told}$"):
        made(**parts)


def test_keys_come_in_the_order_of_the_wakes_that_the_change_concerns() -> None:
    decider = made(
        wakes=(
            Wake(PODS, always(replicaset("first"))),
            Wake(PODS, by_controller(REPLICASETS), when=OWNED),
            Wake(PODS, always(replicaset("gone")), when=GONE),
            Wake(REPLICASETS, always(replicaset("other"))),
            Wake(PODS, always(replicaset("first")), when=NEW),
        )
    )
    first, gone, web = replicaset("first"), replicaset("gone"), replicaset("web")
    assert list(decider.woken_by(event(None, pod("web")))) == [first, web, first]
    assert list(decider.woken_by(event(pod(), pod()))) == [first]
    assert list(decider.woken_by(event(pod("web"), None))) == [first, web, gone]


def _has_app(found: Pod) -> bool:
    return "app" in found.metadata.labels


def _app(found: Pod | None) -> object:
    return found.metadata.labels.get("app") if found is not None else None


@pytest.mark.parametrize(
    ("keys", "before", "after", "named"),
    [
        (itself, None, pod(), [POD]),
        (itself, pod(), None, [POD]),
        (itself_if(_has_app), None, pod(app="a"), [POD]),
        (itself_if(_has_app), None, pod(), []),
        (itself_if(_has_app), pod(app="a"), None, []),
        (always(replicaset("a"), replicaset("b")), pod(), pod(), [replicaset("a"), replicaset("b")]),
        (by_controller(REPLICASETS), None, pod("web"), [replicaset("web")]),
        (by_controller(REPLICASETS), pod("web"), None, [replicaset("web")]),
        (by_controller(REPLICASETS), pod("web"), pod("web"), [replicaset("web")]),
        (by_controller(REPLICASETS), pod("web"), pod("api"), [replicaset("web"), replicaset("api")]),
        (by_controller(REPLICASETS), None, pod("web", "DaemonSet"), []),
        (by_controller(REPLICASETS), None, pod(), []),
        (in_namespace(CONTROLLER_REVISIONS), None, pod(), [Key(CONTROLLER_REVISIONS.name, "default", "")]),
        (changed(_app, itself), pod(app="a"), pod(app="a", more="b"), []),
        (changed(_app, itself), pod(app="a"), pod(app="b"), [POD]),
        (changed(_app, itself), None, pod(app="b"), [POD]),
        (within("default", itself), None, pod(), [POD]),
        (within("other", itself), None, pod(), []),
        (called("one", itself), None, pod(), [POD]),
        (called("two", itself), None, pod(), []),
    ],
)
def test_mappings(keys: KeysOf[Any], before: Pod | None, after: Pod | None, named: list[Key]) -> None:
    assert list(keys(event(before, after))) == named


def test_each_object_that_the_test_holds_of() -> None:
    world = World()
    for name in ("n1", "n2", "x1"):
        world.add(NODES, name)
    nodes: Resource[View] = NODES
    assert [key.name for key in each_of(nodes)(event(None, pod(), world))] == ["n1", "n2", "x1"]
    found = each_of(NODES, lambda node: node.metadata.name.startswith("n"))(event(None, pod(), world))
    assert list(found) == [Key("nodes", "", "n1"), Key("nodes", "", "n2")]


def test_a_gone_object_is_not_present() -> None:
    decider = made(wakes=(Wake(PODS, itself, when=PRESENT),))
    assert list(decider.woken_by(event(pod("web"), None))) == []
    assert list(decider.woken_by(event(pod("web"), pod()))) == [POD]


@pytest.mark.parametrize(
    ("ends", "named"), [("", [Key("secrets", "team", "default")]), ("2026-01-01T00:00:00Z", [])]
)
def test_the_object_of_a_name_in_a_namespace_that_stays(ends: str, named: list[Key]) -> None:
    space = Namespace(Meta("team", "uid-team", deletion_timestamp=ends))
    change = WatchEvent(World(), Key("namespaces", "", "team"), None, space)
    assert list(inside("secrets", "default")(change)) == named
    gone = WatchEvent(World(), Key("namespaces", "", "team"), space, None)
    assert list(inside("secrets", "default")(gone)) == []


def test_a_key_without_a_name_stands_for_its_namespace() -> None:
    world = World()
    spec = {"containers": [{"name": "main", "image": "main:1"}]}
    for name in ("a", "b"):
        world.add(PODS, name, spec=spec)
    world.add(PODS, "c", "other", spec=spec)
    for name, found in (("", ["a", "b"]), ("b", ["b"]), ("c", [])):
        assert [each.metadata.name for each in named_by(world, PODS, Key("pods", "default", name))] == found


def test_what_one_turn_has_no_room_for_brings_the_key_back_at_once() -> None:
    effects = [
        Bind(
            identity=f"test/{number}",
            resource="pods",
            api_version="v1",
            plural="pods",
            namespace="default",
            name="p",
            uid="u",
            node="n",
        )
        for number in range(40)
    ]
    assert in_batches([], 7.0) == NOTHING
    assert in_batches([None, *effects[:EFFECTS_MAX]], 7.0) == Decision(effects=tuple(effects[:EFFECTS_MAX]))
    assert in_batches(effects, 7.0) == Decision(effects=tuple(effects[:EFFECTS_MAX]), again_at=7.0)
