"""A HorizontalPodAutoscaler of autoscaling/v1 as autoscaling/v2 has it, and back, by Kubernetes' rules.

Version 1 knows one metric, the average use of CPU; all others, the behaviour and most of the status travel in
annotations (`annotations.py`), so that nothing is lost on the way through either version. Version 2 is
stored. Called by `kind_v1.py`. Nothing that is given is changed.
"""

from __future__ import annotations

from fairlead.model.kind import Json
from fairlead.model.kinds.horizontalpodautoscaler.annotations import (
    BEHAVIOR,
    CONDITIONS,
    CURRENT_METRICS,
    METRICS,
    behavior_in,
    conditions_in,
    findings_in,
    metrics_in,
    text_of_behavior,
    text_of_conditions,
    text_of_findings,
    text_of_metrics,
)
from fairlead.model.kinds.workload import part

V1, V2 = "autoscaling/v1", "autoscaling/v2"
_ANNOTATIONS = (METRICS, BEHAVIOR, CURRENT_METRICS, CONDITIONS)
_TARGET, _CURRENT = "targetCPUUtilizationPercentage", "currentCPUUtilizationPercentage"


def as_v1(obj: Json) -> Json:
    if obj.get("apiVersion") == V1:
        return obj
    spec, status, told = dict(part(obj, "spec")), dict(part(obj, "status")), _others(obj)
    metrics, findings = list(spec.pop("metrics", None) or ()), status.pop("currentMetrics", None)
    behavior, conditions = spec.pop("behavior", None), status.pop("conditions", None)
    place = cpu_place(metrics)
    if place is not None:
        spec[_TARGET] = metrics.pop(place)["resource"]["target"]["averageUtilization"]
    if metrics:
        told[METRICS] = text_of_metrics(metrics)
    if behavior is not None:
        told[BEHAVIOR] = text_of_behavior(behavior)
    if findings:
        told[CURRENT_METRICS] = text_of_findings(findings)
        shares = [each for each in map(_cpu_found, findings) if each is not None]
        if shares:
            status[_CURRENT] = shares[-1]
    if conditions:
        told[CONDITIONS] = text_of_conditions(conditions)
    if status:
        status.setdefault("currentReplicas", 0)  # always shown in that version
    return _put_together(obj, V1, told, spec, status)


def as_v2(obj: Json) -> Json:
    if obj.get("apiVersion") == V2:
        return obj
    spec, status, annotations = dict(part(obj, "spec")), dict(part(obj, "status")), _annotations(obj)
    wanted, share = spec.pop(_TARGET, None), status.pop(_CURRENT, None)
    metrics = list(metrics_in(annotations) or ())
    if wanted is not None:
        target = {"type": "Utilization", "averageUtilization": wanted}
        metrics.insert(
            _cpu_goes(metrics), {"type": "Resource", "resource": {"name": "cpu", "target": target}}
        )
    if metrics:
        spec["metrics"] = metrics
    behavior = behavior_in(annotations)
    if behavior is not None:
        spec["behavior"] = behavior
    findings = findings_in(annotations)
    if findings is None and share is not None:
        current = {"averageUtilization": share}
        findings = [{"type": "Resource", "resource": {"name": "cpu", "current": current}}]
    if findings:
        status["currentMetrics"] = findings
    conditions = conditions_in(annotations)
    if conditions:
        status["conditions"] = conditions
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    return _put_together(obj, V2, _others(obj), spec, status)


def cpu_place(metrics: list[Json]) -> int | None:
    """Where the metric is that version 1 has a field for: the first, if there are several."""
    for index, metric in enumerate(metrics):
        resource = part(metric, "resource")
        is_cpu = metric.get("type") == "Resource" and resource.get("name") == "cpu"
        if is_cpu and part(resource, "target").get("averageUtilization") is not None:
            return index
    return None


def _cpu_goes(others: list[Json]) -> int:
    """Where the metric of that field is put among the others: last, but before one that could be taken for it."""
    place = cpu_place(others)
    return len(others) if place is None else place


def _cpu_found(finding: Json) -> int | None:
    resource = part(finding, "resource")
    if finding.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    found: int | None = part(resource, "current").get("averageUtilization")
    return found


def _annotations(obj: Json) -> dict[str, str]:
    return part(part(obj, "metadata"), "annotations")


def _others(obj: Json) -> dict[str, str]:
    return {name: value for name, value in _annotations(obj).items() if name not in _ANNOTATIONS}


def _put_together(obj: Json, version: str, annotations: Json, spec: Json, status: Json) -> Json:
    metadata = dict(part(obj, "metadata"))
    metadata.pop("annotations", None)
    if annotations:
        metadata["annotations"] = annotations
    found = {**obj, "apiVersion": version, "metadata": metadata}
    for name, value in (("spec", spec), ("status", status)):
        if value or name in obj:
            found[name] = value
    return found
