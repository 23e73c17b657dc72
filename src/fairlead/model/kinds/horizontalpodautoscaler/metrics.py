"""The metrics of a HorizontalPodAutoscaler: what each type must say, and how `kubectl get` shows them.

Called by `kind.py`. A metric names its type and fills in the one part of that type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fairlead.core.problems import Problems
from fairlead.core.quantity import from_json
from fairlead.model.cells import NONE, UNKNOWN
from fairlead.model.kind import Json
from fairlead.model.kinds.workload import part
from fairlead.model.kinds.workload_columns import more_text
from fairlead.model.names import label_problems, path_segment_problems

_SHOWN_MAX = 2
_TARGET_TYPES = ("Utilization", "Value", "AverageValue")
# Type -> the part that belongs to it, in the order in which they are looked at.
_PARTS = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def spell_targets(metrics: Iterable[Json]) -> None:
    """Put every target amount into the spelling under which Kubernetes keeps it."""
    for metric in metrics:
        for name in _PARTS.values():
            target = part(part(metric, name), "target")
            for field in ("value", "averageValue"):
                if target.get(field) is not None:
                    target[field] = str(from_json(target[field]))


def check_reference(reference: Json, path: str, problems: Problems) -> None:
    """Which object is meant: a CrossVersionObjectReference."""
    for name in ("kind", "name"):
        value = reference.get(name)
        if not value:
            problems.required(f"{path}.{name}")
        else:
            for text in path_segment_problems(value):
                problems.invalid(f"{path}.{name}", value, text)


def check_metrics(metrics: Iterable[Json], path: str, problems: Problems) -> None:
    for index, metric in enumerate(metrics):
        _check_metric(metric, f"{path}[{index}]", problems)


def _check_metric(metric: Json, path: str, problems: Problems) -> None:
    kind = metric.get("type") or ""
    if not kind:
        problems.required(f"{path}.type", "must specify a metric source type")
    wanted = _PARTS.get(kind)
    if wanted is None:
        problems.unsupported(f"{path}.type", kind, sorted(_PARTS))
    present = [name for name in _PARTS.values() if metric.get(name) is not None]
    if wanted in present:
        _CHECKS[wanted](metric[wanted], f"{path}.{wanted}", problems)
    elif wanted is not None:
        problems.required(f"{path}.{wanted}", "must populate information for the given metric source")
    for name in present:
        if name != wanted:
            problems.forbidden(f"{path}.{name}", "must populate the given metric source only")


def _check_identifier(source: Json, path: str, problems: Problems) -> None:
    name = part(source, "metric").get("name")
    if not name:
        problems.required(f"{path}.metric.name", "must specify a metric name")
    else:
        for text in path_segment_problems(name):
            problems.invalid(f"{path}.metric.name", name, text)


def _check_target(source: Json, path: str, problems: Problems) -> Json:
    target = part(source, "target")
    kind, utilization = target.get("type") or "", target.get("averageUtilization")
    if not kind:
        problems.required(f"{path}.target.type", "must specify a metric target type")
    if kind not in _TARGET_TYPES:
        detail = "must be either Utilization, Value, or AverageValue"
        problems.invalid(f"{path}.target.type", kind, detail)
    for name in ("value", "averageValue"):
        if target.get(name) is not None and from_json(target[name]).nano <= 0:
            problems.invalid(f"{path}.target.{name}", target[name], "must be positive")
    if utilization is not None and utilization < 1:
        problems.invalid(f"{path}.target.averageUtilization", utilization, "must be greater than 0")
    return target


def _check_object(source: Json, path: str, problems: Problems) -> None:
    check_reference(part(source, "describedObject"), f"{path}.describedObject", problems)
    _check_identifier(source, path, problems)
    target = _check_target(source, path, problems)
    if target.get("value") is None and target.get("averageValue") is None:
        problems.required(f"{path}.target.averageValue", "must set either a target value or averageValue")


def _check_external(source: Json, path: str, problems: Problems) -> None:
    _check_identifier(source, path, problems)
    target = _check_target(source, path, problems)
    whole, each = target.get("value"), target.get("averageValue")
    if whole is None and each is None:
        detail = "must set either a target value for metric or a per-pod target"
        problems.required(f"{path}.target.averageValue", detail)
    if whole is not None and each is not None:
        detail = "may not set both a target value for metric and a per-pod target"
        problems.forbidden(f"{path}.target.value", detail)


def _check_pods(source: Json, path: str, problems: Problems) -> None:
    _check_identifier(source, path, problems)
    if _check_target(source, path, problems).get("averageValue") is None:
        problems.required(f"{path}.target.averageValue", "must specify a positive target averageValue")


def _check_resource(source: Json, path: str, problems: Problems) -> None:
    if not source.get("name"):
        problems.required(f"{path}.name", "must specify a resource name")
    target = _check_target(source, path, problems)
    utilization, raw = target.get("averageUtilization"), target.get("averageValue")
    if utilization is None and raw is None:
        detail = "must set either a target raw value or a target utilization"
        problems.required(f"{path}.target.averageUtilization", detail)
    if utilization is not None and raw is not None:
        detail = "may not set both a target raw value and a target utilization"
        problems.forbidden(f"{path}.target.averageValue", detail)


def _check_container_resource(source: Json, path: str, problems: Problems) -> None:
    container = source.get("container")
    if not container:
        problems.required(f"{path}.container", "must specify a container")
    else:
        for text in label_problems(container):
            problems.invalid(f"{path}.container", container, text)
    _check_resource(source, path, problems)


_CHECKS: dict[str, Callable[[Json, str, Problems], None]] = {
    "object": _check_object,
    "external": _check_external,
    "pods": _check_pods,
    "resource": _check_resource,
    "containerResource": _check_container_resource,
}


def targets_text(metrics: Sequence[Json], statuses: Sequence[Json]) -> str:
    """Present and wanted value of each metric: `cpu: 35%/80%, 12/50 (avg) + 1 more...`."""
    texts = [
        _target_text(metric, statuses[index] if index < len(statuses) else {})
        for index, metric in enumerate(metrics)
    ]
    return more_text(texts, _SHOWN_MAX, ", ") or NONE


def _target_text(metric: Json, status: Json) -> str:
    kind = metric.get("type") or ""
    name = _PARTS.get(kind)
    if name is None:
        return "<unknown type>"
    source = part(metric, name)
    target, current = part(source, "target"), part(part(status, name), "current")
    averaged = target.get("averageValue") is not None
    if name in ("resource", "containerResource"):
        prefix = f"{source.get('name') or ''}: "
        if averaged:
            return f"{prefix}{current.get('averageValue') or UNKNOWN}/{target['averageValue']}"
        now, wanted = current.get("averageUtilization"), target.get("averageUtilization")
        shown_now = UNKNOWN if now is None else f"{now}%"
        return f"{prefix}{shown_now}/" + ("<auto>" if wanted is None else f"{wanted}%")
    field = "averageValue" if averaged else "value"
    suffix = " (avg)" if averaged and name != "pods" else ""
    return f"{current.get(field) or UNKNOWN}/{target.get(field) or UNKNOWN}{suffix}"
