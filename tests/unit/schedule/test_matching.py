"""Pods that selectors mean, counted per node: whenever a selector comes, and without a look at every group there is."""

from __future__ import annotations

from random import Random

import pytest
from msgspec import structs

from fairlead.model.selectors import LabelMatcher, Requirement, label_selector
from fairlead.model.views import Pod
from fairlead.schedule.matching import Clause, Group, Groups, Meant
from tests.unit.schedule.clusters import cluster, node, pod

SPACES = {"default": {"team": "a"}, "shop": {"team": "a"}, "bank": {"team": "b"}}
TEAM_A = label_selector((Requirement("team", "in", ("a",)),))
CHOICES: tuple[LabelMatcher, ...] = (
    label_selector(()),
    label_selector((Requirement("app", "in", ("web",)),)),
    label_selector((Requirement("app", "in", ("web",)), Requirement("tier", "in", ("front",)))),
    label_selector((Requirement("app", "in", ("db", "web")),)),
    label_selector((Requirement("tier", "notin", ("front",)),)),
    label_selector((Requirement("app", "in", ("nobody",)),)),
)


def selectors() -> list[Meant]:
    where = (
        (None, None),
        (frozenset({"default"}), None),
        (frozenset({"shop", "bank", "gone"}), None),
        (frozenset({"bank"}), TEAM_A),
        (frozenset[str](), TEAM_A),
    )
    alone = [
        Meant((Clause(chosen, names, spaces),), leaving_too)
        for chosen in CHOICES
        for names, spaces in where
        for leaving_too in (True, False)
    ]
    both = Clause(CHOICES[1], None), Clause(CHOICES[4], frozenset({"default", "shop"}))
    return [*alone, Meant(both)]


def some_pod(chance: Random, number: int) -> Pod:
    labels = {
        key: chance.choice(values)
        for key, values in (("app", ("web", "db", "etl")), ("tier", ("front", "back")))
        if chance.random() < 0.8
    }
    made = pod(f"p{number}", chance.choice(("a", "b")), labels=labels, leaving=chance.random() < 0.2)
    space = chance.choice(tuple(SPACES))
    return structs.replace(made, metadata=structs.replace(made.metadata, namespace=space))


@pytest.mark.parametrize("seed", range(8))
def test_a_selector_counts_the_same_pods_whenever_it_comes(seed: int) -> None:
    chance = Random(seed)
    snapshot = cluster((node("a"), node("b")), spaces=dict(SPACES))
    unasked, asked = selectors(), list[Meant]()
    chance.shuffle(unasked)
    pods: list[Pod] = []
    for number in range(90):
        if pods and chance.random() < 0.4:
            snapshot.observe("pods", pods.pop(chance.randrange(len(pods))), None)
        else:
            pods.append(some_pod(chance, number))
            snapshot.observe("pods", None, pods[-1])
        if unasked:
            asked.append(unasked.pop())
        for meant in asked:
            for name, slot in snapshot.nodes.slot.items():
                expected = sum(
                    each.spec.node_name == name
                    and (meant.leaving_too or not each.metadata.deletion_timestamp)
                    and meant.matches(each.metadata.namespace, each.metadata.labels, SPACES)
                    for each in pods
                )
                assert snapshot.matching.counts(meant)[slot] == expected, (meant, number)


def groups(of_each: int) -> Groups:
    found = Groups()
    for number in range(of_each):
        for space in SPACES:
            labels = {"app": f"{space}-{number}", "tier": "front"}
            found.add((space, tuple(sorted(labels.items())), False), Group(space, labels, False))
    return found


@pytest.mark.parametrize(
    ("requirements", "namespaces", "looked_at"),
    [
        ((Requirement("app", "in", ("shop-7",)), Requirement("tier", "in", ("front",))), None, 1),
        ((Requirement("app", "in", ("nobody",)),), None, 0),
        ((Requirement("tier", "in", ("front",)),), {"shop"}, 100),
        ((), {"shop", "bank"}, 200),
        ((), {"gone"}, 0),
        ((Requirement("app", "exists"),), None, 300),
    ],
)
def test_a_selector_that_comes_looks_at_few_groups(
    requirements: tuple[Requirement, ...], namespaces: set[str] | None, looked_at: int
) -> None:
    chosen = None if namespaces is None else frozenset(namespaces)
    meant = Meant((Clause(label_selector(requirements), chosen),))
    assert len(groups(100).candidates(meant)) == looked_at


def test_namespaces_chosen_by_their_labels_leave_nothing_out() -> None:
    meant = Meant((Clause(label_selector(()), frozenset({"shop"}), TEAM_A),))
    assert len(groups(10).candidates(meant)) == 30


def test_groups_that_are_gone_leave_nothing_behind() -> None:
    found = groups(10)
    for each in list(found):
        found.remove((each.namespace, tuple(sorted(each.labels.items())), False))
    assert (len(found), found._by_label, found._by_namespace) == (0, {}, {})
