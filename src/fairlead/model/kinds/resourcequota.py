"""ResourceQuota: the most that a namespace may use of each resource, over all its pods or those in a scope.

Here is only what a quota may say. Counting use and refusing what exceeds it is the ledger's and
admission's work.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.cells import AGE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.amounts import spell_amounts, validate_amount
from fairlead.model.kinds.workload import show_status
from fairlead.model.metadata import metadata_warnings, validate_immutable
from fairlead.model.names import label_key_problems

_COUNTED = frozenset(
    {
        "pods",
        "services",
        "services.nodeports",
        "services.loadbalancers",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
    }
)
_COMPUTE = frozenset(
    {
        "cpu",
        "memory",
        "requests.cpu",
        "requests.memory",
        "limits.cpu",
        "limits.memory",
    }
)
_STORAGE = frozenset(
    {
        "ephemeral-storage",
        "requests.storage",
        "requests.ephemeral-storage",
        "limits.ephemeral-storage",
    }
)
_HUGE_PAGES = ("hugepages-", "requests.hugepages-")
_CONFLICTS = (frozenset({"BestEffort", "NotBestEffort"}), frozenset({"Terminating", "NotTerminating"}))
_EXISTS_ONLY = frozenset(
    {"BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity"}
)
_EXISTS_TEXT = (
    "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
    "ResourceQuotaScopeCrossNamespacePodAffinity"
)


def _defaults(quota: Json) -> None:
    spell_amounts((quota.get("spec") or {}).get("hard"))
    show_status(quota)
    status: Json = quota["status"]
    spell_amounts(status.get("hard"))
    spell_amounts(status.get("used"))


def _validate(quota: Json, problems: Problems) -> None:
    spec: Json = quota.get("spec") or {}
    hard: Json = spec.get("hard") or {}
    _validate_hard(hard, "spec.hard", problems)
    scopes = spec.get("scopes") or []
    if scopes:
        _validate_scopes(scopes, hard, "spec.scopes", problems)
    selector = spec.get("scopeSelector")
    if selector is not None:
        _validate_selector(selector, hard, problems)


def _validate_hard(hard: Json, path: str, problems: Problems) -> None:
    for name, quantity in hard.items():
        at = f"{path}[{name}]"
        for text in label_key_problems(name):
            problems.invalid(at, name, text)
        if "/" not in name and not _is_standard(name):
            problems.invalid(at, name, "must be a standard resource for quota")
        whole = name in _COUNTED or name.startswith("count/")
        validate_amount(quantity, at, problems, whole=whole)


def _is_standard(name: str) -> bool:
    return name in _COUNTED or name in _COMPUTE or name in _STORAGE or name.startswith(_HUGE_PAGES)


def _validate_scopes(scopes: list[str], hard: Json, path: str, problems: Problems) -> None:
    for scope in scopes:
        if any(not _in_scope(scope, name) for name in hard):
            problems.invalid(path, scopes, "unsupported scope applied to resource")
            break
    for pair in _CONFLICTS:
        if pair <= set(scopes):
            problems.invalid(path, scopes, "conflicting scopes")


def _in_scope(scope: str, name: str) -> bool:
    """Scopes choose pods, so only what pods use can be limited under one."""
    if scope == "BestEffort":
        return name in ("pods", "count/pods")
    if scope == "VolumeAttributesClass":
        return name in ("persistentvolumeclaims", "requests.storage")
    return (
        name in ("pods", "count/pods") or name in _COMPUTE or name in _STORAGE or name.startswith("requests.")
    )


def _validate_selector(selector: Json, hard: Json, problems: Problems) -> None:
    path = "spec.scopeSelector.matchExpressions"
    expressions = selector.get("matchExpressions") or []
    for index, expression in enumerate(expressions):
        at = f"{path}[{index}]"
        scope, operator = expression.get("scopeName") or "", expression.get("operator")
        values = expression.get("values") or []
        if any(not _in_scope(scope, name) for name in hard):
            problems.invalid(f"{at}.scopeName", scope, "unsupported scope applied to resource")
        if scope in _EXISTS_ONLY and operator not in ("Exists", None):
            problems.invalid(f"{at}.operator", operator, _EXISTS_TEXT)
        if operator in ("In", "NotIn") and not values:
            text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            problems.required(f"{at}.values", text)
        elif operator in ("Exists", "DoesNotExist") and values:
            text = "must be no value when `operator` is 'Exists' or 'DoesNotExist' for scope selector"
            problems.invalid(f"{at}.values", values, text)
    named = {expression.get("scopeName") for expression in expressions}
    for pair in _CONFLICTS:
        if pair <= named:
            problems.invalid(path, sorted(pair), "conflicting scopes")


def _validate_update(new: Json, old: Json, problems: Problems) -> None:
    after = sorted((new.get("spec") or {}).get("scopes") or ())
    before = sorted((old.get("spec") or {}).get("scopes") or ())
    validate_immutable(after, before, "spec.scopes", problems)


def _validate_status(new: Json, old: Json, problems: Problems) -> None:
    status: Json = new.get("status") or {}
    for field in ("hard", "used"):
        _validate_hard(status.get(field) or {}, f"status.{field}", problems)


def _usage(quota: Json, *, limits: bool) -> str:
    status: Json = quota.get("status") or {}
    hard: Json = status.get("hard") or {}
    used: Json = status.get("used") or {}
    return ", ".join(
        f"{name}: {used.get(name, '0')}/{hard[name]}"
        for name in sorted(hard)
        if name.startswith("limits.") is limits
    )


def _request(quota: Json, now: float) -> Cell:
    return _usage(quota, limits=False)


def _limit(quota: Json, now: float) -> Cell:
    return _usage(quota, limits=True)


KIND = Kind(
    group="",
    version="v1",
    kind="ResourceQuota",
    plural="resourcequotas",
    namespaced=True,
    schema="ResourceQuota",
    shows_deleted=True,
    short_names=("quota",),
    subresources=("status",),
    columns=(
        Column("Request", _request, description="Use and bound of what is requested or counted."),
        Column("Limit", _limit, description="Use and bound of limits."),
        AGE,
    ),
    generation=False,
    defaults=_defaults,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=_validate_status,
    warnings=metadata_warnings,
)
