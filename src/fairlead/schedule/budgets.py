"""PodDisruptionBudgets as preemption sees them: plain data, part of the snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairlead.model import views
from fairlead.model.selectors import LabelMatcher, from_object

if TYPE_CHECKING:
    from fairlead.schedule.snapshot import Placed


@dataclass(frozen=True, slots=True)
class EvictionBudget:
    namespace: str
    selector: LabelMatcher
    allowed: int  # status.disruptionsAllowed
    disrupted: frozenset[str] = frozenset()  # names of pods whose eviction is counted already


def budget_of(view: views.DisruptionBudget) -> EvictionBudget:
    """What it allows now. One that its controller has not looked at yet allows nothing."""
    status, meta = view.status, view.metadata
    allowed = status.disruptions_allowed if status.observed_generation >= meta.generation else 0
    return EvictionBudget(
        meta.namespace, from_object(view.spec.selector), allowed, frozenset(status.disrupted_pods)
    )


def find_breaking(pods: Sequence[Placed], budgets: Sequence[EvictionBudget]) -> set[str]:
    """Uids of those whose eviction, after that of the ones before them, some budget does not allow."""
    left = [budget.allowed for budget in budgets]
    found = set()
    for pod in pods:
        for place, budget in enumerate(budgets):
            facts = pod.facts
            if budget.namespace != facts.namespace or pod.key.name in budget.disrupted or not facts.labels:
                continue
            if budget.selector.matches(facts.labels):
                left[place] -= 1
                if left[place] < 0:
                    found.add(pod.uid)
    return found
