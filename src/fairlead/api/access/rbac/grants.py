"""What roles and bindings grant, at any moment: an Authorizer over the objects that are committed.

One per server, a link of the chain (`api/access/authz.py`). Whoever publishes commits hands them to `observe` before a
client gets its answer, so that a binding that was deleted grants nothing from then on; `learn` reads what a store has
at a start. A role or binding that is damaged or cannot be understood grants nothing, and what is returned tells of it.

A question costs a look into a dictionary: answers are remembered until a role or binding changes, one for all objects
of a resource where no rule of the user names single ones. An answer that is not remembered costs one pass over the
rules that name the resource, of the bindings of this user and their groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from fairlead.api.access.contract import (
    NO_OPINION,
    AccessRules,
    AccessVerdict,
    Attributes,
    PathRule,
    ResourceRule,
)
from fairlead.api.access.rbac.rules import ALL, PolicyRule
from fairlead.api.access.rbac.subjects import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
    SubjectBinding,
    decode_role,
    parse_binding,
)
from fairlead.api.access.users import EVERYONE, User
from fairlead.core.bounded_dict import BoundedDict
from fairlead.model.key import Key
from fairlead.store.contract import DELETED, CommittedChange, Entry, Reader
from fairlead.store.damage import is_stand_in, name_object

_ROLES, _BINDINGS = frozenset({ROLES, CLUSTER_ROLES}), frozenset({ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS})
_ALL = _ROLES | _BINDINGS
# How many users' rights, and how many answers, are remembered; what is forgotten is found again.
_USERS_KEPT, _ANSWERS_KEPT = 4096, 16_384
_ABOUT_MAX = 256  # characters of a name or path, which clients make up, with which an answer is remembered

_TOLD = 3  # bindings, or namespaces, that a refusal names

_Question = tuple[User, str, str, str, str, str, str]


class _Held:
    """The rules that one user has in one place, by the resource that they name."""

    __slots__ = ("by_resource", "paths")

    def __init__(self) -> None:
        self.by_resource: dict[str, list[tuple[PolicyRule, SubjectBinding]]] = {}
        self.paths: list[tuple[PolicyRule, SubjectBinding]] = []

    def add(self, rule: PolicyRule, binding: SubjectBinding) -> None:
        for resource in dict.fromkeys(rule.resources or ()):
            self.by_resource.setdefault(resource, []).append((rule, binding))
        if rule.non_resource_urls and not binding.key.namespace:
            self.paths.append((rule, binding))

    def allowing(self, asked: Attributes) -> SubjectBinding | None:
        for rule, binding in self._about(asked):
            if rule.allows(asked):
                return binding
        return None

    def _about(self, asked: Attributes) -> Iterator[tuple[PolicyRule, SubjectBinding]]:
        if not asked.plural:
            yield from self.paths
            return
        found = self.by_resource
        yield from found.get(ALL, ())
        if asked.subresource:
            yield from found.get(f"{asked.plural}/{asked.subresource}", ())
            yield from found.get(f"{ALL}/{asked.subresource}", ())
        else:
            yield from found.get(asked.plural, ())


class _Rights:
    """All that one user has: everywhere (""), and in each namespace where they have something. Clients make up
    namespaces, so that of others nothing is kept."""

    __slots__ = ("bindings", "named", "places")

    def __init__(self, bindings: tuple[SubjectBinding, ...], named: frozenset[str]) -> None:
        self.bindings = bindings
        self.places: dict[str, _Held | None] = dict.fromkeys(each.key.namespace for each in bindings)
        self.named = named  # resources, as rules spell them, of which a rule names single objects

    def depends_on_name(self, asked: Attributes) -> bool:
        named = self.named
        if not named:
            return False
        if not asked.subresource:
            return ALL in named or asked.plural in named
        return not named.isdisjoint(
            (ALL, f"{asked.plural}/{asked.subresource}", f"{ALL}/{asked.subresource}")
        )


class Grants:
    """The roles and bindings of one server."""

    heeds = _ALL

    __slots__ = ("_answers", "_bindings", "_by_group", "_by_user", "_rights", "_roles")

    def __init__(self) -> None:
        self._roles: dict[Key, tuple[PolicyRule, ...]] = {}
        self._bindings: dict[Key, SubjectBinding] = {}
        self._by_user: dict[str, set[Key]] = {}
        self._by_group: dict[str, set[Key]] = {}
        self._rights: BoundedDict[User, _Rights] = BoundedDict(_USERS_KEPT)
        self._answers: BoundedDict[_Question, AccessVerdict] = BoundedDict(_ANSWERS_KEPT)

    def learn(self, read: Reader) -> list[str]:
        return [
            trouble for each in sorted(_ALL) for entry in read.list(each) for trouble in self._take(entry)
        ]

    def observe(self, changes: Iterable[CommittedChange]) -> list[str]:
        troubles: list[str] = []
        for change in changes:
            key = change.entry.key
            if key.resource not in _ALL:
                continue
            self._forget(key)
            if change.type != DELETED:
                troubles += self._take(change.entry)
        return troubles

    def authorize(self, asked: Attributes) -> AccessVerdict:
        about = asked.path
        if asked.plural:
            about = asked.name if self._rights_of(asked.user).depends_on_name(asked) else ""
        question = (
            asked.user, asked.verb, asked.group, asked.plural, asked.subresource, asked.namespace, about,
        )  # fmt: skip
        answer = self._answers.get(question)
        if answer is None:
            answer = self._judge(asked)
            if len(about) <= _ABOUT_MAX:
                self._answers.keep(question, answer)
        return answer

    def rules_for(self, user: User, namespace: str) -> AccessRules:
        """All of a user's rules that hold in a namespace, those that hold everywhere first."""
        resources: dict[ResourceRule, None] = {}
        paths: dict[PathRule, None] = {}
        for binding in self._rights_of(user).bindings:
            if binding.key.namespace not in ("", namespace):
                continue
            for rule in self._roles.get(binding.role, ()):
                if rule.resources:
                    names = rule.resource_names or ()
                    resources[ResourceRule(rule.verbs, rule.api_groups or (), rule.resources, names)] = None
                if rule.non_resource_urls and not binding.key.namespace:
                    paths[PathRule(rule.verbs, rule.non_resource_urls)] = None
        return AccessRules(tuple(resources), tuple(paths))

    def namespaces_of(self, user: User) -> tuple[str, ...]:
        """Where somebody gave this user a role, by name or by a group of theirs."""
        return tuple(
            dict.fromkeys(each.key.namespace for each in self._rights_of(user).bindings if each.key.namespace)
        )

    def rules_of(self, role: Key) -> tuple[PolicyRule, ...] | None:
        """What a role grants to whoever has it; None if there is no such role."""
        return self._roles.get(role)

    def rules_held(self, user: User, namespace: str) -> Iterator[PolicyRule]:
        """The rules that a user has in a namespace; with "", those that hold everywhere."""
        for binding in self._rights_of(user).bindings:
            if binding.key.namespace in ("", namespace):
                yield from self._roles.get(binding.role, ())

    def _judge(self, asked: Attributes) -> AccessVerdict:
        rights = self._rights_of(asked.user)
        for place in dict.fromkeys(("", asked.namespace if asked.plural else "")):
            binding = self._allowing(rights, place, asked)
            if binding is not None:
                return AccessVerdict(
                    "allowed", f"RBAC: allowed by {binding.told} to {_through(binding, asked.user)}"
                )
        return self._refusal(rights, asked)

    def _allowing(self, rights: _Rights, place: str, asked: Attributes) -> SubjectBinding | None:
        if place not in rights.places:
            return None
        held = rights.places[place]
        if held is None:
            held = rights.places[place] = self._held(rights, place)
        return held.allowing(asked)

    def _refusal(self, rights: _Rights, asked: Attributes) -> AccessVerdict:
        """No answer, with what would help: the roles that the user has where they asked, and those that are gone."""
        here = [each for each in rights.bindings if each.key.namespace in ("", asked.namespace)]
        if asked.plural and not asked.namespace:
            elsewhere = [
                each for each in self.namespaces_of(asked.user) if self._allowing(rights, each, asked)
            ]
            if elsewhere:
                return AccessVerdict("no-opinion", f"RBAC: allowed in {_some(elsewhere)} alone")
        own = [each for each in here if asked.user.name in each.users or not each.groups <= EVERYONE]
        told = [f"{each.told}{'' if each.role in self._roles else ', which does not exist'}" for each in own]
        if not told:
            return NO_OPINION
        return AccessVerdict("no-opinion", f"RBAC: not allowed by {_some(told)}")

    def _held(self, rights: _Rights, place: str) -> _Held:
        held = _Held()
        for binding in rights.bindings:
            if binding.key.namespace == place:
                for rule in self._roles.get(binding.role, ()):
                    held.add(rule, binding)
        return held

    def _rights_of(self, user: User) -> _Rights:
        found = self._rights.get(user)
        if found is not None:
            return found
        keys = set(self._by_user.get(user.name, ()))
        for group in user.groups:
            keys |= self._by_group.get(group, set())
        ordered = sorted(keys, key=_everywhere_first)
        bindings = tuple(self._bindings[key] for key in ordered)
        rules = (rule for each in bindings for rule in self._roles.get(each.role, ()) if rule.resource_names)
        named = frozenset(resource for rule in rules for resource in rule.resources or ())
        return self._rights.keep(user, _Rights(bindings, named))

    def _take(self, entry: Entry) -> list[str]:
        key = entry.key
        if is_stand_in(entry.data):
            return [f"{name_object(key)} grants nothing: it is damaged in the store"]
        try:
            if key.resource in _ROLES:
                self._roles[key] = decode_role(entry.data).rules or ()
            else:
                self._bind(parse_binding(key, entry.data))
        except msgspec.MsgspecError as error:
            return [f"{name_object(key)} grants nothing: it cannot be understood: {error}"]
        return []

    def _bind(self, binding: SubjectBinding) -> None:
        self._bindings[binding.key] = binding
        for user in binding.users:
            self._by_user.setdefault(user, set()).add(binding.key)
        for group in binding.groups:
            self._by_group.setdefault(group, set()).add(binding.key)

    def _forget(self, key: Key) -> None:
        self._rights.clear()
        self._answers.clear()
        self._roles.pop(key, None)
        binding = self._bindings.pop(key, None)
        if binding is None:
            return
        for index, names in ((self._by_user, binding.users), (self._by_group, binding.groups)):
            for name in names:
                index[name].discard(key)
                if not index[name]:
                    del index[name]


def _everywhere_first(key: Key) -> tuple[str, str]:
    return key.namespace, key.name


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
    return f"{', '.join(names[:_TOLD])}{more}"


def _through(binding: SubjectBinding, user: User) -> str:
    """By which of their names the binding means them."""
    if user.name in binding.users:
        return f'User "{user.name}"'
    return f'Group "{next(group for group in user.groups if group in binding.groups)}"'
