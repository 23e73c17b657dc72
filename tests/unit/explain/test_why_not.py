"""Why not there: every filter answers, with numbers, and the score stands beside that of the best."""

from __future__ import annotations

from fairlead.explain.why_not import WhyNot, why_not
from fairlead.model.views import Node, Pod
from fairlead.schedule.cycle import Cycle
from fairlead.schedule.registry import default_policy
from tests.unit.schedule.clusters import ZONE, cluster, node, pod

A, B = node("a", "z1"), node("b", "z2")


def asked(nodes: tuple[Node, ...], pods: tuple[Pod, ...], new: Pod, there: str) -> WhyNot:
    snapshot = cluster(nodes, pods)
    return why_not(snapshot, default_policy(), snapshot.facts_of(new), there)


def test_all_filters_answer_even_after_one_has_refused() -> None:
    told = asked((A, B), (pod("one", "b", "3800m"),), pod("new", cpu="500m", nodeSelector={ZONE: "z1"}), "b")
    assert [tuple(each) for each in told.filters] == [
        (
            "NodeAffinity",
            False,
            "node(s) didn't match Pod's node affinity/selector",
            f"asks for {ZONE}=z1, the node has {ZONE}=z2",
        ),
        ("NodeResourcesFit", False, "Insufficient cpu", "needs 500m cpu, free 200m of 4"),
    ]
    assert not told.passes


def test_a_node_that_passes_is_compared_with_the_best() -> None:
    told = asked((A, B), (pod("one", "b", "2"),), pod("new", cpu="1"), "b")
    assert told.passes
    assert told.chosen is not None
    assert told.chosen.node == "a"
    assert told.chosen.total > told.score.total
    assert told.filters[0].detail == "needs 1 cpu, free 2 of 4"


def test_the_score_of_a_node_that_passes_is_the_one_an_attempt_gives() -> None:
    pods = (pod("one", "b", "2"),)
    new = pod("new", cpu="1")
    told = asked((A, B), pods, new, "b")
    best = {each.node: each for each in Cycle(cluster((A, B), pods), default_policy()).place(new).best}
    assert (told.score.total, told.score.parts) == (best["b"].total, best["b"].parts)
    assert told.chosen is not None
    assert told.chosen.total == best["a"].total


def test_evicting_helps_only_where_all_that_refuses_would_yield() -> None:
    low = (pod("low", "b", "4"),)
    high = pod("new", cpu="1", priority=10)
    assert asked((A, B), low, high, "b").evicting_helps
    assert not asked((A, B), low, pod("new", cpu="1"), "b").evicting_helps, "of no lower priority"
    assert not asked((A, B), low, pod("new", cpu="5", priority=10), "b").evicting_helps, "it never fits"
    picky = pod("new", cpu="1", priority=10, nodeSelector={ZONE: "z1"})
    assert not asked((A, B), low, picky, "b").evicting_helps, "labels do not yield"
    assert not asked((A, B), low, high, "a").evicting_helps, "it fits"
