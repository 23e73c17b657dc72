"""Role and ClusterRole (rbac.authorization.k8s.io/v1): lists of rules, each of which allows something.

Read by `model/catalog.py`. What the rules mean is in `api/access/rbac/`; those of a ClusterRole with an aggregationRule
are put together by `reconcile/role_aggregation.py`.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.selectors import validate_label_selector

GROUP, VERSION = "rbac.authorization.k8s.io", "v1"
# The ClusterRole of those who read everything but Secrets, and the label of the roles that lend it their rules.
VIEWER, TO_VIEWER = "fairlead:viewer", "rbac.fairlead.dev/aggregate-to-viewer"


def _created_at(obj: Json, now: float) -> Cell:
    return str((obj.get("metadata") or {}).get("creationTimestamp") or "")


def _validate_rule(rule: Json, path: str, namespaced: bool, problems: Problems) -> None:
    if not rule.get("verbs"):
        problems.required(f"{path}.verbs", "verbs must contain at least one value")
    urls = rule.get("nonResourceURLs")
    if urls:
        if namespaced:
            text = "namespaced rules cannot apply to non-resource URLs"
            problems.invalid(f"{path}.nonResourceURLs", urls, text)
        if any(rule.get(field) for field in ("apiGroups", "resources", "resourceNames")):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            problems.invalid(f"{path}.nonResourceURLs", urls, text)
        return
    if not rule.get("apiGroups"):
        problems.required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        problems.required(f"{path}.resources", "resource rules must supply at least one resource")


def _validate_role(role: Json, problems: Problems) -> None:
    for index, rule in enumerate(role.get("rules") or ()):
        _validate_rule(rule, f"rules[{index}]", True, problems)


def _validate_cluster_role(role: Json, problems: Problems) -> None:
    aggregation = role.get("aggregationRule")
    if aggregation is not None:
        selectors = aggregation.get("clusterRoleSelectors") or ()
        path = "aggregationRule.clusterRoleSelectors"
        if not selectors:
            problems.required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")
        for index, selector in enumerate(selectors):
            validate_label_selector(selector, f"{path}[{index}]", problems)
    for index, rule in enumerate(role.get("rules") or ()):
        _validate_rule(rule, f"rules[{index}]", False, problems)


_COLUMNS = (Column("Created At", _created_at, type="date"),)

ROLE = Kind(
    group=GROUP,
    version=VERSION,
    kind="Role",
    plural="roles",
    namespaced=True,
    schema="Role",
    name_rule="path-segment",
    generation=False,
    columns=_COLUMNS,
    validate=_validate_role,
)
CLUSTER_ROLE = Kind(
    group=GROUP,
    version=VERSION,
    kind="ClusterRole",
    plural="clusterroles",
    namespaced=False,
    schema="ClusterRole",
    name_rule="path-segment",
    generation=False,
    columns=_COLUMNS,
    validate=_validate_cluster_role,
)
