"""StatefulSet (apps/v1): numbered pods, each with its own name and claims.

Read by `model/catalog.py`. Little of a StatefulSet may change after it was created: `_MUTABLE` lists it.
"""

from __future__ import annotations

from typing import Any

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
    part,
    replica_counts,
    show_status,
)
from fairlead.model.kinds.workload_columns import PROGRESS, ready_column, template_columns

_MUTABLE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
_FROZEN = (
    "updates to statefulset spec for fields other than "
    + ", ".join(f"'{name}'" for name in _MUTABLE[:-1])
    + f" and '{_MUTABLE[-1]}' are forbidden"
)
_RETENTION = ("Delete", "Retain")
_STATUS_COUNTERS = (
    "replicas",
    "readyReplicas",
    "currentReplicas",
    "updatedReplicas",
    "availableReplicas",
    "observedGeneration",
    "collisionCount",
)


def _default_status(obj: Json) -> None:
    show_status(obj, "replicas", "availableReplicas")


def _defaults(obj: Json) -> None:
    _default_status(obj)
    spec = ensure_object(obj, "spec")
    choose(spec, "podManagementPolicy", "OrderedReady")
    strategy = ensure_object(spec, "updateStrategy")
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        ensure_object(strategy, "rollingUpdate")
    if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        fill(strategy["rollingUpdate"], "partition", 0)
    retention = ensure_object(spec, "persistentVolumeClaimRetentionPolicy")
    choose(retention, "whenDeleted", "Retain")
    choose(retention, "whenScaled", "Retain")
    fill(spec, "replicas", 1)
    fill(spec, "revisionHistoryLimit", 10)
    default_template(spec)
    for claim in spec.get("volumeClaimTemplates") or ():
        _default_claim(claim)


def _default_claim(claim: Json) -> None:
    fill(claim, "apiVersion", "v1")
    fill(claim, "kind", "PersistentVolumeClaim")
    fill(ensure_object(claim, "spec"), "volumeMode", "Filesystem")
    fill(ensure_object(claim, "status"), "phase", "Pending")


def _check_strategy(strategy: Json, problems: Problems) -> None:
    path = "spec.updateStrategy"
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        if rolling is not None:
            problems.invalid(
                f"{path}.rollingUpdate", rolling, "only allowed for updateStrategy 'RollingUpdate'"
            )
    elif kind != "RollingUpdate":
        problems.invalid(path, strategy, "must be 'RollingUpdate' or 'OnDelete'")
    elif rolling is not None:
        check_counters(rolling, ("partition",), f"{path}.rollingUpdate", problems)
        unavailable = rolling.get("maxUnavailable")
        if unavailable is not None:
            _check_unavailable(unavailable, f"{path}.rollingUpdate.maxUnavailable", problems)


def _check_unavailable(value: Any, path: str, problems: Problems) -> None:
    check_amount(value, path, problems)
    if amount(value) == 0:
        problems.invalid(path, value, "cannot be 0")
    check_at_most_all(value, path, problems)


def _validate(obj: Json, problems: Problems) -> None:
    spec = part(obj, "spec")
    management = spec.get("podManagementPolicy")
    if management not in ("OrderedReady", "Parallel"):
        problems.invalid("spec.podManagementPolicy", management, "must be 'OrderedReady' or 'Parallel'")
    _check_strategy(part(spec, "updateStrategy"), problems)
    retention = part(spec, "persistentVolumeClaimRetentionPolicy")
    for name in ("whenDeleted", "whenScaled"):
        if name in retention and retention[name] not in _RETENTION:
            problems.unsupported(
                f"spec.persistentVolumeClaimRetentionPolicy.{name}", retention[name], _RETENTION
            )
    check_counters(spec, ("replicas", "minReadySeconds", "revisionHistoryLimit"), "spec", problems)
    check_counters(part(spec, "ordinals"), ("start",), "spec.ordinals", problems)
    check_selector(spec, "statefulset", "spec", problems)
    check_selection(spec, "spec", problems)
    check_template(spec, "StatefulSet", "spec", problems)


def _validate_update(new: Json, old: Json, problems: Problems) -> None:
    spec, before = part(new, "spec"), part(old, "spec")
    names = (spec.keys() | before.keys()) - set(_MUTABLE)
    if any(spec.get(name) != before.get(name) for name in names):
        problems.forbidden("spec", _FROZEN)


KIND = Kind(
    group="apps",
    version="v1",
    kind="StatefulSet",
    plural="statefulsets",
    namespaced=True,
    schema="StatefulSet",
    short_names=("sts",),
    categories=("all",),
    subresources=("status", "scale"),
    scale=Scale(("spec", "replicas"), ("status", "replicas"), ("spec", "selector")),
    columns=(
        ready_column("Number of the pod with ready state"),
        AGE,
        *template_columns(with_selector=False),
        PROGRESS,
    ),
    defaults=_defaults,
    status_defaults=_default_status,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=replica_counts(
        _STATUS_COUNTERS,
        ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
        "status.readyReplicas",
    ),
)
