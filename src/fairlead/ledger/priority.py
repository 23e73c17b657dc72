"""The priority that SchedulerOverrides give pods for a while, instead of their own. Used by who raises, and who places.

An override that names a PriorityClass has its value, as the server stamped it. Below a pod's own it holds for every pod
of the target that has no node yet: that takes nothing from anybody. Above it, it holds for the pods that the override's
status names (`raised`), no more than it allows at a time: the plane names them (`reconcile/overrides/raising.py`), and
the server counts them (`api/admission/override/steps.py`). Such a pod keeps it on its node until the override ends, or
else those who made room for it would take it back at once.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.ledger.override import Name, covers
from fairlead.model.kinds.scheduleroverride import NEVER
from fairlead.model.views import SchedulerOverride


def bears_on_priority(override: SchedulerOverride) -> bool:
    return override.spec.priority is not None and bool(override.spec.changes.priority_class_name)


def value_of(override: SchedulerOverride) -> int:
    return override.spec.priority.value if override.spec.priority is not None else 0


def preempts(override: SchedulerOverride) -> bool:
    """Whether those whom it raises may push others out: as the PriorityClass has it, unless the override forbids it."""
    stamped = override.spec.priority
    return stamped is not None and stamped.preemption_policy != NEVER


def raises(override: SchedulerOverride, uid: str, own: int) -> bool:
    """Whether it gives this pod a priority above its own."""
    return value_of(override) > own and any(each.uid == uid for each in override.status.raised)


def lowering(
    overrides: Iterable[SchedulerOverride], namespace: str, names: Iterable[Name], own: int
) -> SchedulerOverride | None:
    """Which of these lowers a pod that has no node yet; of several the lowest, then the first by name."""
    names = tuple(names)
    found = [each for each in overrides if value_of(each) < own and covers(each, namespace, names)]
    return min(found, key=lambda each: (value_of(each), each.metadata.name), default=None)
