"""At rest a ClusterRole that gathers others has exactly the rules of those that its selectors select.

Judged from the roles alone, without what the controller uses to put them together.
"""

from __future__ import annotations

from fairlead.model.kind import Json
from fairlead.model.selectors import matches_label_selector
from fairlead.sim.checkers.contract import CLUSTER_ROLES, CommittedObjects, SeenChange
from fairlead.sim.violation import Violation


class RolesAreGathered:
    name = "roles-are-gathered"
    sees: frozenset[str] = frozenset()

    def saw(self, sight: SeenChange) -> None:
        """Says nothing about the way to rest."""

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        roles = objects.of(CLUSTER_ROLES.name)
        for key, role in roles.items():
            if role.aggregation_rule is None or role.metadata.deletion_timestamp:
                continue
            selectors = role.aggregation_rule.get("clusterRoleSelectors") or ()
            wanted: list[Json] = []
            for at, other in roles.items():
                if at != key and any(
                    matches_label_selector(each, other.metadata.labels) for each in selectors
                ):
                    wanted += other.rules or ()
            has = role.rules or []
            for rule in (*wanted, *has):
                if (rule in wanted) is not (rule in has):
                    what = "lacks" if rule in wanted else "has, though nobody lends it,"
                    raise Violation(self.name, f"ClusterRole {key.name} {what} {rule}")
