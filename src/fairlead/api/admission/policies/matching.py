"""Which requests a policy or a binding is about: rules, names, scopes, and labels of the object and its namespace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fairlead.model.kind import Json, Kind
from fairlead.model.selectors import LabelMatcher, from_object

ALL = "*"
_NAMESPACES = "namespaces"


class WriteFacts(NamedTuple):
    """A write, as far as rules look at it."""

    kind: Kind
    versions: tuple[str, ...]  # in which the kind is served, that of the request first
    operation: str
    subresource: str
    name: str
    new: Json | None
    old: Json | None
    space: Mapping[str, str] | None  # labels of the namespace that the object is in


class RequestRule(NamedTuple):
    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: frozenset[str]
    names: frozenset[str]
    scope: str

    def may_match(self, kind: Kind, subresource: str) -> bool:
        """Whether it may be about writes at this address."""
        return bool(self.groups & {ALL, kind.group}) and self._names(kind.plural, subresource)

    def version_for(self, write: WriteFacts, exact: bool) -> str:
        """In which version of the object the rule is about the request; "": it is not."""
        kind = write.kind
        if not (self.operations & {ALL, write.operation} and self.groups & {ALL, kind.group}):
            return ""
        if self.scope not in ("", ALL) and (self.scope == "Namespaced") is not kind.namespaced:
            return ""
        if not self._names(kind.plural, write.subresource) or (self.names and write.name not in self.names):
            return ""
        if self.versions & {ALL, kind.version}:
            return kind.version
        return "" if exact else next((each for each in write.versions if each in self.versions), "")

    def _names(self, plural: str, subresource: str) -> bool:
        if not subresource:
            return bool(self.resources & {ALL, "*/*", plural})
        return bool(self.resources & {"*/*", f"{plural}/{subresource}", f"{plural}/*", f"*/{subresource}"})


class Constraints(NamedTuple):
    rules: tuple[RequestRule, ...]
    excluded: tuple[RequestRule, ...]
    exact: bool
    space: LabelMatcher
    labels: LabelMatcher

    def may_match(self, kind: Kind, subresource: str) -> bool:
        return any(rule.may_match(kind, subresource) for rule in self.rules)

    def version_for(self, write: WriteFacts) -> str:
        """In which version of the object they are about the request; "": they are not."""
        if not self._selects(write):
            return ""
        if any(rule.version_for(write, self.exact) for rule in self.excluded):
            return ""
        if not self.rules:
            return write.kind.version
        return next((found for rule in self.rules if (found := rule.version_for(write, self.exact))), "")

    def _selects(self, write: WriteFacts) -> bool:
        if self.space:
            if write.kind.resource == _NAMESPACES:
                if not _any_labelled(self.space, write):
                    return False
            elif write.kind.namespaced and not self.space.matches(write.space or {}):
                return False
        return not self.labels or _any_labelled(self.labels, write)


def _any_labelled(selector: LabelMatcher, write: WriteFacts) -> bool:
    return any(
        selector.matches((each.get("metadata") or {}).get("labels") or {})
        for each in (write.new, write.old)
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


def _rule(rule: Json) -> RequestRule:
    return RequestRule(
        operations=frozenset(rule.get("operations") or ()),
        groups=frozenset(rule.get("apiGroups") or ()),
        versions=frozenset(rule.get("apiVersions") or ()),
        resources=frozenset(rule.get("resources") or ()),
        names=frozenset(rule.get("resourceNames") or ()),
        scope=rule.get("scope") or ALL,
    )
