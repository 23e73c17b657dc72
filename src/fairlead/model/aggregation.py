"""The rules of a ClusterRole that gathers those of others. Pure.

Used by `reconcile/role_aggregation.py`, which keeps such roles as they should be, and by
`api/access/rbac/default_roles.py`, so that the first ones are so from the beginning.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.model.kind import Json
from fairlead.model.selectors import matches_label_selector


def gather_rules(role: Json, others: Iterable[Json]) -> list[Json]:
    """What the aggregationRule of a role selects: in order of the roles' names, each rule once, as Kubernetes does."""
    name = role["metadata"]["name"]
    ordered = sorted(others, key=lambda each: str(each["metadata"]["name"]))
    gathered: list[Json] = []
    for selector in (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ():
        for other in ordered:
            labels = other["metadata"].get("labels") or {}
            if other["metadata"]["name"] != name and matches_label_selector(selector, labels):
                gathered += [rule for rule in other.get("rules") or () if rule not in gathered]
    return gathered
