"""What the oracle says of preemption makes sense on generated clusters: it helps, and nobody leaves in vain."""

from __future__ import annotations

from typing import Any

from tests.oracle.cluster import Cluster, priority
from tests.oracle.filters import feasible
from tests.oracle.generating import crowded
from tests.oracle.preemption import Candidate, candidates, pick

Json = dict[str, Any]

CLUSTERS = 300


def refused(clusters: int) -> list[tuple[Json, Cluster]]:
    """Pods that fit nowhere, first of their kind, with the cluster that they do not fit into."""
    return [
        (pod, drawn.cluster)
        for drawn in map(crowded, range(clusters))
        for pod in drawn.pods[:1]
        if not feasible(pod, drawn.cluster)
    ]


def tried_out() -> list[tuple[Json, Cluster, list[Candidate]]]:
    found = [(pod, cluster, candidates(pod, cluster)) for pod, cluster in refused(CLUSTERS)]
    return [(pod, cluster, several) for pod, cluster, several in found if several]


def test_whoever_is_pushed_out_is_lower_and_makes_room_and_is_needed() -> None:
    seen = tried_out()
    assert len(seen) > 40
    assert any(each.broken for _, _, several in seen for each in several)
    assert any(len(several) > 1 for _, _, several in seen)
    for pod, cluster, several in seen:
        for each in several:
            assert each.victims
            assert all(priority(victim, cluster) < priority(pod, cluster) for victim in each.victims)
            assert each.node in feasible(pod, cluster.without(each.victims))
            if pod["spec"].get("affinity") or pod["spec"].get("topologySpreadConstraints"):
                continue  # with fewer pods around less may be allowed
            for victim in each.victims:
                fewer = [other for other in each.victims if other is not victim]
                assert each.node not in feasible(pod, cluster.without(fewer))


def test_no_candidate_is_better_than_the_one_picked() -> None:
    for _, cluster, several in tried_out():
        picked = pick(several, cluster)
        assert picked is not None
        for each in several:
            worst = max(priority(victim, cluster) for victim in each.victims)
            least = max(priority(victim, cluster) for victim in picked.victims)
            assert (picked.broken, least) <= (each.broken, worst)
