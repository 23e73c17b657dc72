"""Changes of what requests are judged by (admission policies, roles, and their bindings) that are not durable yet.

A plan is made on durable state. Between the moment in which a new policy is submitted and the one in which it is
published, others are planned without it, and would be committed after it. So they get a precondition: that policy is
still as they know it. Refused by it, they are planned anew when it is published (`conversation.py`). With nothing
under way this costs a write one look at an empty dict.

A namespaced role concerns writes in its namespace alone, and no role concerns those who may everything: nobody can
hold up others by writing his own roles over and over. Leases are never held up.
"""

from __future__ import annotations

from fairlead.api.access.users import MASTERS, User
from fairlead.api.admission.policies import in_force
from fairlead.model.key import Key
from fairlead.port.request import Request
from fairlead.store.contract import Absent, AtRevision, Precondition, Reader, Transaction

_POLICIES, _ROLES = "admissionregistration.k8s.io", "rbac.authorization.k8s.io"
GROUPS = frozenset({_POLICIES, _ROLES})
_LEASES = "coordination.k8s.io"


class RulesUnderWay:
    """`keys`: of what is being written, and by how many writes."""

    __slots__ = ("keys",)

    def __init__(self) -> None:
        self.keys: dict[Key, int] = {}

    def began(self, transaction: Transaction) -> None:
        for operation in transaction.operations:
            self.keys[operation.key] = self.keys.get(operation.key, 0) + 1

    def ended(self, transaction: Transaction) -> None:
        for operation in transaction.operations:
            left = self.keys.pop(operation.key) - 1
            if left:
                self.keys[operation.key] = left

    def preconditions(self, read: Reader, request: Request, user: User) -> tuple[Precondition, ...]:
        """What a write that was just planned rests on: all that concerns it is as `read` has it."""
        if request.group == _LEASES:
            return ()
        spaces = {each.namespace for each in request.bindings} or {request.namespace}
        found: list[Precondition] = []
        for key in self.keys:
            if key.resource not in in_force.RESOURCES and (
                MASTERS in user.groups or (key.namespace and key.namespace not in spaces)
            ):
                continue
            entry = read.get(key)
            found.append(Absent(key) if entry is None else AtRevision(key, entry.revision))
        return tuple(found)
