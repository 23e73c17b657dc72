"""SchedulingPolicy (fairlead.dev/v1): which plugins place pods, their weights, and nodes that are kept for some.

Read by `model/catalog.py`. A policy does nothing until PlaneSettings names it; the scheduler then works with it
(`schedule/policy.py`). What a policy does not mention is as built in, so there are no defaults to fill in.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.cells import AGE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.workload import part
from fairlead.model.names import label_key_problems, label_problems
from fairlead.model.policy.plugin_names import PLUGINS, SCORING, WEIGHT_MAX
from fairlead.model.selectors import validate_label_selector

#: bound: objects | classes of a policy | 422
CAPACITY_CLASSES_MAX = 64


def _validate(policy: Json, problems: Problems) -> None:
    check(part(policy, "spec"), problems)


def check(spec: Json, problems: Problems) -> None:
    """Name every plugin there is not, every weight out of bounds, every class that says too little."""
    _validate_plugins(spec.get("plugins") or [], problems)
    _validate_scoring(part(spec, "scoring"), problems)
    _validate_classes(spec.get("capacityClasses") or [], problems)


def _validate_plugins(plugins: list[Json], problems: Problems) -> None:
    seen = set()
    for index, plugin in enumerate(plugins):
        at, name, weight = f"spec.plugins[{index}]", plugin.get("name") or "", plugin.get("weight")
        if name not in PLUGINS:
            problems.unsupported(f"{at}.name", name, PLUGINS)
        elif name in seen:
            problems.duplicate(f"{at}.name", name)
        seen.add(name)
        if weight is None:
            continue
        if not 0 <= weight <= WEIGHT_MAX:
            fix = (
                f"must be between 0 and {WEIGHT_MAX}; 0 takes its scores out, disabled: true the whole plugin"
            )
            problems.invalid(f"{at}.weight", weight, fix)
        elif weight and name in PLUGINS and name not in SCORING:
            problems.invalid(f"{at}.weight", weight, f"{name} only filters and has no scores; leave it out")


def _validate_scoring(scoring: Json, problems: Problems) -> None:
    seen = set()
    for index, resource in enumerate(scoring.get("resources") or []):
        at, name = f"spec.scoring.resources[{index}]", resource.get("name") or ""
        for text in label_key_problems(name):
            problems.invalid(f"{at}.name", name, text)
        if name in seen:
            problems.duplicate(f"{at}.name", name)
        seen.add(name)
        weight = resource.get("weight")
        if weight is not None and not 1 <= weight <= WEIGHT_MAX:
            fix = f"must be between 1 and {WEIGHT_MAX}; leave a resource out that is not to count"
            problems.invalid(f"{at}.weight", weight, fix)


def _validate_classes(classes: list[Json], problems: Problems) -> None:
    if len(classes) > CAPACITY_CLASSES_MAX:
        problems.too_many("spec.capacityClasses", len(classes), CAPACITY_CLASSES_MAX)
    seen = set()
    for index, each in enumerate(classes):
        at, name, selector = (
            f"spec.capacityClasses[{index}]",
            each.get("name") or "",
            part(each, "nodeSelector"),
        )
        for text in label_problems(name):
            problems.invalid(f"{at}.name", name, text)
        if name in seen:
            problems.duplicate(f"{at}.name", name)
        seen.add(name)
        if not selector.get("matchLabels") and not selector.get("matchExpressions"):
            problems.required(f"{at}.nodeSelector", "an empty one would keep every node for this class")
        validate_label_selector(selector, f"{at}.nodeSelector", problems)
        allowed = part(each, "allowed")
        validate_label_selector(allowed.get("podSelector"), f"{at}.allowed.podSelector", problems)


def _warnings(policy: Json) -> list[str]:
    spec = part(policy, "spec")
    off = [each.get("name") for each in spec.get("plugins") or () if each.get("disabled")]
    return [
        f"spec.plugins: without {name} pods are bound to nodes that do not have room for them"
        for name in off
        if name == "NodeResourcesFit"
    ]


def _active(policy: Json, now: float) -> Cell:
    """Whether the scheduler works with the present spec."""
    status = part(policy, "status")
    if (status.get("observedGeneration") or 0) < (part(policy, "metadata").get("generation") or 0):
        return "Unknown"
    return "True" if status.get("active") else "False"


def _observed_by(policy: Json, now: float) -> Cell:
    return part(policy, "status").get("observedBy") or ""


KIND = Kind(
    group="fairlead.dev",
    version="v1",
    kind="SchedulingPolicy",
    plural="schedulingpolicies",
    namespaced=False,
    schema="SchedulingPolicy",
    subresources=("status",),
    columns=(
        Column("Active", _active, description="Whether PlaneSettings names it and the scheduler knows."),
        Column("Observed By", _observed_by, description="The scheduler that works with it.", priority=1),
        AGE,
    ),
    validate=_validate,
    warnings=_warnings,
)
