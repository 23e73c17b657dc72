"""LimitRange: defaults and bounds for what each container, pod or claim of a namespace may ask for.

Here is only what a limit range may say; admission applies it to pods. Bounds must be in order:
min <= defaultRequest <= default <= max.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.cells import UNKNOWN
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.amounts import nanos, spell_amounts, validate_amount
from fairlead.model.metadata import metadata_warnings
from fairlead.model.names import label_key_problems

_MAPS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage"})
_TYPES = ("Container", "Pod", "PersistentVolumeClaim")
_NANO = 10**9


def _defaults(limit_range: Json) -> None:
    for item in (limit_range.get("spec") or {}).get("limits") or ():
        for field in _MAPS:
            spell_amounts(item.get(field))
        if item.get("type") != "Container":
            continue
        default = _merged(item.get("default"), item.get("max"))
        request = _merged(_merged(item.get("defaultRequest"), default), item.get("min"))
        if default:
            item["default"] = default
        if request:
            item["defaultRequest"] = request


def _merged(first: Json | None, then: Json | None) -> Json:
    return {**(then or {}), **(first or {})}


def _validate(limit_range: Json, problems: Problems) -> None:
    seen: set[str] = set()
    for index, item in enumerate((limit_range.get("spec") or {}).get("limits") or ()):
        path = f"spec.limits[{index}]"
        kind = item.get("type") or ""
        _validate_type(kind, path, problems)
        if kind in seen:
            problems.duplicate(f"{path}.type", kind)
        seen.add(kind)
        if kind == "Pod":
            for field in ("default", "defaultRequest"):
                if item.get(field):
                    problems.forbidden(f"{path}.{field}", "may not be specified when `type` is 'Pod'")
        if kind == "PersistentVolumeClaim" and not any(
            "storage" in (item.get(field) or {}) for field in ("min", "max")
        ):
            text = "either minimum or maximum storage value is required, but neither was provided"
            problems.required(path, text)
        _validate_item(item, kind, path, problems)


def _validate_type(kind: str, path: str, problems: Problems) -> None:
    for text in label_key_problems(kind):
        problems.invalid(f"{path}.type", kind, text)
    if "/" not in kind and kind not in _TYPES:
        text = "must be a standard limit type or fully qualified"
        problems.invalid(f"{path}.type", kind, text)


def _validate_item(item: Json, kind: str, path: str, problems: Problems) -> None:
    names: set[str] = set()
    for field in _MAPS:
        for name, quantity in (item.get(field) or {}).items():
            validate_amount(quantity, f"{path}.{field}[{name}]", problems)
            if kind in ("Container", "Pod"):
                _validate_name(name, f"{path}.{field}[{name}]", problems)
            names.add(name)
    for name in sorted(names):
        _validate_order(item, name, path, problems)


def _validate_name(name: str, path: str, problems: Problems) -> None:
    if name in _STANDARD:
        return
    for text in label_key_problems(name):
        problems.invalid(path, name, text)
    if "/" not in name and not name.startswith("hugepages-"):
        problems.invalid(path, name, "must be a standard resource for containers")


def _validate_order(item: Json, name: str, path: str, problems: Problems) -> None:
    low, request, default, high, ratio = (
        (item.get(field) or {}).get(name)
        for field in ("min", "defaultRequest", "default", "max", "maxLimitRequestRatio")
    )

    def ordered(field: str, less: str | None, less_is: str, more: str | None, more_is: str) -> None:
        if less is not None and more is not None and nanos(less) > nanos(more):
            value = (item.get(field) or {}).get(name)
            text = f"{less_is} value {less} is greater than {more_is} value {more}"
            problems.invalid(f"{path}.{field}[{name}]", value, text)

    ordered("min", low, "min", high, "max")
    ordered("defaultRequest", low, "min", request, "default request")
    ordered("defaultRequest", request, "default request", high, "max")
    ordered("defaultRequest", request, "default request", default, "default limit")
    ordered("default", low, "min", default, "default")
    ordered("default", default, "default", high, "max")
    if ratio is not None:
        _validate_ratio(ratio, low, high, f"{path}.maxLimitRequestRatio[{name}]", problems)


def _validate_ratio(ratio: str, low: str | None, high: str | None, path: str, problems: Problems) -> None:
    if nanos(ratio) < _NANO:
        problems.invalid(path, ratio, f"ratio {ratio} is less than 1")
    if low is None or high is None or nanos(low) <= 0:
        return
    # ratio > high / low, in whole numbers
    if nanos(ratio) * nanos(low) > nanos(high) * _NANO:
        most = nanos(high) / nanos(low)
        problems.invalid(path, ratio, f"ratio {ratio} is greater than max/min = {most:.6f}")


def _created(limit_range: Json, now: float) -> Cell:
    return (limit_range.get("metadata") or {}).get("creationTimestamp") or UNKNOWN


KIND = Kind(
    group="",
    version="v1",
    kind="LimitRange",
    plural="limitranges",
    namespaced=True,
    schema="LimitRange",
    short_names=("limits",),
    columns=(Column("Created At", _created, description="When the object was created."),),
    generation=False,
    defaults=_defaults,
    validate=_validate,
    warnings=metadata_warnings,
)
