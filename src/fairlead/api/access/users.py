"""Who is asking. Authentication makes these; authorization, admission and audit read them."""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.model.kind import Json
from fairlead.model.names import label_problems, subdomain_problems

MASTERS = "system:masters"
NODES = "system:nodes"
VIEWERS = "fairlead:viewers"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
EVERYONE = frozenset({AUTHENTICATED, UNAUTHENTICATED})
NODE_PREFIX = "system:node:"
CREDENTIAL_ID = (
    "authentication.kubernetes.io/credential-id"  # which token it was, among what is known of a user
)
# Who took this user's name to create what acts in it later (a run of a runbook), among what is known of a user.
IMPERSONATED_BY = "fairlead.dev/impersonated-by"
SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"
SERVICE_ACCOUNTS = "system:serviceaccounts"

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


def user_info(user: User) -> Json:
    """As a UserInfo of Kubernetes has it: without what is empty."""
    info: Json = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(values) for key, values in user.extra}
    return info


ANONYMOUS = User("system:anonymous", groups=(UNAUTHENTICATED,))


def service_account_name(namespace: str, name: str) -> str:
    """The name under which a service account signs in."""
    return f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}"


def service_account(user: str) -> tuple[str, str]:
    """Namespace and name, of a user's name that is a service account's; else two empty texts."""
    if not user.startswith(SERVICE_ACCOUNT_PREFIX):
        return "", ""
    namespace, _, name = user[len(SERVICE_ACCOUNT_PREFIX) :].partition(":")
    return ("", "") if label_problems(namespace) or subdomain_problems(name) else (namespace, name)


def service_account_groups(namespace: str) -> tuple[str, ...]:
    """The groups that every service account of a namespace is in, beside that of everyone signed in."""
    return SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}"
