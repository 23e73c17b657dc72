"""Oracle and code agree on every generated cluster: feasible nodes, refusals, every score, the node chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from fairlead.model.views import Pod
from fairlead.schedule.facts import facts_of
from fairlead.schedule.plugins.node_resources_fit import MOST, NodeResourcesFit
from fairlead.schedule.registry import default_policy
from tests.conftest import SOAK
from tests.oracle.cluster import Cluster
from tests.oracle.filters import FILTERS, host_ports
from tests.oracle.generating import Case, case
from tests.oracle.kernel import disagreements, viewed
from tests.oracle.making import HOSTNAME, near, node, pod, preferred
from tests.oracle.placing import expected_of
from tests.oracle.quota import AGREED
from tests.oracle.requests import requests, scored_requests
from tests.oracle.scores import SCORES, most_allocated

CLUSTERS = 20_000 if SOAK else 500
PORTION = 1_000 if SOAK else 100


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", range(0, CLUSTERS, PORTION))
def test_the_code_agrees_with_the_oracle(first: int, record_property: Callable[[str, object], None]) -> None:
    policy, pods, told = default_policy(), 0, list[str]()
    wrong = 0
    for seed in range(first, first + PORTION):
        drawn = case(seed)
        pods += len(drawn.pods)
        found = list(disagreements(drawn, expected_of(drawn), policy))
        wrong += bool(found)
        told += found
    record_property(AGREED, {"clusters": PORTION, "pods": pods, "disagreements": wrong})
    assert not told, f"{wrong} clusters\n" + "\n".join(told[:40])


@pytest.mark.parametrize("seed", range(0, CLUSTERS, 20))
def test_the_code_reads_from_a_pod_what_the_oracle_reads(seed: int) -> None:
    drawn = case(seed)
    for each in (*drawn.pods, *drawn.cluster.pods):
        facts = facts_of(viewed(each, Pod))
        assert facts.requests == {**requests(each), "pods": 1}, f"seed {seed}, pod {each['metadata']['name']}"
        assert {"cpu": facts.scored_cpu, "memory": facts.scored_memory} == scored_requests(each)
        assert sorted((p.protocol, p.number, p.address) for p in facts.ports) == sorted(host_ports(each))


def test_the_code_agrees_on_pods_that_ask_as_a_whole() -> None:
    for seed in range(40):
        drawn = case(seed, ("tight",))
        for number, each in enumerate((*drawn.pods, *drawn.cluster.pods)):
            if number % 3 == seed % 3:
                whole = {"cpu": f"{900 + 700 * (number % 4)}m", "memory": f"{1 + number % 5}Gi"}
                each["spec"]["resources"] = {"requests": whole}
        assert not list(disagreements(drawn, expected_of(drawn), default_policy())), f"seed {seed}"


def test_the_code_agrees_when_fuller_nodes_are_to_be_preferred() -> None:
    default = default_policy()
    plugins = tuple(
        NodeResourcesFit(MOST) if each.name == "NodeResourcesFit" else each for each in default.plugins
    )
    scoring = {**SCORES, "NodeResourcesFit": (1, most_allocated)}
    for seed in range(60):
        drawn = case(seed)
        assert not list(disagreements(drawn, expected_of(drawn, scoring), replace(default, plugins=plugins)))


def test_scores_are_scaled_anew_when_the_best_node_fills_up_after_neighbours_began_to_matter() -> None:
    """Rarer than chance finds: a class is judged before anyone asks for its like; then pods do, each differently; then
    it takes the last place on the node where it is most wanted."""
    web = {"app": "web"}
    nodes = [node("a", room={"pods": "3"}), node("b"), node("c")]
    fans = []
    for name, weight in (("a", 100), ("b", 50)):
        wish = {"weight": weight, "podAffinityTerm": near(HOSTNAME, web)}
        fans.append(
            pod(f"fan-{name}", nodeSelector={HOSTNAME: name}, affinity=preferred("podAffinity", wish))
        )
    first, second, third = (pod(f"web-{number}", labels=web, cpu="10m") for number in range(3))
    pods = [first, *fans, second, third]
    for each in (*nodes, *pods):
        each["metadata"]["uid"] = each["metadata"]["name"]
    drawn = Case(-1, Cluster(nodes), pods)
    expected = expected_of(drawn)
    assert [each.chosen for each in expected] == ["a", "a", "b", "a", "b"]
    assert [each.best.parts["InterPodAffinity"] for each in expected[-2:]] == [
        {"a": 100, "b": 50, "c": 0},
        {"b": 100, "c": 0},
    ]
    assert not list(disagreements(drawn, expected, default_policy()))


def test_the_clusters_are_of_all_kinds() -> None:
    """Every filter refuses, every score tells nodes apart, many pods find a place and many find none."""
    refusing, telling, found = set(), set(), []
    for seed in range(120):
        for expected in expected_of(case(seed)):
            refusing |= {plugin for plugin, _ in expected.refusals}
            telling |= {name for name, scores in expected.best.parts.items() if len(set(scores.values())) > 1}
            found.append(bool(expected.chosen))
    assert refusing == FILTERS.keys()
    assert telling == SCORES.keys()
    assert 0.2 < found.count(False) / len(found) < 0.6


def test_a_seed_always_draws_the_same() -> None:
    assert case(7) == case(7)
    assert case(7) != case(8)
