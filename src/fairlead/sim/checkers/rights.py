"""Nothing is committed whose writer has no right to it by then.

Judged of writes by people who are no administrators (the origin `user NAME`), from the roles and bindings that are
committed before each, without what the server finds rights with: a binding in the namespace of the object, or for all,
must name the user and a role with a rule for it. That a write was planned while the right was still there does not
count. ConfigMaps are left to `grants.py`.
"""

from __future__ import annotations

from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.kinds.role import CLUSTER_ROLE, ROLE
from fairlead.model.kinds.rolebinding import CLUSTER_ROLE_BINDING, ROLE_BINDING
from fairlead.sim.checkers.contract import LATE, CommittedObjects, RoleBinding, SeenChange
from fairlead.sim.checkers.grants import BY_USER
from fairlead.sim.violation import Violation

_ROLES = frozenset({CLUSTER_ROLE.resource, ROLE.resource})
_BINDINGS = frozenset({CLUSTER_ROLE_BINDING.resource, ROLE_BINDING.resource})


class WritersHaveRights:
    name = "writers-have-rights"

    def __init__(self) -> None:
        self._roles: dict[tuple[str, str, str], list[Json]] = {}  # by kind, namespace and name: rules
        self._bindings: dict[Key, RoleBinding | None] = {}  # by key

    def saw(self, sight: SeenChange) -> None:
        key = sight.key
        if key.resource in _ROLES:
            named = ("Role" if key.namespace else "ClusterRole", key.namespace, key.name)
            self._roles[named] = [] if sight.after is None else list(sight.after.rules or ())
        elif key.resource in _BINDINGS:
            self._bindings[key] = sight.after
        origin = sight.origin.removeprefix(LATE)
        if origin.startswith(BY_USER) and key.resource != "configmaps":
            self._judge(sight, origin.removeprefix(BY_USER))

    def _judge(self, sight: SeenChange, user: str) -> None:
        key = sight.key
        verbs = (
            {"create"}
            if sight.before is None
            else {"delete"}
            if sight.after is None
            else {"update", "patch", "delete"}
        )
        plural, _, group = key.resource.partition(".")
        for at, binding in self._bindings.items():
            if binding is None or at.namespace not in ("", key.namespace):
                continue
            if not any(each.get("name") == user for each in binding.subjects or ()):
                continue
            role = binding.role_ref
            where = at.namespace if role.get("kind") == "Role" else ""
            rules = self._roles.get((role.get("kind", ""), where, role.get("name", "")), [])
            if any(_allows(rule, verbs, group, plural) for rule in rules):
                return
        what = "created" if sight.before is None else "deleted" if sight.after is None else "changed"
        raise Violation(
            self.name, f"{user} {what} {'/'.join(key)} at {sight.revision}, to which nothing gives a right"
        )

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Writes are judged as they come."""


def _allows(rule: Json, verbs: set[str], group: str, plural: str) -> bool:
    """To the object or to a part of it: a commit does not tell through which address it came."""
    resources = {each.partition("/")[0] for each in rule.get("resources") or ()}
    given = (rule.get("verbs") or (), rule.get("apiGroups") or (), resources)
    return all({"*", *wanted} & {*has} for has, wanted in zip(given, (verbs, {group}, {plural}), strict=True))
