"""What a Decider reads through a MirrorView, and what the view remembers of it."""

from __future__ import annotations

import pytest

from fairlead.cache.events import Framed, Listed
from fairlead.cache.mirror import Mirror
from fairlead.cache.view import MirrorView, NotMirrored
from fairlead.decision.contract import Reading
from fairlead.model.key import Key
from fairlead.model.selectors import parse_labels
from fairlead.model.views import NODES, PODS, REPLICASETS, Resource, View
from fairlead.port.driving import Started
from fairlead.store.contract import MODIFIED, Entry
from tests.unit.cache.objects import entry, names, owner, unreadable


def mirrored(resource: Resource[View], revision: int, *entries: Entry) -> Mirror[View]:
    mirror = Mirror(resource)
    mirror.handle(Started(0.0))
    mirror.handle(Listed(revision, entries, 0.0))
    return mirror


def world() -> dict[str, Mirror[View]]:
    pods = mirrored(
        PODS,
        20,
        entry("b", 4, labels={"app": "x"}, owners=(owner("ReplicaSet", "r"),), spec={"nodeName": "n"}),
        entry("a", 5, labels={"app": "y"}, owners=(owner("ReplicaSet", "r"),)),
        entry("c", 6, namespace="other", labels={"app": "x"}, spec={"nodeName": "n"}),
    )
    sets = mirrored(REPLICASETS, 18, entry("r", 3, resource=REPLICASETS))
    return {"pods": pods, "replicasets.apps": sets}


def test_it_reads_as_the_contract_says() -> None:
    view: Reading = MirrorView(world())
    pod = view.get(PODS, "default", "b")
    assert pod is not None
    assert pod.spec.node_name == "n"
    assert view.get(PODS, "other", "b") is None
    assert names(view.list(PODS)) == ["a", "b", "c"]
    assert names(view.list(PODS, "other")) == ["c"]
    assert names(view.owned(PODS, "uid-r")) == ["a", "b"]
    assert names(view.on_node("n")) == ["b", "c"]
    assert names(view.list(REPLICASETS)) == ["r"]


def test_selectors_may_be_compiled_or_as_they_stand_in_a_spec() -> None:
    view = MirrorView(world())
    assert names(view.select(PODS, "default", {"matchLabels": {"app": "x"}})) == ["b"]
    assert names(view.select(PODS, "", parse_labels("app=x"))) == ["b", "c"]
    assert names(view.select(PODS, "default", {})) == ["a", "b"]
    assert view.select(PODS, "default", None) == ()
    with pytest.raises(ValueError, match="Near"):
        view.select(PODS, "default", {"matchExpressions": [{"key": "a", "operator": "Near"}]})


def test_it_remembers_the_revisions_used_and_known_of_what_was_read_and_nothing_else() -> None:
    mirrors = world()
    mirrors["pods"].heard_of(25)
    view = MirrorView(mirrors)
    assert view.reads() == {}
    view.on_node("n")
    assert view.reads() == {"pods": (20, 25)}
    view.get(REPLICASETS, "default", "nobody")
    assert list(view.reads().items()) == [("pods", (20, 25)), ("replicasets.apps", (18, 18))]
    assert MirrorView(mirrors).reads() == {}


def test_each_view_has_the_state_of_its_turn() -> None:
    mirrors = world()
    mirrors["pods"].handle(Framed(MODIFIED, entry("a", 21, spec={"nodeName": "m"}), 0.0))
    view = MirrorView(mirrors)
    assert names(view.on_node("m")) == ["a"]
    assert view.reads() == {"pods": (21, 21)}


def test_asking_for_what_is_not_mirrored_is_the_deciders_mistake() -> None:
    with pytest.raises(NotMirrored, match="nodes"):
        MirrorView(world()).list(NODES)


MISSED = [
    (lambda view: view.get(PODS, "default", "bad"), True),
    (lambda view: view.get(PODS, "default", "a"), False),
    (lambda view: view.get(PODS, "other", "bad"), False),
    (lambda view: view.list(PODS), True),
    (lambda view: view.list(PODS, "default"), True),
    (lambda view: view.list(PODS, "other"), False),
    (lambda view: view.owned(PODS, "uid-r"), True),
    (lambda view: view.owned(PODS, "uid-q"), False),
    (lambda view: view.owned(PODS, "uid-r", "default"), True),
    (lambda view: view.owned(PODS, "uid-r", "other"), False),
    (lambda view: view.on_node("n"), True),
    (lambda view: view.select(PODS, "default", {"matchLabels": {"app": "x"}}), True),
    (lambda view: view.select(PODS, "other", {"matchLabels": {"app": "x"}}), False),
    (lambda view: view.select(PODS, "default", {"matchLabels": {"app": "y"}}), False),
    (lambda view: view.list(REPLICASETS), False),
]


@pytest.mark.parametrize(("read", "missed"), MISSED, ids=range(len(MISSED)))
def test_what_could_not_be_decoded_is_left_out_and_named_to_whom_it_concerns(
    read: object, missed: bool
) -> None:
    mirrors = world()
    bad = unreadable("bad", 21, labels={"app": "x"}, owners=(owner("ReplicaSet", "r"),))
    mirrors["pods"].handle(Framed(MODIFIED, bad, 0.0))
    view = MirrorView(mirrors)
    assert view.missed() == ()
    found = read(view)  # type: ignore[operator]
    assert "bad" not in (names(found) if isinstance(found, tuple) else [found and found.metadata.name])
    assert view.missed() == ((Key("pods", "default", "bad"),) if missed else ())
