"""DaemonSet (apps/v1): one pod on every node that fits.

Read by `model/catalog.py`. The rules for selectors and templates are shared and live in `workload.py`.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.cells import AGE, labels_text
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.workload import (
    amount,
    check_amount,
    check_at_most_all,
    check_collisions,
    check_counters,
    check_selection,
    check_selector,
    check_template,
    choose,
    default_template,
    ensure_object,
    fill,
    keep_selector,
    part,
    show_status,
)
from fairlead.model.kinds.workload_columns import PROGRESS, counter, template_columns

_STRATEGIES = ("OnDelete", "RollingUpdate")
_STATUS_COUNTERS = (
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
)


def _default_status(obj: Json) -> None:
    show_status(obj, "currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady")


def _defaults(obj: Json) -> None:
    _default_status(obj)
    spec = ensure_object(obj, "spec")
    strategy = ensure_object(spec, "updateStrategy")
    choose(strategy, "type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = ensure_object(strategy, "rollingUpdate")
        fill(rolling, "maxUnavailable", 1)
        fill(rolling, "maxSurge", 0)
    fill(spec, "revisionHistoryLimit", 10)
    default_template(spec)


def _check_strategy(strategy: Json, problems: Problems) -> None:
    path = "spec.updateStrategy"
    kind, rolling = strategy.get("type"), part(strategy, "rollingUpdate")
    if kind == "OnDelete":
        return
    if kind != "RollingUpdate":
        problems.unsupported(path, kind, _STRATEGIES)
        return
    path = f"{path}.rollingUpdate"
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    for name, value in (("maxUnavailable", unavailable), ("maxSurge", surge)):
        check_amount(value, f"{path}.{name}", problems)
        check_at_most_all(value, f"{path}.{name}", problems)
    if amount(unavailable) != 0 and amount(surge) != 0:
        problems.invalid(f"{path}.maxSurge", surge, "may not be set when maxUnavailable is non-zero")
    if amount(unavailable) == 0 and amount(surge) == 0:
        problems.required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")


def _validate(obj: Json, problems: Problems) -> None:
    spec = part(obj, "spec")
    check_selector(spec, "daemonset", "spec", problems)
    check_selection(spec, "spec", problems)
    check_template(spec, "DaemonSet", "spec", problems)
    check_counters(spec, ("minReadySeconds", "revisionHistoryLimit"), "spec", problems)
    _check_strategy(part(spec, "updateStrategy"), problems)


def _validate_status(new: Json, old: Json, problems: Problems) -> None:
    check_counters(part(new, "status"), _STATUS_COUNTERS, "status", problems)
    check_collisions(new, old, problems)


def _node_selector(obj: Json, now: float) -> Cell:
    return labels_text(part(part(part(obj, "spec"), "template"), "spec").get("nodeSelector"))


KIND = Kind(
    group="apps",
    version="v1",
    kind="DaemonSet",
    plural="daemonsets",
    namespaced=True,
    schema="DaemonSet",
    short_names=("ds",),
    categories=("all",),
    subresources=("status",),
    columns=(
        counter("Desired", "status", "desiredNumberScheduled"),
        counter("Current", "status", "currentNumberScheduled"),
        counter("Ready", "status", "numberReady"),
        counter("Up-to-date", "status", "updatedNumberScheduled"),
        counter("Available", "status", "numberAvailable"),
        Column("Node Selector", _node_selector, description="Labels a node needs to run a pod of the set."),
        AGE,
        *template_columns(),
        PROGRESS,
    ),
    defaults=_defaults,
    status_defaults=_default_status,
    validate=_validate,
    validate_update=keep_selector,
    validate_status=_validate_status,
)
