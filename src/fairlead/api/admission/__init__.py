"""The ordered chain that every write passes between defaulting and validation.

Later capabilities extend the chain by adding a Step (`step.py`) to the tuple; order is the order of the tuple.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.api.admission import (
    audit_policies,
    claims_of_sets,
    default_tolerations,
    definitions,
    limits,
    namespace_lifecycle,
    node_authors,
    node_restriction,
    plane_conditions,
    priority,
    quotas,
    runtime_class,
    sealed_pods,
    service_account,
    services,
)
from fairlead.api.admission.step import Step
from fairlead.api.attempt import Attempt
from fairlead.model.kind import Kind
from fairlead.store.contract import Entry, Reader

# Custom kinds come and go: what is remembered of writes is bounded, and chosen anew past it.
_CASES_KEPT = 1024

DEFAULT_STEPS: tuple[Step, ...] = (
    namespace_lifecycle.STEP,
    node_restriction.STEP,
    node_authors.STEP,
    plane_conditions.STEP,
    sealed_pods.STEP,
    service_account.STEP,
    default_tolerations.STEP,
    runtime_class.STEP,
    priority.STEP,
    priority.CLASS_STEP,
    limits.STEP,
    services.STEP,
    claims_of_sets.STEP,
    *quotas.STEPS,
    *definitions.STEPS,
    audit_policies.STEP,
)


class Chain:
    """The steps in order; remembers which of them see which kind of write."""

    __slots__ = ("_chosen", "_resources", "steps")

    def __init__(self, steps: tuple[Step, ...] = DEFAULT_STEPS) -> None:
        self.steps = steps
        self._chosen: dict[tuple[str, str, str], tuple[tuple[Step, ...], tuple[Step, ...]]] = {}
        self._resources: dict[str, tuple[str, ...]] = {}

    def admit(self, attempt: Attempt) -> None:
        # What the steps of a spec would do has been done to one that is known (`api/alike.py`).
        for step in self._chosen_for(attempt)[attempt.spec is not None]:
            step.admit(attempt)

    def rests_on(self, kind: Kind, read: Reader) -> tuple[Sequence[Entry], ...]:
        """All that the steps of a spec look at when one such object is created."""
        found = self._resources.get(kind.resource)
        if found is None:
            steps = [step for step in self.steps if step.sees(kind.resource, "create", "")]
            found = tuple([each for step in steps for each in step.of_spec or ()])
            if len(self._resources) >= _CASES_KEPT:
                self._resources.clear()
            self._resources[kind.resource] = found
        return tuple([read.list(each) for each in found])

    def _chosen_for(self, attempt: Attempt) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
        """All steps that see such a write, and those of them that look at more than a new spec."""
        case = (attempt.kind.resource, attempt.verb, attempt.subresource)
        chosen = self._chosen.get(case)
        if chosen is None:
            seeing = tuple(step for step in self.steps if step.sees(*case))
            if len(self._chosen) >= _CASES_KEPT:
                self._chosen.clear()
            chosen = self._chosen[case] = seeing, tuple(step for step in seeing if step.of_spec is None)
        return chosen
