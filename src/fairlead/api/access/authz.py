"""Those who decide about access, in the order in which they are asked: admins, health, roles, nodes, grants.

`builtin_chain` joins them; the runtime builds it once and the request pipeline asks it. The seam itself (Attributes,
AccessVerdict, AuthorizerChain) is `contract.py`, roles and bindings are `rbac/`, the node's rights `node_access.py`.
"""

from __future__ import annotations

from fairlead.api.access.authn import PUBLIC_PATHS, is_public
from fairlead.api.access.breakglass.in_force import AccessGrants
from fairlead.api.access.contract import (
    NO_OPINION,
    AccessRules,
    AccessVerdict,
    Attributes,
    AuthorizerChain,
    PathRule,
    ResourceRule,
)
from fairlead.api.access.node_access import NodeRole
from fairlead.api.access.rbac.grants import Grants
from fairlead.api.access.users import MASTERS, User
from fairlead.store.contract import Reader

_MASTER = AccessVerdict("allowed", f'group "{MASTERS}" may do everything')
_PUBLIC = AccessVerdict("allowed", "anyone may read this path")


class Masters:
    """Group system:masters: everything. No object takes that away, so that an admin cannot be locked out.

    First in the chain, because it is the cheapest answer.
    """

    __slots__ = ()

    def authorize(self, asked: Attributes) -> AccessVerdict:
        return _MASTER if MASTERS in asked.user.groups else NO_OPINION

    def rules_for(self, user: User, namespace: str) -> AccessRules:
        if MASTERS not in user.groups:
            return AccessRules()
        return AccessRules((ResourceRule(("*",), ("*",), ("*",)),), (PathRule(("*",), ("*",)),))


class PublicPaths:
    """Health and the version, for anyone: who watches over a server is told how it is, whatever became of its roles."""

    __slots__ = ()

    def authorize(self, asked: Attributes) -> AccessVerdict:
        public = not asked.plural and asked.verb in ("get", "head") and is_public(asked.path)
        return _PUBLIC if public else NO_OPINION

    def rules_for(self, user: User, namespace: str) -> AccessRules:
        return AccessRules((), (PathRule(("get",), tuple(sorted(PUBLIC_PATHS))),))


def builtin_chain(
    reader: Reader, grants: Grants, access_grants: AccessGrants | None = None
) -> AuthorizerChain:
    """What every server asks."""
    return AuthorizerChain(
        Masters(), PublicPaths(), grants, NodeRole(reader), access_grants or AccessGrants(grants)
    )
