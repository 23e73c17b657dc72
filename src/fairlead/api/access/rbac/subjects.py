"""Roles and bindings as authorization reads them from stored bytes, and whom the subjects of a binding mean.

Used by `grants.py`, which holds all of them, and by `escalation.py` for the one that is being written.
"""

from __future__ import annotations

import msgspec

from fairlead.api.access.rbac.rules import PolicyRule
from fairlead.api.access.users import service_account_name
from fairlead.model.key import Key
from fairlead.model.kinds.role import CLUSTER_ROLE, ROLE
from fairlead.model.kinds.rolebinding import (
    CLUSTER_ROLE_BINDING,
    ROLE_BINDING,
    SERVICE_ACCOUNT,
    USER,
    USER_GROUP,
)

ROLES, CLUSTER_ROLES = ROLE.resource, CLUSTER_ROLE.resource
ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS = ROLE_BINDING.resource, CLUSTER_ROLE_BINDING.resource


class RoleView(msgspec.Struct, frozen=True, rename="camel"):
    rules: tuple[PolicyRule, ...] | None = None


class _RoleRef(msgspec.Struct, frozen=True):
    kind: str = ""
    name: str = ""


class _Subject(msgspec.Struct, frozen=True):
    kind: str = ""
    name: str = ""
    namespace: str = ""


class _BindingView(msgspec.Struct, frozen=True, rename="camel"):
    role_ref: _RoleRef = _RoleRef()
    subjects: tuple[_Subject, ...] | None = None


class SubjectBinding(msgspec.Struct, frozen=True):
    """A binding that was understood. `users` and `groups` are those it names, service accounts by their user names."""

    key: Key
    role: Key
    users: frozenset[str]
    groups: frozenset[str]

    @property
    def told(self) -> str:
        """As a verdict names it."""
        kind = ROLE_BINDING.kind if self.key.namespace else CLUSTER_ROLE_BINDING.kind
        role = ROLE.kind if self.role.namespace else CLUSTER_ROLE.kind
        where = f'"{self.key.name}/{self.key.namespace}"' if self.key.namespace else f'"{self.key.name}"'
        return f'{kind} {where} of {role} "{self.role.name}"'


decode_role = msgspec.json.Decoder(RoleView).decode
_decode_binding = msgspec.json.Decoder(_BindingView).decode


def parse_binding(key: Key, data: bytes) -> SubjectBinding:
    """msgspec's error if it is not a binding's bytes."""
    view = _decode_binding(data)
    users, groups = set[str](), set[str]()
    for subject in view.subjects or ():
        if subject.kind == USER:
            users.add(subject.name)
        elif subject.kind == USER_GROUP:
            groups.add(subject.name)
        elif subject.kind == SERVICE_ACCOUNT and (subject.namespace or key.namespace):
            users.add(service_account_name(subject.namespace or key.namespace, subject.name))
    return SubjectBinding(
        key,
        role_of(key.namespace, view.role_ref.kind, view.role_ref.name),
        frozenset(users),
        frozenset(groups),
    )


def role_of(namespace: str, kind: str, name: str) -> Key:
    """The role that a roleRef means in a binding of this namespace ("" of a ClusterRoleBinding). A Role is in the
    namespace of its binding, so that a ClusterRoleBinding to one means a role that cannot exist."""
    return Key(CLUSTER_ROLES, "", name) if kind == CLUSTER_ROLE.kind else Key(ROLES, namespace, name)
