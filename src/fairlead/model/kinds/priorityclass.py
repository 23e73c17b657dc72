"""PriorityClass (scheduling.k8s.io/v1): a name for a number that says which pods go first.

Read by `model/catalog.py`. The number never changes: pods carry a copy. Names beginning with `system-` belong
to the plane. That at most one class is the global default is admission's to see to, which knows them all.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.cells import AGE
from fairlead.model.kind import Column, Json, Kind
from fairlead.model.kinds.workload import choose, fill, part

HIGHEST_USER_VALUE = 1_000_000_000
SYSTEM_CLASSES = (("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000))
_SYSTEM_PREFIX = "system-"
_POLICIES = ("Never", "PreemptLowerPriority")


def _defaults(obj: Json) -> None:
    choose(obj, "preemptionPolicy", "PreemptLowerPriority")
    fill(obj, "value", 0)


def _system_mistake(name: str, obj: Json) -> str:
    """Why this is not one of the plane's own classes; empty if it is."""
    for known, value in SYSTEM_CLASSES:
        if name == known:
            if obj.get("value") != value:
                return f"value of {name} PriorityClass must be {value}"
            return f"globalDefault of {name} PriorityClass must be false" if obj.get("globalDefault") else ""
    return f"{name} is not a known system priority class"


def _validate(obj: Json, problems: Problems) -> None:
    name, value = part(obj, "metadata").get("name") or "", obj.get("value") or 0
    if name.startswith(_SYSTEM_PREFIX):
        mistake = _system_mistake(name, obj)
        if mistake:
            reserved = "priority class names with 'system-' prefix are reserved for system use only"
            problems.forbidden("metadata.name", f"{reserved}. error: {mistake}")
    elif value > HIGHEST_USER_VALUE:
        detail = f"maximum allowed value of a user defined priority is {HIGHEST_USER_VALUE}"
        problems.forbidden("value", detail)
    policy = obj.get("preemptionPolicy")
    if policy is not None and policy not in _POLICIES:
        problems.unsupported("preemptionPolicy", policy, _POLICIES)


def _validate_update(new: Json, old: Json, problems: Problems) -> None:
    if (new.get("value") or 0) != (old.get("value") or 0):
        problems.forbidden("value", "may not be changed in an update.")
    if new.get("preemptionPolicy") != old.get("preemptionPolicy"):
        problems.invalid("preemptionPolicy", new.get("preemptionPolicy"), "field is immutable")


KIND = Kind(
    group="scheduling.k8s.io",
    version="v1",
    kind="PriorityClass",
    plural="priorityclasses",
    namespaced=False,
    schema="PriorityClass",
    short_names=("pc",),
    columns=(
        Column("Value", lambda obj, now: obj.get("value") or 0, type="string"),
        Column("Global-Default", lambda obj, now: bool(obj.get("globalDefault")), type="boolean"),
        AGE,
        Column("PreemptionPolicy", lambda obj, now: obj.get("preemptionPolicy") or ""),
    ),
    defaults=_defaults,
    validate=_validate,
    validate_update=_validate_update,
)
