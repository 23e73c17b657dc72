"""PlacementQuota (fairlead.dev/v1): the most that pods of a namespace may take of some nodes, such as those of a zone.

Here is only what one may say. Charging is done as a pod is bound (`ledger/quota.py`, `api/charging.py`), and so is
borrowing between the quotas of a cohort (`ledger/cohort.py`).
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.cells import AGE, label_selector_text
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.amounts import spell_amounts, validate_amount
from fairlead.model.kinds.workload import part
from fairlead.model.names import label_key_problems, name_problems
from fairlead.model.selectors import validate_label_selector

_LIMITS = ("borrowingLimit", "lendingLimit")
_PLAIN = ("cpu", "memory", "pods", "ephemeral-storage")


def _defaults(quota: Json) -> None:
    for name in ("hard", *_LIMITS):
        spell_amounts(part(quota, "spec").get(name))
    for name in ("used", "borrowed"):
        spell_amounts(part(quota, "status").get(name))


def _validate(quota: Json, problems: Problems) -> None:
    spec = part(quota, "spec")
    validate_label_selector(spec.get("nodeSelector"), "spec.nodeSelector", problems)
    if not spec.get("hard"):
        problems.required("spec.hard", "name at least one resource and its limit, such as cpu: 10")
    _validate_amounts(spec.get("hard") or {}, "spec.hard", problems)
    _validate_cohort(spec, problems)


def _validate_cohort(spec: Json, problems: Problems) -> None:
    cohort, hard = spec.get("cohort") or "", spec.get("hard") or {}
    for text in name_problems("subdomain", cohort) if cohort else ():
        problems.invalid("spec.cohort", cohort, text)
    for limit in _LIMITS:
        amounts = spec.get(limit) or {}
        if amounts and not cohort:
            problems.required("spec.cohort", f"spec.{limit} needs a cohort: name it, or leave the limit out")
        _validate_amounts(amounts, f"spec.{limit}", problems)
        for name in amounts:
            if name not in hard:
                fix = "name the resource in spec.hard as well; 0 is a limit of nothing of its own"
                problems.invalid(f"spec.{limit}[{name}]", amounts[name], fix)


def _validate_amounts(amounts: Json, path: str, problems: Problems) -> None:
    for name, quantity in amounts.items():
        at = f"{path}[{name}]"
        for text in label_key_problems(name):
            problems.invalid(at, name, text)
        if name.startswith(("requests.", "limits.", "count/")):
            fix = "a PlacementQuota counts what pods request: name the resource itself, such as cpu"
            problems.invalid(at, name, fix)
        elif "/" not in name and name not in _PLAIN and not name.startswith("hugepages-"):
            problems.unsupported(at, name, (*_PLAIN, "hugepages-SIZE", "DOMAIN/RESOURCE"))
        validate_amount(quantity, at, problems, whole=name == "pods")


def _validate_status(new: Json, old: Json, problems: Problems) -> None:
    for name in ("used", "borrowed"):
        _validate_amounts(part(new, "status").get(name) or {}, f"status.{name}", problems)


def _nodes(quota: Json, now: float) -> Cell:
    selector = part(quota, "spec").get("nodeSelector")
    return label_selector_text(selector) if selector else "<all>"


def _used(quota: Json, now: float) -> Cell:
    hard, used = part(quota, "spec").get("hard") or {}, part(quota, "status").get("used") or {}
    return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in sorted(hard))


def _cohort(quota: Json, now: float) -> Cell:
    return part(quota, "spec").get("cohort") or "<none>"


def _borrowed(quota: Json, now: float) -> Cell:
    borrowed = part(quota, "status").get("borrowed") or {}
    may = part(quota, "spec").get("borrowingLimit") or {}
    return ", ".join(f"{name}: {borrowed.get(name, '0')}/{may[name]}" for name in sorted(may)) or "<none>"


KIND = Kind(
    group="fairlead.dev",
    version="v1",
    kind="PlacementQuota",
    plural="placementquotas",
    namespaced=True,
    schema="PlacementQuota",
    subresources=("status",),
    columns=(
        Column("Nodes", _nodes, description="The nodes it is about."),
        Column("Used", _used, description="What is taken, and the limit."),
        Column("Cohort", _cohort, description="With whose quotas it shares what is unused."),
        Column(
            "Borrowed", _borrowed, description="What of used is beyond its own limit, and how much may be."
        ),
        AGE,
    ),
    defaults=_defaults,
    validate=_validate,
    validate_status=_validate_status,
)
