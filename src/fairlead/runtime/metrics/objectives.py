"""What was kept of ServiceLevelObjectives, summed when somebody asks, from the plane's mirror. Called by `plane.py`."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.control.plane import Plane
from fairlead.model.views.objectives import OBJECTIVES, ServiceLevelObjective, account_of
from fairlead.runtime.metrics.contract import Metric, MetricSample

#: bound: plane | ServiceLevelObjectives that metrics tell of | the rest is left out
OBJECTIVES_TOLD_MAX = 1000
_LABELS = ("namespace", "name")
PROMISED = Metric("fairlead_slo_objective_ratio", "The share of the time that is promised.", _LABELS)
AVAILABILITY = Metric(
    "fairlead_slo_availability_ratio", "The share that was kept, of the time seen within the window.", _LABELS
)
SPENT = Metric(
    "fairlead_slo_budget_spent_ratio",
    "What was missed within the window, of what may be; above 1 it is missed.",
    _LABELS,
)
BURN = Metric(
    "fairlead_slo_burn_rate",
    "How fast the budget is being spent, over the last hour or a 24th of the window; 1 spends all in a window.",
    _LABELS,
)
METRICS = (PROMISED, AVAILABILITY, SPENT, BURN)


def objective_samples(plane: Plane, now: float) -> Iterator[MetricSample]:
    mirror = plane.mirrors.get(OBJECTIVES.name)
    if mirror is None:
        return
    found = [each for each in mirror.index.all() if isinstance(each, ServiceLevelObjective)]
    accounts = [
        ((each.metadata.namespace, each.metadata.name), account_of(each.spec, each.status))
        for each in found[:OBJECTIVES_TOLD_MAX]
        if each.status.changes
    ]
    for labels, account in accounts:
        yield PROMISED.sample(account.objective / 100.0, *labels)
    for labels, account in accounts:
        yield AVAILABILITY.sample(round(account.availability(now), 6), *labels)
    for labels, account in accounts:
        yield SPENT.sample(round(account.spent(now), 6), *labels)
    for labels, account in accounts:
        yield BURN.sample(round(account.burn(now), 6), *labels)
