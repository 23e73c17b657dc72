"""The index: where objects are found, in which order, and that they leave where they no longer belong."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.cache.index import Index
from fairlead.model.key import Key
from fairlead.model.selectors import EVERYTHING, NOTHING, parse_labels
from fairlead.model.views import NODES, PODS, Node, Pod
from tests.unit.cache.objects import entry, names, owner


def pod(name: str, **rest: Any) -> tuple[Key, Pod]:
    made = entry(name, 1, **rest)
    return made.key, msgspec.json.decode(made.data, type=Pod)


def index(*pods: tuple[Key, Pod]) -> Index[Pod]:
    made = Index(PODS)
    for key, view in pods:
        made.put(key, view)
    return made


def test_objects_come_in_namespace_and_name_order_however_they_were_put() -> None:
    made = index(
        pod("b"),
        pod("c"),
        pod("a"),
        pod("z", namespace="a"),
        pod("a", namespace="z"),
        pod("aa", namespace="z"),
    )
    assert names(made.all()) == ["z", "a", "b", "c", "a", "aa"]
    assert names(made.in_namespace("")) == names(made.all())
    assert names(made.in_namespace("default")) == ["a", "b", "c"]
    assert made.in_namespace("nowhere") == ()
    made.put(*pod("bb"))
    assert names(made.in_namespace("default")) == ["a", "b", "bb", "c"]


def test_an_object_is_found_by_each_of_its_owners_once() -> None:
    twice = owner("Job", "j")
    made = index(
        pod("a", owners=(owner("ReplicaSet", "r"), owner("Node", "n", controller=False))),
        pod("b", owners=(twice, twice, owner("ReplicaSet", "r", controller=False))),
        pod("c"),
    )
    assert names(made.owned_by("uid-r")) == ["a", "b"]
    assert names(made.owned_by("uid-n")) == ["a"]
    assert names(made.owned_by("uid-j")) == ["b"]
    assert made.owned_by("uid-c") == ()


def test_pods_are_found_by_node_once_they_are_bound() -> None:
    made = index(pod("b", spec={"nodeName": "n"}), pod("a"))
    assert names(made.on_node("n")) == ["b"]
    assert made.on_node("") == ()
    made.put(*pod("a", spec={"nodeName": "n"}))
    assert names(made.on_node("n")) == ["a", "b"]


def test_other_kinds_are_not_on_nodes() -> None:
    made: Index[Node] = Index(NODES)
    entry_of_node = entry("n", 1, resource=NODES, namespace="")
    made.put(entry_of_node.key, msgspec.json.decode(entry_of_node.data, type=Node))
    assert names(made.all()) == ["n"]
    assert made.on_node("n") == ()


def test_what_changed_is_no_longer_found_where_it_was() -> None:
    made = index(pod("a", labels={"app": "x"}, owners=(owner("Job", "j"),), spec={"nodeName": "n"}))
    key, after = pod("a", labels={"app": "y"}, owners=(owner("Job", "k"),), spec={"nodeName": "m"})
    before = made.put(key, after)
    assert before is not None
    assert before.metadata.labels == {"app": "x"}
    assert (made.owned_by("uid-j"), made.on_node("n")) == ((), ())
    assert made.labelled("", parse_labels("app=x")) == ()
    assert made.owned_by("uid-k") == made.on_node("m") == made.labelled("", parse_labels("app=y")) == (after,)


def test_what_is_gone_is_found_nowhere_and_leaves_nothing_behind() -> None:
    key, view = pod("a", labels={"app": "x"}, owners=(owner("Job", "j"),), spec={"nodeName": "n"})
    made = index((key, view))
    assert made.owned_by("uid-j") == made.on_node("n") == made.in_namespace("default") == (view,)
    assert made.labelled("", parse_labels("app=x")) == (view,)
    assert made.put(key, None) is view
    assert made.put(key, None) is None
    assert (made.get(key), made.all(), made.in_namespace("default"), made.owned_by("uid-j")) == (
        None,
        (),
        (),
        (),
    )
    assert (len(made), made._places) == (0, {})


def test_one_that_is_asked_late_answers_as_one_that_was_asked_before_anything_came() -> None:
    early, late = index(), index()

    def answers(asked: Index[Pod]) -> list[list[str]]:
        chosen = (
            asked.labelled("", parse_labels("app=x")),
            asked.labelled("default", parse_labels("app=y")),
            asked.owned_by("uid-j"),
            asked.on_node("n"),
            asked.in_namespace("default"),
        )
        return [names(each) for each in chosen]

    assert answers(early) == [[], [], [], [], []]
    for made in (early, late):
        made.put(*pod("b", labels={"app": "x"}, owners=(owner("Job", "j"),), spec={"nodeName": "n"}))
        made.put(*pod("a", labels={"app": "x"}, owners=(owner("Job", "j"),)))
        made.put(*pod("c", labels={"app": "y"}, namespace="other"))
        made.put(*pod("b", labels={"app": "y"}, owners=(owner("Job", "j"),), spec={"nodeName": "n"}))
        made.put(pod("a")[0], None)
    assert answers(late) == answers(early) == [[], ["b"], ["b"], ["b"], ["b"]]
    for made in (early, late):
        made.put(pod("b")[0], None)
    assert answers(late) == answers(early) == [[], [], [], [], []]


def test_a_plain_tuple_finds_what_a_key_finds() -> None:
    key, view = pod("a")
    assert index((key, view)).get(("pods", "default", "a")) is view
    assert index((key, view)).get(("pods", "other", "a")) is None


def test_an_answer_is_not_changed_by_what_happens_later() -> None:
    made = index(pod("a"))
    before = made.all()
    made.put(*pod("b"))
    assert (names(before), names(made.all())) == (["a"], ["a", "b"])
    assert made.all() is made.all()


SELECTED = [
    ("", "", ["a", "b", "c", "d", "e"]),
    ("", "default", ["a", "b", "c"]),
    ("app=x", "", ["a", "b", "d"]),
    ("app=x", "default", ["a", "b"]),
    ("app=x,tier=front", "default", ["a"]),
    ("app=x,tier!=front", "default", ["b"]),
    ("app in (x,y),tier", "default", ["a", "c"]),
    ("app=nothing", "", []),
    ("app=x", "nowhere", []),
    ("tier=back", "default", ["c"]),
    ("!tier", "", ["b", "d"]),
]


@pytest.mark.parametrize(("selector", "namespace", "found"), SELECTED)
def test_selectors_find_by_label(selector: str, namespace: str, found: list[str]) -> None:
    made = index(
        pod("c", labels={"app": "y", "tier": "back"}),
        pod("b", labels={"app": "x"}),
        pod("a", labels={"app": "x", "tier": "front"}),
        pod("d", labels={"app": "x"}, namespace="other"),
        pod("e", labels={"tier": "back"}, namespace="other"),
    )
    assert names(made.labelled(namespace, parse_labels(selector))) == found


def test_an_empty_selector_finds_all_and_no_selector_nothing() -> None:
    made = index(pod("a"))
    assert names(made.labelled("", EVERYTHING)) == ["a"]
    assert made.labelled("", NOTHING) == ()


_LABELS = st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy"), max_size=2)
_PUTS = st.tuples(st.sampled_from("pqr"), st.sampled_from("mn"), _LABELS, st.sampled_from(["", "i", "j"]))


@given(st.lists(st.tuples(_PUTS, st.booleans(), st.booleans()), max_size=30))
def test_an_index_kept_up_to_date_equals_one_built_at_once(
    steps: list[tuple[tuple[str, str, dict[str, str], str], bool, bool]],
) -> None:
    kept: Index[Pod] = Index(PODS)
    objects: dict[Key, Pod] = {}
    for (name, namespace, labels, node), deleted, read in steps:
        key, view = pod(
            name,
            namespace=namespace,
            labels=labels,
            spec={"nodeName": node},
            owners=(owner("Job", node or "k"),),
        )
        assert kept.put(key, None if deleted else view) == objects.pop(key, None)
        if not deleted:
            objects[key] = view
        if read:
            kept.all()  # an answer that is kept must not be given again
            kept.in_namespace("m")
            kept.labelled("", parse_labels("a=x"))
    built = index(*sorted(objects.items()))
    for question in (
        lambda each: each.all(),
        lambda each: [each.in_namespace(space) for space in "mn"],
        lambda each: [each.owned_by(f"uid-{uid}") for uid in "ijk"],
        lambda each: [each.on_node(node) for node in "ij"],
        lambda each: [each.labelled(space, parse_labels("a=x,b!=y")) for space in ("", "m", "n")],
    ):
        assert question(kept) == question(built)
    assert kept._places.keys() == built._places.keys()


def test_what_is_held_is_the_same_collection_however_often_its_order_is_made() -> None:
    pods = index(pod("b"), pod("a"))
    held = pods.held
    assert [each.metadata.name for each in pods.all()] == ["a", "b"]
    pods.put(*pod("0"))
    assert len(held) == 3
    assert [each.metadata.name for each in pods.all()] == ["0", "a", "b"]
