"""What a rule of a role allows, and whether some rules allow all that another does. Kubernetes' semantics, pure.

Asked by `grants.py` for requests and by `escalation.py` for roles that somebody writes or binds. Rules only allow:
nothing in them forbids.

    verbs, apiGroups   the word itself, or *
    resources          pods, pods/log, * (all, with all subresources), */log (that subresource of anything)
    resourceNames      none: any name; else the request must carry one of them (a list or a create carries none)
    nonResourceURLs    the path itself, or one that ends with *, which stands for any rest
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

import msgspec

from fairlead.api.access.contract import Attributes
from fairlead.model.kind import Json

ALL = "*"
_UNNAMED: tuple[tuple[str, ...], ...] = ((),)


class PolicyRule(msgspec.Struct, frozen=True, rename="camel"):
    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] | None = ()
    resources: tuple[str, ...] | None = ()
    resource_names: tuple[str, ...] | None = ()
    non_resource_urls: tuple[str, ...] | None = msgspec.field(default=(), name="nonResourceURLs")

    def allows(self, asked: Attributes) -> bool:
        if not _has(self.verbs, asked.verb):
            return False
        if not asked.plural:
            return any(url_matches(url, asked.path) for url in self.non_resource_urls or ())
        return (
            _has(self.api_groups or (), asked.group)
            and any(resource_matches(each, asked.plural, asked.subresource) for each in self.resources or ())
            and (not self.resource_names or asked.name in self.resource_names)
        )

    @property
    def atoms(self) -> int:
        """Into how many smallest rules it can be taken apart."""
        things = (
            len(self.api_groups or ()) * len(self.resources or ()) * max(1, len(self.resource_names or ()))
        )
        return len(self.verbs) * (things + len(self.non_resource_urls or ()))


def rules_of(role: Json) -> tuple[PolicyRule, ...]:
    """Those of a role whose structure is known to be right."""
    return tuple(msgspec.convert(each, PolicyRule) for each in role.get("rules") or ())


def resource_matches(said: str, plural: str, subresource: str) -> bool:
    """Whether a resource that a rule names is the one of a request."""
    if said == ALL:
        return True
    if not subresource:
        return said == plural
    return said in (f"{plural}/{subresource}", f"{ALL}/{subresource}")


def url_matches(said: str, path: str) -> bool:
    """Whether a path that a rule names is the one of a request."""
    return said in (ALL, path) or (said.endswith(ALL) and path.startswith(said.rstrip(ALL)))


def missing(owned: Iterable[PolicyRule], wanted: Iterable[PolicyRule]) -> Iterator[PolicyRule]:
    """Of what is wanted, the smallest rules that no single owned rule covers, in order."""
    held = tuple(owned)
    for rule in wanted:
        if any(_covers(each, rule) for each in held):
            continue
        for atom in _taken_apart(rule):
            if not any(_covers(each, atom) for each in held):
                yield atom


def _taken_apart(rule: PolicyRule) -> Iterator[PolicyRule]:
    """One verb on one thing each."""
    for verb, url in product(rule.verbs, rule.non_resource_urls or ()):
        yield PolicyRule((verb,), non_resource_urls=(url,))
    for group, resource, verb in product(rule.api_groups or (), rule.resources or (), rule.verbs):
        for names in ((name,) for name in rule.resource_names or ()) if rule.resource_names else _UNNAMED:
            yield PolicyRule((verb,), (group,), (resource,), names)


def _covers(owned: PolicyRule, wanted: PolicyRule) -> bool:
    return (
        _has_all(owned.verbs, wanted.verbs)
        and _has_all(owned.api_groups or (), wanted.api_groups or ())
        and all(_covers_resource(owned.resources or (), each) for each in wanted.resources or ())
        and _covers_names(owned.resource_names or (), wanted.resource_names or ())
        and all(_covers_url(owned.non_resource_urls or (), each) for each in wanted.non_resource_urls or ())
    )


def _covers_resource(owned: tuple[str, ...], wanted: str) -> bool:
    if _has(owned, wanted):
        return True
    _, slash, subresource = wanted.partition("/")
    return bool(slash) and f"{ALL}/{subresource}" in owned


def _covers_names(owned: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return not owned or (bool(wanted) and set(owned) >= set(wanted))


def _covers_url(owned: tuple[str, ...], wanted: str) -> bool:
    return any(
        each in (ALL, wanted) or (each.endswith(ALL) and wanted.startswith(each.rstrip(ALL)))
        for each in owned
    )


def _has(said: tuple[str, ...], word: str) -> bool:
    return word in said or ALL in said


def _has_all(said: tuple[str, ...], words: tuple[str, ...]) -> bool:
    return ALL in said or set(said) >= set(words)
