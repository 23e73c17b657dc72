"""The built-in roles, by group: masters (everything), viewers (read all but secrets), everyone (discovery).

`builtin_chain` joins them with the node's role (`node_access.py`) in the order in which they are asked; the
runtime builds it once, the request pipeline asks it, and RBAC will be one more link. The seam itself
(Attributes, AccessVerdict, AuthorizerChain) is `contract.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fairlead.api.access.authn import PUBLIC_PATHS, is_public
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
from fairlead.api.access.reviews import REVIEWS
from fairlead.api.access.users import AUTHENTICATED, MASTERS, VIEWERS, User
from fairlead.api.metrics import METRICS
from fairlead.store.contract import Reader

READ_VERBS = frozenset({"get", "list", "watch"})
# Reviews that anyone signed in may ask about themselves.
_SELF_REVIEWS = frozenset((known.group, known.plural) for known in REVIEWS if known.about_oneself)
_DISCOVERY = frozenset({"/api", "/apis", "/openapi", "/version", "/"})
_DISCOVERY_BELOW = ("/api/", "/apis/", "/openapi/")

# Reading these is reading. `get pods/exec` would be running a command, whatever its verb is called.
_VIEWER_SUBRESOURCES = frozenset({"", "status", "scale", "log"})

# What is read without being stored, for those who list what they may.
_ANSWERED = (("", "pods/log"), *((kind.group, kind.plural) for kind in METRICS))

_MASTER = AccessVerdict("allowed", f'group "{MASTERS}" may do everything')
_VIEW = AccessVerdict("allowed", f'group "{VIEWERS}" may read')
_PUBLIC = AccessVerdict("allowed", "anyone may read this path")
_SIGNED_IN = AccessVerdict("allowed", "anyone signed in may do this")


class MastersRole:
    """Group system:masters: everything. First in the chain, because it is the cheapest answer."""

    __slots__ = ()

    def authorize(self, asked: Attributes) -> AccessVerdict:
        return _MASTER if MASTERS in asked.user.groups else NO_OPINION

    def rules_for(self, user: User) -> AccessRules:
        if MASTERS not in user.groups:
            return AccessRules()
        return AccessRules((ResourceRule(("*",), ("*",), ("*",)),), (PathRule(("*",), ("*",)),))


class EveryoneRole:
    """Public paths for all; discovery and questions about oneself for everyone signed in."""

    __slots__ = ()

    def authorize(self, asked: Attributes) -> AccessVerdict:
        if not asked.plural:
            return self._path(asked)
        signed_in = AUTHENTICATED in asked.user.groups
        if signed_in and asked.verb == "create" and (asked.group, asked.plural) in _SELF_REVIEWS:
            return _SIGNED_IN
        return NO_OPINION

    def _path(self, asked: Attributes) -> AccessVerdict:
        if asked.verb not in ("get", "head"):
            return NO_OPINION
        path = asked.path
        if is_public(path):
            return _PUBLIC
        known = path in _DISCOVERY or path.startswith(_DISCOVERY_BELOW)
        return _SIGNED_IN if known and AUTHENTICATED in asked.user.groups else NO_OPINION

    def rules_for(self, user: User) -> AccessRules:
        public = PathRule(("get",), tuple(sorted(PUBLIC_PATHS)))
        if AUTHENTICATED not in user.groups:
            return AccessRules((), (public,))
        reviews = tuple(ResourceRule(("create",), (group,), (name,)) for group, name in sorted(_SELF_REVIEWS))
        discovery = ("/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*")
        return AccessRules(reviews, (public, PathRule(("get",), discovery)))


class ViewersRole:
    """Group fairlead:viewers: reads of everything but secrets, no writes.

    `resources` are the (group, plural) pairs that exist: rules have no way to say "all but", so they list.
    """

    __slots__ = ("_resources",)

    def __init__(self, resources: Callable[[], Iterable[tuple[str, str]]]) -> None:
        self._resources = resources

    def authorize(self, asked: Attributes) -> AccessVerdict:
        if VIEWERS not in asked.user.groups:
            return NO_OPINION
        if asked.verb not in READ_VERBS:
            return AccessVerdict("no-opinion", "the viewer role only reads; writing needs the admin role")
        if asked.plural == "secrets" and not asked.group:
            return AccessVerdict(
                "no-opinion", "the viewer role reads everything but secrets; those need the admin role"
            )
        if asked.subresource not in _VIEWER_SUBRESOURCES:
            needed = (
                f'the viewer role does not reach subresource "{asked.subresource}"; that needs the admin role'
            )
            return AccessVerdict("no-opinion", needed)
        return _VIEW

    def rules_for(self, user: User) -> AccessRules:
        if VIEWERS not in user.groups:
            return AccessRules()
        verbs = ("get", "list", "watch")
        by_group: dict[str, dict[str, None]] = {}
        for group, plural in sorted((*self._resources(), *_ANSWERED)):
            if (group, plural) != ("", "secrets"):
                by_group.setdefault(group, {})[plural] = None
        rules = tuple(ResourceRule(verbs, (group,), tuple(names)) for group, names in by_group.items())
        return AccessRules(rules, (PathRule(("get",), ("*",)),))


def builtin_chain(
    reader: Reader, resources: Iterable[tuple[str, str]] | Callable[[], Iterable[tuple[str, str]]]
) -> AuthorizerChain:
    """The roles every server has. `resources`: (group, plural) of all kinds served; or what tells them, as they come
    and go."""
    told = resources if callable(resources) else tuple(resources).__iter__
    return AuthorizerChain(MastersRole(), EveryoneRole(), ViewersRole(told), NodeRole(reader))
