"""The ordered chain that every write passes between defaulting and validation.

Later capabilities extend the chain by adding a Step (`step.py`) to the tuple; order is the order of the tuple.
"""

from __future__ import annotations

from fairlead.api.admission import (
    default_tolerations,
    limits,
    namespace_lifecycle,
    node_restriction,
    priority,
    quotas,
    service_account,
    services,
)
from fairlead.api.admission.step import Step
from fairlead.api.attempt import Attempt

DEFAULT_STEPS: tuple[Step, ...] = (
    namespace_lifecycle.STEP,
    node_restriction.STEP,
    service_account.STEP,
    default_tolerations.STEP,
    priority.STEP,
    priority.CLASS_STEP,
    limits.STEP,
    services.STEP,
    *quotas.STEPS,
)


class Chain:
    """The steps in order; remembers which of them see which kind of write."""

    __slots__ = ("_chosen", "steps")

    def __init__(self, steps: tuple[Step, ...] = DEFAULT_STEPS) -> None:
        self.steps = steps
        self._chosen: dict[tuple[str, str, str], tuple[Step, ...]] = {}

    def admit(self, attempt: Attempt) -> None:
        case = (attempt.kind.resource, attempt.verb, attempt.subresource)
        chosen = self._chosen.get(case)
        if chosen is None:
            chosen = self._chosen[case] = tuple(step for step in self.steps if step.sees(*case))
        for step in chosen:
            step.admit(attempt)
