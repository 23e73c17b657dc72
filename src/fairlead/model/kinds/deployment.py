"""Deployment (apps/v1): replicas of a template, replaced gradually when the template changes.

Read by `model/catalog.py`. The rules for selectors and templates are shared and live in `workload.py`.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.cells import AGE
from fairlead.model.kind import Json, Kind, Scale
from fairlead.model.kinds.workload import (
    amount,
    check_amount,
    check_at_most_all,
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
    replica_counts,
    show_status,
)
from fairlead.model.kinds.workload_columns import PROGRESS, counter, ready_column, template_columns

_COUNTERS = ("replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
_STATUS_COUNTERS = (
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "unknownReplicas",
    "terminatingReplicas",
    "collisionCount",
)


def _default_status(obj: Json) -> None:
    show_status(obj)


def _defaults(obj: Json) -> None:
    _default_status(obj)
    spec = ensure_object(obj, "spec")
    fill(spec, "replicas", 1)
    strategy = ensure_object(spec, "strategy")
    choose(strategy, "type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = ensure_object(strategy, "rollingUpdate")
        fill(rolling, "maxUnavailable", "25%")
        fill(rolling, "maxSurge", "25%")
    fill(spec, "revisionHistoryLimit", 10)
    fill(spec, "progressDeadlineSeconds", 600)
    default_template(spec)


def _check_strategy(strategy: Json, problems: Problems) -> None:
    path = "spec.strategy"
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            problems.forbidden(
                f"{path}.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'"
            )
        return
    if kind != "RollingUpdate":
        problems.unsupported(f"{path}.type", kind, ("Recreate", "RollingUpdate"))
        return
    path, rolling = f"{path}.rollingUpdate", rolling or {}
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    check_amount(unavailable, f"{path}.maxUnavailable", problems)
    check_amount(surge, f"{path}.maxSurge", problems)
    if amount(unavailable) == 0 and amount(surge) == 0:
        problems.invalid(f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
    check_at_most_all(unavailable, f"{path}.maxUnavailable", problems)


def _validate(obj: Json, problems: Problems) -> None:
    spec = part(obj, "spec")
    check_counters(spec, _COUNTERS, "spec", problems)
    check_selector(spec, "deployment", "spec", problems)
    check_selection(spec, "spec", problems)
    # The owner of the pods is the ReplicaSet, and so is the word in the message.
    check_template(spec, "ReplicaSet", "spec", problems)
    _check_strategy(part(spec, "strategy"), problems)
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= (spec.get("minReadySeconds") or 0):
        problems.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


KIND = Kind(
    group="apps",
    version="v1",
    kind="Deployment",
    plural="deployments",
    namespaced=True,
    schema="Deployment",
    short_names=("deploy",),
    categories=("all",),
    status_metadata=("annotations",),
    subresources=("status", "scale"),
    scale=Scale(("spec", "replicas"), ("status", "replicas"), ("spec", "selector")),
    columns=(
        ready_column("Number of the pod with ready state"),
        counter("Up-to-date", "status", "updatedReplicas", kind="string"),
        counter("Available", "status", "availableReplicas", kind="string"),
        AGE,
        *template_columns(),
        PROGRESS,
    ),
    defaults=_defaults,
    status_defaults=_default_status,
    validate=_validate,
    validate_update=keep_selector,
    validate_status=replica_counts(
        _STATUS_COUNTERS, ("updatedReplicas", "readyReplicas", "availableReplicas"), "readyReplicas"
    ),
)
