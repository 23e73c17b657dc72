"""The AuditPolicy `default` at work: its rules are asked before the built-in ones, from the moment it is committed.

Whoever publishes commits (runtime, simulator) hands them to `observe` before any client gets its answer; `learn` reads
what a store has when a server starts. An object that cannot be understood, or is damaged in the store, changes nothing:
the rules that were in force stay so, which at a start are the built-in ones, and what is returned tells of it.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fairlead.api.audit.recording import Audit
from fairlead.api.audit.rules import DEFAULT_POLICY, AuditLevel, AuditPolicy, AuditRule, Resources
from fairlead.model.key import Key
from fairlead.model.kinds.auditpolicy import KIND, NAME
from fairlead.store.contract import DELETED, CommittedChange, Entry, Reader
from fairlead.store.damage import is_stand_in

_KEY = Key(KIND.resource, "", NAME)

_Texts = tuple[str, ...] | None


class _Resources(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    group: str = ""
    resources: _Texts = None
    resource_names: _Texts = None


class _Rule(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A field that is not known here may be a condition: a rule without it would match more than it was meant to."""

    level: AuditLevel
    users: _Texts = None
    user_groups: _Texts = None
    verbs: _Texts = None
    resources: tuple[_Resources, ...] | None = None
    namespaces: _Texts = None
    non_resource_urls: _Texts = msgspec.field(default=None, name="nonResourceURLs")


class _Spec(msgspec.Struct):
    rules: tuple[_Rule, ...] | None = None


class _Stored(msgspec.Struct):
    spec: _Spec | None = None


_decode = msgspec.json.Decoder(_Stored).decode


class PolicyInForce:
    """One per server, beside its Audit."""

    heeds = frozenset({KIND.resource})

    __slots__ = ("_audit",)

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    def learn(self, read: Reader) -> list[str]:
        entry = read.get(_KEY)
        return [] if entry is None else self._take(entry)

    def observe(self, changes: Iterable[CommittedChange]) -> list[str]:
        troubles: list[str] = []
        for change in changes:
            if change.entry.key != _KEY:
                continue
            if change.type == DELETED:
                self._audit.follow(DEFAULT_POLICY)
            else:
                troubles += self._take(change.entry)
        return troubles

    def _take(self, entry: Entry) -> list[str]:
        if is_stand_in(entry.data):
            return [f"audit goes on as before: AuditPolicy {NAME} is damaged in the store"]
        try:
            spec = _decode(entry.data).spec
        except msgspec.MsgspecError as error:
            return [f"audit goes on as before: AuditPolicy {NAME} cannot be understood: {error}"]
        rules = (spec.rules if spec is not None else None) or ()
        self._audit.follow(AuditPolicy((*map(_rule, rules), *DEFAULT_POLICY.rules)))
        return []


def _rule(given: _Rule) -> AuditRule:
    return AuditRule(
        given.level,
        verbs=given.verbs or (),
        resources=tuple(
            Resources(each.group, each.resources or (), each.resource_names or ())
            for each in given.resources or ()
        ),
        namespaces=given.namespaces or (),
        urls=given.non_resource_urls or (),
        users=given.users or (),
        groups=given.user_groups or (),
    )
