"""HorizontalPodAutoscaler (autoscaling/v2): keeps the size of a workload in step with its load.

Read by `model/catalog.py`. Metrics, their rules and how they are shown are in `metrics.py`; the older
version is `kind_v1.py`.
"""

from __future__ import annotations

from typing import Any

from fairlead.core.problems import Problems
from fairlead.core.quantity import from_json
from fairlead.model.cells import AGE
from fairlead.model.kind import Cell, Column, Conversion, Json, Kind
from fairlead.model.kinds.horizontalpodautoscaler.metrics import (
    check_metrics,
    check_reference,
    spell_targets,
    targets_text,
)
from fairlead.model.kinds.horizontalpodautoscaler.versions import V1, as_v1, as_v2
from fairlead.model.kinds.workload import check_counters, choose, ensure_object, fill, part, show_status
from fairlead.model.kinds.workload_columns import counter

_WINDOW_MAX = 3600
_PERIOD_MAX = 1800
_SELECTIONS = ("Disabled", "Max", "Min")
_POLICIES = ("Percent", "Pods")


def _defaults(obj: Json) -> None:
    show_status(obj, "desiredReplicas")
    spec = ensure_object(obj, "spec")
    fill(spec, "minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    spell_targets(spec["metrics"])
    behavior = spec.get("behavior")
    if behavior is None:
        return
    up, down = ensure_object(behavior, "scaleUp"), ensure_object(behavior, "scaleDown")
    fill(up, "stabilizationWindowSeconds", 0)
    choose(up, "selectPolicy", "Max")
    fill(up, "policies", [_policy("Pods", 4), _policy("Percent", 100)])
    # Scaling down has no default window: the autoscaler's own setting applies.
    choose(down, "selectPolicy", "Max")
    fill(down, "policies", [_policy("Percent", 100)])


def _policy(kind: str, value: int) -> Json:
    return {"type": kind, "value": value, "periodSeconds": 15}


def _validate(obj: Json, problems: Problems) -> None:
    spec = part(obj, "spec")
    least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if least is not None and least < 1:
        problems.invalid("spec.minReplicas", least, "must be greater than or equal to 1")
    if most < 1:
        problems.invalid("spec.maxReplicas", most, "must be greater than 0")
    if least is not None and most < least:
        problems.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    check_reference(part(spec, "scaleTargetRef"), "spec.scaleTargetRef", problems)
    check_metrics(spec.get("metrics") or (), "spec.metrics", problems)
    behavior = part(spec, "behavior")
    for name in ("scaleUp", "scaleDown"):
        if behavior.get(name) is not None:
            _check_rules(behavior[name], f"spec.behavior.{name}", problems)


def _check_rules(rules: Json, path: str, problems: Problems) -> None:
    window, selection = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy")
    if window is not None:
        _check_bounds(window, 0, _WINDOW_MAX, f"{path}.stabilizationWindowSeconds", problems)
    if selection is not None and selection not in _SELECTIONS:
        problems.unsupported(f"{path}.selectPolicy", selection, _SELECTIONS)
    policies = rules.get("policies") or ()
    if not policies:
        problems.required(f"{path}.policies", "must specify at least one Policy")
    for index, policy in enumerate(policies):
        at = f"{path}.policies[{index}]"
        if policy.get("type") not in _POLICIES:
            problems.unsupported(f"{at}.type", policy.get("type"), _POLICIES)
        _check_bounds(policy.get("value") or 0, 1, None, f"{at}.value", problems)
        _check_bounds(policy.get("periodSeconds") or 0, 1, _PERIOD_MAX, f"{at}.periodSeconds", problems)
    if rules.get("tolerance") is not None:
        _check_tolerance(rules["tolerance"], f"{path}.tolerance", problems)


def _check_bounds(value: int, least: int, most: int | None, path: str, problems: Problems) -> None:
    if value < least:
        problems.invalid(path, value, "must be greater than " + ("zero" if least else "or equal to zero"))
    if most is not None and value > most:
        problems.invalid(path, value, f"must be less than or equal to {most}")


def _check_tolerance(value: Any, path: str, problems: Problems) -> None:
    if from_json(value).nano < 0:
        problems.invalid(path, value, "must be greater or equal to 0")


def _validate_status(new: Json, old: Json, problems: Problems) -> None:
    check_counters(part(new, "status"), ("currentReplicas", "desiredReplicas"), "status", problems)


def _reference(obj: Json, now: float) -> Cell:
    target = part(part(obj, "spec"), "scaleTargetRef")
    return f"{target.get('kind') or ''}/{target.get('name') or ''}"


def _targets(obj: Json, now: float) -> Cell:
    statuses = part(obj, "status").get("currentMetrics") or ()
    return targets_text(part(obj, "spec").get("metrics") or (), statuses)


def _least(obj: Json, now: float) -> Cell:
    value = part(obj, "spec").get("minReplicas")
    return "<unset>" if value is None else str(value)


KIND = Kind(
    group="autoscaling",
    version="v2",
    kind="HorizontalPodAutoscaler",
    plural="horizontalpodautoscalers",
    namespaced=True,
    schema="HorizontalPodAutoscaler",
    short_names=("hpa",),
    categories=("all",),
    subresources=("status",),
    columns=(
        Column("Reference", _reference),
        Column("Targets", _targets),
        Column("MinPods", _least),
        counter("MaxPods", "spec", "maxReplicas", kind="string"),
        counter("Replicas", "status", "currentReplicas", kind="string"),
        AGE,
    ),
    defaults=_defaults,
    validate=_validate,
    validate_status=_validate_status,
    conversions=(Conversion(V1, "HorizontalPodAutoscalerV1", as_v1, as_v2),),
)
