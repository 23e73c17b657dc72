"""What AccessGrants allow, at any moment: the last link of the chain of authorizers (`api/access/authz.py`).

Asked only about what nothing else allows, so that a request is done under a grant only if it could not be done without.
Whoever publishes commits hands them to `observe` before a client gets its answer: a grant that was revoked or deleted
allows nothing from then on. Whether one has ended is judged by the instant that comes with each question, so that
nothing has to happen for it to end; a question without an instant is answered as if there were no grants.

No grant reaches the guard itself (`_GUARD`), nor anything that would outlast it: roles, tokens, certificates, acting as
somebody else.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fairlead.api.access.contract import (
    NO_OPINION,
    AccessRules,
    AccessVerdict,
    Attributes,
)
from fairlead.api.access.rbac.grants import Grants
from fairlead.api.access.rbac.rules import PolicyRule
from fairlead.api.access.rbac.subjects import role_of
from fairlead.api.access.users import User
from fairlead.core import codec
from fairlead.core.times import timestamp
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.kinds.accessgrant import APPROVED, GROUP, KIND, USER, ends_at
from fairlead.model.kinds.workload import part
from fairlead.store.contract import DELETED, CommittedChange, Entry, Reader
from fairlead.store.damage import is_stand_in, name_object

_RESOURCE = KIND.resource
_READ = ("get", "list", "watch")
_OTHERS = frozenset({"impersonate", "bind", "escalate", "approve", "sign", "break-glass", "bypass"})
# Groups and kinds that guard the rest, or give what lasts longer than a grant: read under one, never written.
_GUARD_GROUPS = frozenset(
    {
        "rbac.authorization.k8s.io",
        "admissionregistration.k8s.io",
        "certificates.k8s.io",
        "apiextensions.k8s.io",
        "flowcontrol.apiserver.k8s.io",
    }
)
_GUARD = frozenset(
    {
        (GROUP, KIND.plural),
        (GROUP, "changefreezes"),
        (GROUP, "planesettings"),
        (GROUP, "auditpolicies"),
        (GROUP, "evidencepolicies"),
    }
)


class HeldGrant(msgspec.Struct, frozen=True):
    """A grant that was approved, as requests are judged by it."""

    name: str
    key: Key
    revision: int
    user: str  # or group
    group: str
    roles: tuple[tuple[str, Key], ...]  # by namespace; "" with an object that is in none
    about: tuple[str, str, str, str] | None  # group, resource, namespace and name of the one object
    ends: float

    def concerns(self, user: User) -> bool:
        return self.user == user.name if self.user else self.group in user.groups


class AccessGrants:
    """The grants of one server. `roles` knows what each role allows."""

    heeds = frozenset({_RESOURCE})

    __slots__ = ("_by_name", "_roles")

    def __init__(self, roles: Grants) -> None:
        self._roles = roles
        self._by_name: dict[str, HeldGrant] = {}

    def learn(self, read: Reader) -> list[str]:
        return [trouble for entry in read.list(_RESOURCE) for trouble in self._take(entry)]

    def observe(self, changes: Iterable[CommittedChange]) -> list[str]:
        troubles: list[str] = []
        for change in changes:
            if change.entry.key.resource != _RESOURCE:
                continue
            self._by_name.pop(change.entry.key.name, None)
            if change.type != DELETED:
                troubles += self._take(change.entry)
        return troubles

    def authorize(self, asked: Attributes) -> AccessVerdict:
        if not self._by_name or not asked.now or not asked.plural or is_guarded(asked):
            return NO_OPINION
        ended: HeldGrant | None = None
        for held in self._by_name.values():
            if not held.concerns(asked.user) or not self._allows(held, asked):
                continue
            if asked.now < held.ends:
                return AccessVerdict(
                    "allowed", f'allowed by AccessGrant "{held.name}" until {timestamp(held.ends)}', held.name
                )
            if ended is None or held.ends > ended.ends:
                ended = held
        if ended is None:
            return NO_OPINION
        return AccessVerdict(
            "no-opinion", f'AccessGrant "{ended.name}" ended at {timestamp(ended.ends)}: ask anew'
        )

    def rules_for(self, user: User, namespace: str) -> AccessRules:
        """Without an instant it cannot be said which of them hold."""
        mine = sorted(each.name for each in self._by_name.values() if each.concerns(user))
        return AccessRules(incomplete=f"grants until they end: {', '.join(mine)}" if mine else "")

    def holding(self, name: str, now: float) -> HeldGrant | None:
        """A grant that holds at this instant."""
        held = self._by_name.get(name)
        return held if held is not None and now < held.ends else None

    def _allows(self, held: HeldGrant, asked: Attributes) -> bool:
        if held.about is not None:
            if held.about != (asked.group, asked.plural, asked.namespace, asked.name):
                return False
            place = held.about[2]
        else:
            place = asked.namespace
        return any(rule.allows(asked) for rule in self._rules(held, place))

    def _rules(self, held: HeldGrant, namespace: str) -> tuple[PolicyRule, ...]:
        """Of a place that the grant does not name: none."""
        for space, role in held.roles:
            if space == namespace:
                return self._roles.rules_of(role) or ()
        return ()

    def _take(self, entry: Entry) -> list[str]:
        key = entry.key
        if is_stand_in(entry.data):
            return [f"{name_object(key)} grants nothing: it is damaged in the store"]
        try:
            held = held_of(key, entry.revision, codec.decode(entry.data))
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            return [f"{name_object(key)} grants nothing: it cannot be understood: {error}"]
        if held is not None:
            self._by_name[key.name] = held
        return []


def held_of(key: Key, revision: int, grant: Json) -> HeldGrant | None:
    """A stored grant as it is judged; None while it is not approved."""
    if part(grant, "status").get("decision") != APPROVED:
        return None
    spec = part(grant, "spec")
    subject, role, about = part(spec, "subject"), part(spec, "role"), spec.get("object")
    is_user = subject["kind"] == USER
    places = tuple(spec.get("namespaces") or ()) if about is None else (about.get("namespace") or "",)
    return HeldGrant(
        name=key.name,
        key=key,
        revision=revision,
        user=subject["name"] if is_user else "",
        group="" if is_user else subject["name"],
        roles=tuple((space, role_of(space, role["kind"], role["name"])) for space in places),
        about=None
        if about is None
        else (about.get("group") or "", about["resource"], about.get("namespace") or "", about["name"]),
        ends=ends_at(grant),
    )


def is_guarded(asked: Attributes) -> bool:
    """Whether no grant reaches this, whatever its role says."""
    if asked.verb in _OTHERS or (asked.plural == "serviceaccounts" and asked.subresource == "token"):
        return True
    guard = asked.group in _GUARD_GROUPS or (asked.group, asked.plural) in _GUARD
    return guard and asked.verb not in _READ
