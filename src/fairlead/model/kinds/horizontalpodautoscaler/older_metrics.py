"""Metrics of a HorizontalPodAutoscaler in the form that they had before autoscaling/v2, and back.

Called by `annotations.py`: annotations of autoscaling/v1 hold them in this form.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from fairlead.core.quantity import from_json
from fairlead.model.kind import Json
from fairlead.model.kinds.workload import part

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Amount = str | int | float


class _Expression(msgspec.Struct):
    key: str
    operator: str
    values: list[str] | None = None


class _Selector(msgspec.Struct):
    matchLabels: dict[str, str] | None = None  # noqa: N815
    matchExpressions: list[_Expression] | None = None  # noqa: N815


class _Target(msgspec.Struct):
    kind: str = ""
    name: str = ""
    apiVersion: str | None = None  # noqa: N815


class _Source(msgspec.Struct):
    """Of any type: the fields of all of them, each under the name that wishes and findings have in common."""

    name: str | None = None
    container: str | None = None
    target: _Target | None = None
    metricName: str | None = None  # noqa: N815
    metricSelector: _Selector | None = None  # noqa: N815
    selector: _Selector | None = None
    averageValue: Amount | None = None  # noqa: N815
    targetValue: Amount | None = None  # noqa: N815
    targetAverageValue: Amount | None = None  # noqa: N815
    targetAverageUtilization: Int32 | None = None  # noqa: N815
    currentValue: Amount | None = None  # noqa: N815
    currentAverageValue: Amount | None = None  # noqa: N815
    currentAverageUtilization: Int32 | None = None  # noqa: N815


class OlderMetric(msgspec.Struct):
    type: str = ""
    object: _Source | None = None
    pods: _Source | None = None
    resource: _Source | None = None
    containerResource: _Source | None = None  # noqa: N815
    external: _Source | None = None


_PARTS = ("object", "pods", "resource", "containerResource", "external")


def older(metric: Json, side: str) -> OlderMetric:
    """A metric as it was written before autoscaling/v2. `side`: target of what is wished, current of what was found."""
    found = OlderMetric(metric.get("type") or "")
    for name in _PARTS:
        if metric.get(name) is not None:
            setattr(found, name, _older_source(name, metric[name], side))
    return found


def _older_source(name: str, source: Json, side: str) -> _Source:
    values, metric = part(source, side), part(source, "metric")
    whole, each, share = values.get("value"), values.get("averageValue"), values.get("averageUtilization")
    found = _Source(name=source.get("name"), container=source.get("container"), metricName=metric.get("name"))
    selector: Any = metric.get("selector") or None
    if name == "external":
        found.metricSelector = selector
    else:
        found.selector = selector
    if name == "object":
        found.target = msgspec.convert(part(source, "describedObject"), _Target)
        found.averageValue = each
        whole = "0" if whole is None else whole  # always there in that form
        each = None
    setattr(found, f"{side}Value", whole)
    setattr(found, f"{side}AverageValue", each)
    if name in ("resource", "containerResource"):
        setattr(found, f"{side}AverageUtilization", share)
    return found


def newer(metrics: list[OlderMetric], side: str) -> list[Json]:
    found: list[Json] = []
    for metric in metrics:
        tree: Json = {"type": metric.type}
        for name in _PARTS:
            source = getattr(metric, name)
            if source is not None:
                tree[name] = _newer_source(name, source, side)
        found.append(tree)
    return found


def _newer_source(name: str, source: _Source, side: str) -> Json:
    found: Json = {}
    whole, each = getattr(source, f"{side}Value"), getattr(source, f"{side}AverageValue")
    share = getattr(source, f"{side}AverageUtilization")
    if name in ("resource", "containerResource"):
        found["name"] = source.name or ""
        kind = "AverageValue" if share is None else "Utilization"
    else:
        selector = tree_of(source.metricSelector if name == "external" else source.selector)
        found["metric"] = {"name": source.metricName or "", **({"selector": selector} if selector else {})}
        kind = "AverageValue" if whole is None else "Value"
    if name == "containerResource":
        found["container"] = source.container or ""
    if name == "object":
        found["describedObject"] = tree_of(source.target or _Target())
        each = source.averageValue
        kind = "Value" if each is None else "AverageValue"
        if each is not None and whole is not None and not from_json(whole):
            whole = None  # not set, but always there in that form
    values = {"averageUtilization": share, "averageValue": each, "value": whole}
    told = {field: value for field, value in values.items() if value is not None}
    found[side] = {"type": kind, **told} if side == "target" else told
    return found


def tree_of(value: Any) -> Any:
    """Structs as trees, without what is not set."""
    if isinstance(value, msgspec.Struct):
        found = msgspec.structs.asdict(value)
        return {name: tree_of(each) for name, each in found.items() if each is not None}
    return [tree_of(each) for each in value] if isinstance(value, list) else value
