"""Who is asking. Authentication makes these; authorization, admission and audit read them."""

from __future__ import annotations

from dataclasses import dataclass

MASTERS = "system:masters"
NODES = "system:nodes"
VIEWERS = "fairlead:viewers"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
NODE_PREFIX = "system:node:"

_ROLE_GROUPS = ((MASTERS, "admin"), (NODES, "node"), (VIEWERS, "viewer"), (UNAUTHENTICATED, "anonymous"))


@dataclass(frozen=True, slots=True)
class User:
    """A name and its groups, as Kubernetes' UserInfo has them. Hashable, so that it can key a cache."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def node_name(self) -> str:
        """The node this user is, or "" if it is none: both the group and the name must say so."""
        if NODES in self.groups and self.name.startswith(NODE_PREFIX):
            return self.name[len(NODE_PREFIX) :]
        return ""

    @property
    def role(self) -> str:
        """admin, node, viewer, anonymous or other: for counters and for messages, never for decisions."""
        for group, role in _ROLE_GROUPS:
            if group in self.groups:
                return role
        return "other"


ANONYMOUS = User("system:anonymous", groups=(UNAUTHENTICATED,))
