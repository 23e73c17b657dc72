"""The code picks the victims that the oracle picks, on generated clusters with little room."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.selectors import from_object
from fairlead.model.views import Pod
from fairlead.schedule.budgets import EvictionBudget
from fairlead.schedule.cycle import Cycle
from fairlead.schedule.registry import default_policy
from tests.conftest import SOAK
from tests.oracle.cluster import Cluster, priority
from tests.oracle.filters import feasible
from tests.oracle.generating import crowded
from tests.oracle.kernel import snapshot_of, viewed
from tests.oracle.preemption import Candidate, preempt

Json = dict[str, Any]

CLUSTERS = 5_000 if SOAK else 400
PORTION = 100


def with_priorities(cluster: Cluster) -> Cluster:
    """As the API server leaves pods: the class's number is in the pod."""
    for pod in cluster.pods:
        pod["spec"]["priority"] = priority(pod, cluster)
    return cluster


def budgets(cluster: Cluster) -> tuple[EvictionBudget, ...]:
    found = []
    for each in cluster.budgets:
        space, status = each["metadata"]["namespace"], each["status"]
        selector = from_object(each["spec"].get("selector"))
        gone = frozenset(status.get("disruptedPods", {}))
        found.append(EvictionBudget(space, selector, status.get("disruptionsAllowed", 0), gone))
    return tuple(found)


def expected(found: Candidate | None) -> tuple[str, list[str], int]:
    if found is None:
        return "", [], 0
    return found.node, [victim["metadata"]["name"] for victim in found.victims], found.broken


@pytest.mark.parametrize("first", range(0, CLUSTERS, PORTION))
def test_the_code_evicts_whom_the_oracle_evicts(first: int) -> None:
    told, tried, helped = [], 0, 0
    for seed in range(first, first + PORTION):
        drawn = crowded(seed)
        cluster = with_priorities(drawn.cluster)
        for pod in drawn.pods:
            pod["spec"]["priority"] = priority(pod, cluster)
            if feasible(pod, cluster):
                continue
            tried += 1
            snapshot = snapshot_of(cluster)
            snapshot.budgets = budgets(cluster)
            cycle = Cycle(snapshot, default_policy())
            attempt = cycle.place(viewed(pod, Pod), assume=False)
            found = (
                attempt.nominated,
                [victim.key.name for victim in attempt.victims],
                sum(victim.breaks_budget for victim in attempt.victims),
            )
            wanted = expected(preempt(pod, cluster))
            helped += bool(wanted[0])
            if found != wanted:
                told.append(
                    f"seed {seed}, pod {pod['metadata']['name']}: oracle {wanted}, code {found}; {attempt.message}"
                )
    assert not told, f"{len(told)} of {tried}\n" + "\n".join(told[:20])
    assert helped > PORTION // 10
