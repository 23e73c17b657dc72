"""PodDisruptionBudget (policy/v1): how many of the selected pods evictions must leave alone.

Read by `model/catalog.py`. Everything in it may change; the arithmetic is done where evictions are judged.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.cells import AGE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.workload import check_amount, check_at_most_all, check_counters, part, show_status
from fairlead.model.kinds.workload_columns import counter
from fairlead.model.selectors import validate_label_selector

_AMOUNTS = ("minAvailable", "maxUnavailable")
_EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
_STATUS_COUNTERS = (
    "disruptionsAllowed",
    "currentHealthy",
    "desiredHealthy",
    "expectedPods",
    "observedGeneration",
)


def _defaults(obj: Json) -> None:
    show_status(obj, "currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")


def _validate(obj: Json, problems: Problems) -> None:
    spec = part(obj, "spec")
    if all(spec.get(name) is not None for name in _AMOUNTS):
        problems.invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set")
    for name in _AMOUNTS:
        value = spec.get(name)
        if value is not None:
            check_amount(value, f"spec.{name}", problems)
            check_at_most_all(value, f"spec.{name}", problems)
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _EVICTION_POLICIES:
        problems.unsupported("spec.unhealthyPodEvictionPolicy", policy, _EVICTION_POLICIES)
    validate_label_selector(spec.get("selector"), "spec.selector", problems)


def _validate_status(new: Json, old: Json, problems: Problems) -> None:
    check_counters(part(new, "status"), _STATUS_COUNTERS, "status", problems)


def _warnings(obj: Json) -> list[str]:
    spec = part(obj, "spec")
    if any(spec.get(name) is not None for name in _AMOUNTS):
        return []
    return ["spec: neither minAvailable nor maxUnavailable is set; such a budget allows no disruption"]


def _amount(name: str) -> Column:
    def cell(obj: Json, now: float) -> Cell:
        value = part(obj, "spec").get(name)
        return "N/A" if value is None else str(value)

    return Column("Min Available" if name == "minAvailable" else "Max Unavailable", cell)


KIND = Kind(
    group="policy",
    version="v1",
    kind="PodDisruptionBudget",
    plural="poddisruptionbudgets",
    namespaced=True,
    schema="PodDisruptionBudget",
    short_names=("pdb",),
    subresources=("status",),
    columns=(
        _amount("minAvailable"),
        _amount("maxUnavailable"),
        counter("Allowed Disruptions", "status", "disruptionsAllowed"),
        AGE,
    ),
    defaults=_defaults,
    validate=_validate,
    validate_status=_validate_status,
    warnings=_warnings,
)
