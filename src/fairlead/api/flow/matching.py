"""FlowSchemas: which of them a request belongs to, and to which flow of it. Kubernetes' semantics, pure.

Of all schemas that match, the one with the lowest precedence counts, and of those the one whose name comes first.
`in_force.py` has them in that order and asks one after the other.
"""

from __future__ import annotations

import msgspec

from fairlead.api.access.contract import Attributes
from fairlead.api.access.users import SERVICE_ACCOUNT_PREFIX, User, service_account_name
from fairlead.model.kinds.flowschema import ALL, BY_NAMESPACE, BY_USER, SERVICE_ACCOUNT, USER

_Texts = tuple[str, ...] | None


class _Named(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""


class _Subject(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    user: _Named | None = None
    group: _Named | None = None
    service_account: _Named | None = None

    def means(self, user: User) -> bool:
        if self.kind == USER:
            return self.user is not None and self.user.name in (ALL, user.name)
        if self.kind == SERVICE_ACCOUNT:
            account = self.service_account
            if account is None:
                return False
            if account.name == ALL:
                return user.name.startswith(f"{SERVICE_ACCOUNT_PREFIX}{account.namespace}:")
            return user.name == service_account_name(account.namespace, account.name)
        return self.group is not None and (self.group.name == ALL or self.group.name in user.groups)


class _ResourceRule(msgspec.Struct, frozen=True, rename="camel"):
    verbs: _Texts = None
    api_groups: _Texts = None
    resources: _Texts = None
    cluster_scope: bool = False
    namespaces: _Texts = None

    def matches(self, asked: Attributes) -> bool:
        resource = f"{asked.plural}/{asked.subresource}" if asked.subresource else asked.plural
        if not (_has(self.verbs, asked.verb) and _has(self.api_groups, asked.group)):
            return False
        if not _has(self.resources, resource):
            return False
        return _has(self.namespaces, asked.namespace) if asked.namespace else self.cluster_scope


class _PathRule(msgspec.Struct, frozen=True, rename="camel"):
    verbs: _Texts = None
    non_resource_urls: _Texts = msgspec.field(default=None, name="nonResourceURLs")

    def matches(self, asked: Attributes) -> bool:
        return _has(self.verbs, asked.verb) and any(
            _covers(url, asked.path) for url in self.non_resource_urls or ()
        )


class _Rule(msgspec.Struct, frozen=True, rename="camel"):
    subjects: tuple[_Subject, ...] | None = None
    resource_rules: tuple[_ResourceRule, ...] | None = None
    non_resource_rules: tuple[_PathRule, ...] | None = None

    def matches(self, asked: Attributes) -> bool:
        if not any(subject.means(asked.user) for subject in self.subjects or ()):
            return False
        if asked.plural:
            return any(rule.matches(asked) for rule in self.resource_rules or ())
        return any(rule.matches(asked) for rule in self.non_resource_rules or ())


class _Method(msgspec.Struct, frozen=True):
    type: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    priority_level_configuration: _Named = _Named()
    matching_precedence: int = 1000
    distinguisher_method: _Method | None = None
    rules: tuple[_Rule, ...] | None = None


class _Stored(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


_decode = msgspec.json.Decoder(_Stored).decode


class Schema(msgspec.Struct, frozen=True):
    """A FlowSchema that was understood."""

    name: str
    uid: str
    spec: _Spec

    @property
    def level(self) -> str:
        return self.spec.priority_level_configuration.name

    @property
    def order(self) -> tuple[int, str]:
        return self.spec.matching_precedence, self.name

    def matches(self, asked: Attributes) -> bool:
        return any(rule.matches(asked) for rule in self.spec.rules or ())

    def distinguisher(self, asked: Attributes) -> str:
        """What tells the request's flow from others of this schema."""
        method = self.spec.distinguisher_method
        if method is None:
            return ""
        return {BY_USER: asked.user.name, BY_NAMESPACE: asked.namespace}.get(method.type, "")


def parse_schema(name: str, uid: str, data: bytes) -> Schema:
    """Raises MsgspecError for what is not a schema."""
    return Schema(name, uid, _decode(data).spec)


def _has(said: _Texts, text: str) -> bool:
    return said is not None and (text in said or ALL in said)


def _covers(url: str, path: str) -> bool:
    return url in (ALL, path) or (url.endswith("/*") and path.startswith(url[:-1]))
