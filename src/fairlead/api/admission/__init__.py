"""The ordered chain that every write passes between defaulting and validation.

Later capabilities extend the chain by adding an AdmissionStep (`step.py`) to the tuple; order is the order of the
tuple.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fairlead.api.access.breakglass import judging
from fairlead.api.admission import (
    audit_policies,
    certificates,
    chaos,
    claims_of_sets,
    default_tolerations,
    definitions,
    finalizers,
    flow_schemas,
    limits,
    namespace_lifecycle,
    node_authors,
    node_restriction,
    plane_conditions,
    policy_status,
    priority,
    quotas,
    runtime_class,
    sealed_pods,
    service_account,
    services,
)
from fairlead.api.admission.override import steps as override
from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.core.bounded_dict import BoundedDict
from fairlead.model.kind import Kind
from fairlead.store.contract import Entry, Reader

# Custom kinds come and go: what is remembered of writes is bounded, and chosen anew past it.
_CASES_KEPT = 1024

DEFAULT_STEPS: tuple[AdmissionStep, ...] = (
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
    chaos.STEP,
    certificates.STEP,
    *flow_schemas.STEPS,
    *override.STEPS,
    policy_status.STEP,
    finalizers.STEP,
    judging.STEP,
)


# Of servers that pods can reach, and whose certificate is published.
SERVING_STEPS = tuple(
    each
    for step in DEFAULT_STEPS
    for each in ((step, service_account.MOUNT_STEP) if step is service_account.STEP else (step,))
)


class _Case(NamedTuple):
    """One sort of write: who sees it, and who of them looks at more than a new spec."""

    steps: tuple[AdmissionStep, ...]
    beside_spec: tuple[AdmissionStep, ...]
    names: frozenset[str]


class AdmissionChain:
    """The steps in order; remembers which of them see which kind of write."""

    __slots__ = ("_cases", "_resources", "steps")

    def __init__(self, steps: tuple[AdmissionStep, ...] = DEFAULT_STEPS) -> None:
        self.steps = steps
        self._cases: BoundedDict[tuple[str, str, str], _Case] = BoundedDict(_CASES_KEPT)
        self._resources: BoundedDict[str, tuple[str, ...]] = BoundedDict(_CASES_KEPT)

    def admit(self, attempt: Attempt) -> None:
        case = self._case(attempt.kind.resource, attempt.verb, attempt.subresource)
        # What the steps of a spec would do has been done to one that is known (`api/spec_cache.py`).
        for step in case.beside_spec if attempt.spec is not None else case.steps:
            step.admit(attempt)

    def names_of_steps(self, resource: str, verb: str, subresource: str) -> frozenset[str]:
        """Who sees such a write."""
        return self._case(resource, verb, subresource).names

    def rests_on(self, kind: Kind, read: Reader) -> tuple[Sequence[Entry], ...]:
        """All that the steps of a spec look at when one such object is created."""
        found = self._resources.get(kind.resource)
        if found is None:
            steps = [step for step in self.steps if step.sees(kind.resource, "create", "")]
            found = tuple([each for step in steps for each in step.of_spec or ()])
            self._resources.keep(kind.resource, found)
        return tuple([read.list(each) for each in found])

    def _case(self, resource: str, verb: str, subresource: str) -> _Case:
        case = self._cases.get((resource, verb, subresource))
        if case is None:
            steps = tuple(step for step in self.steps if step.sees(resource, verb, subresource))
            beside_spec = tuple(step for step in steps if step.of_spec is None)
            case = _Case(steps, beside_spec, frozenset(step.name for step in steps))
            self._cases.keep((resource, verb, subresource), case)
        return case
