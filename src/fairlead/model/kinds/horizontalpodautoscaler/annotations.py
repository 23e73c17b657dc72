"""What autoscaling/v1 cannot say of a HorizontalPodAutoscaler, as Kubernetes puts it into annotations, and back.

Called by `versions.py`. Metrics are written there in the form that they had before autoscaling/v2, and the
behaviour under Go's names of its fields: older clients expect both. What cannot be read counts as not said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from fairlead.core.quantity import from_json
from fairlead.core.times import parse_time
from fairlead.model.kind import Json
from fairlead.model.kinds.horizontalpodautoscaler.older_metrics import (
    Amount,
    Int32,
    OlderMetric,
    newer,
    older,
    tree_of,
)

METRICS = "autoscaling.alpha.kubernetes.io/metrics"
BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"
CURRENT_METRICS = "autoscaling.alpha.kubernetes.io/current-metrics"
CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"

_Read = TypeVar("_Read")


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""
    lastTransitionTime: str | None = None  # noqa: N815
    reason: str | None = None
    message: str | None = None


class _Policy(msgspec.Struct, rename="pascal"):
    type: str = ""
    value: Int32 = 0
    period_seconds: Int32 = 0


class _Rules(msgspec.Struct, rename="pascal"):
    stabilization_window_seconds: Int32 | None = None
    select_policy: str | None = None
    policies: list[_Policy] | None = None
    tolerance: Amount | None = None


class _Behavior(msgspec.Struct, rename="pascal"):
    scale_up: _Rules | None = None
    scale_down: _Rules | None = None


def text_of_metrics(metrics: Sequence[Json]) -> str:
    """For METRICS."""
    return _text([older(each, "target") for each in metrics])


def text_of_findings(findings: Sequence[Json]) -> str:
    """For CURRENT_METRICS."""
    return _text([older(each, "current") for each in findings])


def text_of_conditions(conditions: Sequence[Json]) -> str:
    """For CONDITIONS."""
    return _text([_filled(_Condition, each) for each in conditions])


def text_of_behavior(behavior: Json) -> str:
    """For BEHAVIOR. What is not set is null there."""
    rules = [_rules_of(behavior.get(name)) for name in ("scaleUp", "scaleDown")]
    return msgspec.json.encode(_Behavior(*rules)).decode()


def metrics_in(annotations: Mapping[str, str]) -> list[Json] | None:
    found = _read(annotations, METRICS, list[OlderMetric])
    return None if found is None else newer(found, "target")


def findings_in(annotations: Mapping[str, str]) -> list[Json] | None:
    found = _read(annotations, CURRENT_METRICS, list[OlderMetric])
    return None if found is None else newer(found, "current")


def conditions_in(annotations: Mapping[str, str]) -> list[Json] | None:
    found = _read(annotations, CONDITIONS, list[_Condition])
    if found is None:
        return None
    try:
        for each in found:
            if each.lastTransitionTime is not None:
                parse_time(each.lastTransitionTime)
    except ValueError:
        return None
    return [tree_of(each) for each in found]


def behavior_in(annotations: Mapping[str, str]) -> Json | None:
    found = _read(annotations, BEHAVIOR, _Behavior)
    if found is None:
        return None
    told = {"scaleUp": _rules(found.scale_up), "scaleDown": _rules(found.scale_down)}
    return {name: rules for name, rules in told.items() if rules is not None} or None


def _text(items: list[Any]) -> str:
    return msgspec.json.encode([tree_of(each) for each in items]).decode()


def _filled(kind: type[_Read], tree: Json) -> _Read:
    return msgspec.convert(tree, kind)


def _read(annotations: Mapping[str, str], name: str, kind: type[_Read]) -> _Read | None:
    text = annotations.get(name)
    if text is None:
        return None
    try:
        found = msgspec.json.decode(text, type=kind)
        _check_amounts(found)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return found


def _check_amounts(value: Any) -> None:
    """ValueError if one is none."""
    if isinstance(value, list):
        for each in value:
            _check_amounts(each)
    elif isinstance(value, msgspec.Struct):
        for name, each in msgspec.structs.asdict(value).items():
            if name.lower().endswith(("value", "tolerance")) and not isinstance(value, _Policy):
                _check_amounts_of(each)
            else:
                _check_amounts(each)


def _check_amounts_of(amount: Amount | None) -> None:
    if amount is not None:
        from_json(amount)


# Behaviour


def _rules_of(rules: Json | None) -> _Rules | None:
    if rules is None:
        return None
    policies = [
        _Policy(each.get("type") or "", each.get("value") or 0, each.get("periodSeconds") or 0)
        for each in rules.get("policies") or ()
    ]
    return _Rules(
        rules.get("stabilizationWindowSeconds"),
        rules.get("selectPolicy"),
        policies or None,
        rules.get("tolerance"),
    )


def _rules(rules: _Rules | None) -> Json | None:
    if rules is None:
        return None
    told: Json = {
        "stabilizationWindowSeconds": rules.stabilization_window_seconds,
        "selectPolicy": rules.select_policy,
        "tolerance": rules.tolerance,
    }
    found = {name: value for name, value in told.items() if value is not None}
    if rules.policies is not None:
        found["policies"] = [
            {"type": each.type, "value": each.value, "periodSeconds": each.period_seconds}
            for each in rules.policies
        ]
    return found
