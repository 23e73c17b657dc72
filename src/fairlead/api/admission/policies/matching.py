"""Which requests a policy or a binding is about: rules, names, scopes, and labels of the object and its namespace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fairlead.model.kind import Json, Kind
from fairlead.model.selectors import LabelMatcher, from_object

ALL = "*"
_NAMESPACES = "namespaces"


class Asked(NamedTuple):
    """A write, as far as rules look at it."""

    kind: Kind
    versions: tuple[str, ...]  # in which the kind is served, that of the request first
    operation: str
    subresource: str
    name: str
    new: Json | None
    old: Json | None
    space: Mapping[str, str] | None  # labels of the namespace that the object is in


class Rule(NamedTuple):
    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: frozenset[str]
    names: frozenset[str]
    scope: str

    def names_kind(self, kind: Kind) -> bool:
        """Whether it may be about the kind, or a subresource of it."""
        return bool(self.groups & {ALL, kind.group}) and any(
            each.partition("/")[0] in (ALL, kind.plural) for each in self.resources
        )

    def version_for(self, asked: Asked, exact: bool) -> str:
        """In which version of the object the rule is about the request; "": it is not."""
        kind = asked.kind
        if not (self.operations & {ALL, asked.operation} and self.groups & {ALL, kind.group}):
            return ""
        if self.scope not in ("", ALL) and (self.scope == "Namespaced") is not kind.namespaced:
            return ""
        if not self._names(kind.plural, asked.subresource) or (self.names and asked.name not in self.names):
            return ""
        if self.versions & {ALL, kind.version}:
            return kind.version
        return "" if exact else next((each for each in asked.versions if each in self.versions), "")

    def _names(self, plural: str, subresource: str) -> bool:
        if not subresource:
            return bool(self.resources & {ALL, "*/*", plural})
        return bool(self.resources & {"*/*", f"{plural}/{subresource}", f"{plural}/*", f"*/{subresource}"})


class Constraints(NamedTuple):
    rules: tuple[Rule, ...]
    excluded: tuple[Rule, ...]
    exact: bool
    space: LabelMatcher
    labels: LabelMatcher

    def names(self, kind: Kind) -> bool:
        return any(rule.names_kind(kind) for rule in self.rules)

    def version_for(self, asked: Asked) -> str:
        """In which version of the object they are about the request; "": they are not."""
        if not self._selects(asked):
            return ""
        if any(rule.version_for(asked, self.exact) for rule in self.excluded):
            return ""
        if not self.rules:
            return asked.kind.version
        return next((found for rule in self.rules if (found := rule.version_for(asked, self.exact))), "")

    def _selects(self, asked: Asked) -> bool:
        if self.space:
            if asked.kind.resource == _NAMESPACES:
                if not _any_labelled(self.space, asked):
                    return False
            elif asked.kind.namespaced and not self.space.matches(asked.space or {}):
                return False
        return not self.labels or _any_labelled(self.labels, asked)


def _any_labelled(selector: LabelMatcher, asked: Asked) -> bool:
    return any(
        selector.matches((each.get("metadata") or {}).get("labels") or {})
        for each in (asked.new, asked.old)
        if each is not None
    )


def constraints_of(match: Json) -> Constraints:
    return Constraints(
        rules=tuple(map(_rule, match.get("resourceRules") or ())),
        excluded=tuple(map(_rule, match.get("excludeResourceRules") or ())),
        exact=match.get("matchPolicy") == "Exact",
        space=from_object(match.get("namespaceSelector") or {}),
        labels=from_object(match.get("objectSelector") or {}),
    )


def _rule(rule: Json) -> Rule:
    return Rule(
        operations=frozenset(rule.get("operations") or ()),
        groups=frozenset(rule.get("apiGroups") or ()),
        versions=frozenset(rule.get("apiVersions") or ()),
        resources=frozenset(rule.get("resources") or ()),
        names=frozenset(rule.get("resourceNames") or ()),
        scope=rule.get("scope") or ALL,
    )
