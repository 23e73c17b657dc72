"""PodDisruptionBudgets as preemption sees them: plain data, made by whoever reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairlead.model.selectors import LabelSelector
from fairlead.schedule.snapshot import Placed


@dataclass(frozen=True, slots=True)
class Budget:
    namespace: str
    selector: LabelSelector
    allowed: int  # status.disruptionsAllowed
    disrupted: frozenset[str] = frozenset()  # uids of pods whose eviction is counted already


def breaking(pods: Sequence[Placed], budgets: Sequence[Budget]) -> set[str]:
    """Uids of those whose eviction, after that of the ones before them, some budget does not allow."""
    left = [budget.allowed for budget in budgets]
    found = set()
    for pod in pods:
        for place, budget in enumerate(budgets):
            facts = pod.facts
            if budget.namespace != facts.namespace or pod.uid in budget.disrupted or not facts.labels:
                continue
            if budget.selector.matches(facts.labels):
                left[place] -= 1
                if left[place] < 0:
                    found.add(pod.uid)
    return found
