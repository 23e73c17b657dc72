"""The seam of authorization: what is asked, what is answered, and the ordered chain of those who answer.

The request pipeline builds one `Attributes` per request and asks the `AuthorizerChain`; reviews (`kubectl auth can-i`)
ask the same chain about requests that nobody made. Built-in roles are in `authz.py`, the node's in
`node_access.py`, those of roles and bindings in `rbac/`. An authorizer answers from its arguments and
from durable state only, and never raises to say no.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

import msgspec

from fairlead.api.access.users import User
from fairlead.core.errors import Forbidden

Decision = Literal["allowed", "denied", "no-opinion"]


class Attributes(msgspec.Struct, frozen=True, gc=False):
    """One request, as far as access is concerned. `plural` is "" for requests to a path (`/version`)."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    plural: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    field_selector: str = ""
    label_selector: str = ""
    now: float = 0.0  # when it is asked, in seconds since the epoch; 0: not known, and what ends is taken to have ended


def reading(user: User, resource: str, namespace: str, name: str) -> Attributes:
    """To read one object; `resource` is its kind's plural with the group, as in deployments.apps."""
    plural, _, group = resource.partition(".")
    return Attributes(user, "get", group, "v1", plural, namespace=namespace, name=name)


class AccessVerdict(NamedTuple):
    decision: Decision
    reason: str = ""
    grant: str = ""  # the AccessGrant by which it is allowed, where nothing else allows it

    @property
    def allowed(self) -> bool:
        return self.decision == "allowed"


NO_OPINION = AccessVerdict("no-opinion")


class ResourceRule(NamedTuple):
    """What a user may do with resources, in the form SelfSubjectRulesReview shows it; "*" is all."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...]
    resources: tuple[str, ...]
    names: tuple[str, ...] = ()


class PathRule(NamedTuple):
    """What a user may do with paths that are not resources."""

    verbs: tuple[str, ...]
    paths: tuple[str, ...]


class AccessRules(NamedTuple):
    """Everything one user may do. `incomplete` says why the list does not tell all, or is ""."""

    resources: tuple[ResourceRule, ...] = ()
    paths: tuple[PathRule, ...] = ()
    incomplete: str = ""


class Authorizer(Protocol):
    def authorize(self, asked: Attributes) -> AccessVerdict:
        """Allowed and denied end the chain; no-opinion passes the question on, its reason is kept."""
        ...

    def rules_for(self, user: User, namespace: str) -> AccessRules:
        """Everything that a user may do in a namespace, as far as this one knows."""
        ...


class AuthorizerChain:
    """Asks in order; who answers first decides. If nobody does, the answer is denied, with all reasons."""

    __slots__ = ("_authorizers",)

    def __init__(self, *authorizers: Authorizer) -> None:
        self._authorizers = authorizers

    def authorize(self, asked: Attributes) -> AccessVerdict:
        reasons = []
        for authorizer in self._authorizers:
            verdict = authorizer.authorize(asked)
            if verdict.decision != "no-opinion":
                return verdict
            if verdict.reason:
                reasons.append(verdict.reason)
        return AccessVerdict("denied", "; ".join(reasons) or _no_role(asked.user))

    def rules_for(self, user: User, namespace: str) -> AccessRules:
        parts = [authorizer.rules_for(user, namespace) for authorizer in self._authorizers]
        return AccessRules(
            tuple(rule for part in parts for rule in part.resources),
            tuple(rule for part in parts for rule in part.paths),
            "; ".join(part.incomplete for part in parts if part.incomplete),
        )


def require(authorizer: Authorizer, asked: Attributes) -> AccessVerdict:
    """The one door: whoever acts for a caller passes it first. Forbidden if they may not; else why they may."""
    verdict = authorizer.authorize(asked)
    if verdict.decision != "allowed":
        raise forbidden_error(asked, verdict)
    return verdict


def _no_role(user: User) -> str:
    return (
        f'no role of "{user.name}" grants this; `kubectl create rolebinding` gives one, if you may grant it'
    )


def forbidden_error(asked: Attributes, verdict: AccessVerdict) -> Forbidden:
    """The 403 for a denied request, worded as Kubernetes words it."""
    because = f": {verdict.reason}" if verdict.reason else ""
    if not asked.plural:
        return Forbidden(
            f'forbidden: User "{asked.user.name}" cannot {asked.verb} path "{asked.path}"{because}'
        )
    resource = f"{asked.plural}/{asked.subresource}" if asked.subresource else asked.plural
    qualified = f"{asked.plural}.{asked.group}" if asked.group else asked.plural
    subject = f'{qualified} "{asked.name}"' if asked.name else qualified
    scope = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
    return Forbidden(
        f'{subject} is forbidden: User "{asked.user.name}" cannot {asked.verb} resource "{resource}"'
        f' in API group "{asked.group}" {scope}{because}',
        group=asked.group,
        kind=asked.plural,
        name=asked.name,
    )
