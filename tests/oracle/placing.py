"""What the oracle expects of a case: each pod judged on the cluster that the pods before it have left."""

from __future__ import annotations

from typing import NamedTuple

from tests.oracle.filters import FILTERS, refusal
from tests.oracle.generating import Case
from tests.oracle.scores import SCORES, Best, Scoring, best


class Expected(NamedTuple):
    feasible: set[str]
    refusals: dict[tuple[str, str], int]  # (plugin, reason) -> nodes
    best: Best
    refused_by: list[str]  # the first filter that refuses it, for each node; "" for those that are feasible

    def left_after(self, plugin: str) -> int:
        """Nodes that no filter up to this one refuses."""
        order = list(FILTERS)
        so_far = order[: order.index(plugin) + 1]
        return sum(each not in so_far for each in self.refused_by)

    @property
    def chosen(self) -> str:
        """Of equals the first by name; "" if it fits nowhere."""
        return self.best.nodes[0] if self.best.nodes else ""


def expected_of(case: Case, scoring: Scoring = SCORES) -> list[Expected]:
    cluster, found = case.cluster, []
    for pod in case.pods:
        first = {node["metadata"]["name"]: refusal(pod, node, cluster) for node in cluster.nodes}
        reasons = [(each[0], reason) for each in first.values() if each is not None for reason in each[1]]
        expected = Expected(
            feasible={name for name, refused in first.items() if refused is None},
            refusals={each: reasons.count(each) for each in reasons},
            best=best(pod, cluster, scoring),
            refused_by=["" if refused is None else refused[0] for refused in first.values()],
        )
        found.append(expected)
        if expected.chosen:
            cluster = cluster.with_pod(pod, expected.chosen)
    return found
