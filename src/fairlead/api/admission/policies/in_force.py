"""The policies and bindings that are committed, compiled: those that judge and those that change.

One per server. Whoever publishes commits (runtime, simulator) hands them to `observe` before any client gets its
answer; `learn` reads what a store has when a server starts. A policy that is damaged or cannot be understood is not in
force, and what is returned tells of it. Without policies, all that a write pays is to ask whether there are any.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from fairlead.api.admission.policies.matching import Constraints, constraints_of
from fairlead.core.bounded_dict import BoundedDict
from fairlead.core.problems import Problems
from fairlead.model.key import Key
from fairlead.model.kind import Json, Kind
from fairlead.model.kinds.admission import bindings, policies
from fairlead.model.kinds.admission.expressions import Compiled, compile_policy
from fairlead.model.selectors import LabelMatcher, from_object
from fairlead.store.contract import DELETED, AtRevision, CommittedChange, Entry, Reader
from fairlead.store.damage import is_stand_in

VALIDATING, MUTATING = policies.VALIDATING.resource, policies.MUTATING.resource
_KINDS = {each.resource: each.kind for each in (policies.VALIDATING, policies.MUTATING)}
_BINDINGS = {bindings.VALIDATING.resource: VALIDATING, bindings.MUTATING.resource: MUTATING}
RESOURCES = frozenset({VALIDATING, MUTATING, *_BINDINGS})
_CONCERNS_KEPT = 1024
_tree = msgspec.json.Decoder(dict[str, Any]).decode


class Parameters(NamedTuple):
    """Where a binding says that parameters are."""

    name: str
    namespace: str
    selector: LabelMatcher | None
    denies_without: bool


class PolicyBinding(NamedTuple):
    name: str
    at: AtRevision
    policy: str
    constraints: Constraints | None
    parameters: Parameters | None
    actions: frozenset[str]


class AdmissionPolicy(NamedTuple):
    kind: str  # ValidatingAdmissionPolicy or MutatingAdmissionPolicy
    name: str
    at: AtRevision
    constraints: Constraints
    fails: bool  # where an expression has no value
    param_kind: tuple[str, str, str] | None  # group, version, kind
    compiled: Compiled
    again: bool  # a policy that changes: asked once more if another has changed the object after it


class BoundPolicy(NamedTuple):
    policy: AdmissionPolicy
    bindings: tuple[PolicyBinding, ...]


class Policies:
    """`validating` and `mutating`: policies that have bindings, by name."""

    heeds = RESOURCES

    __slots__ = ("_bindings", "_concerns", "_policies", "active", "mutating", "validating")

    def __init__(self) -> None:
        self._policies: dict[str, dict[str, AdmissionPolicy]] = {VALIDATING: {}, MUTATING: {}}
        self._bindings: dict[str, dict[str, PolicyBinding]] = {VALIDATING: {}, MUTATING: {}}
        self._concerns: BoundedDict[tuple[str, str], bool] = BoundedDict(_CONCERNS_KEPT)
        self.validating: tuple[BoundPolicy, ...] = ()
        self.mutating: tuple[BoundPolicy, ...] = ()
        self.active = False

    def learn(self, read: Reader) -> list[str]:
        troubles = [
            trouble
            for each in sorted(RESOURCES)
            for entry in read.list(each)
            for trouble in self._take(entry)
        ]
        self._arrange()
        return troubles

    def observe(self, changes: Iterable[CommittedChange]) -> list[str]:
        troubles: list[str] = []
        touched = False
        for change in changes:
            key = change.entry.key
            if key.resource not in RESOURCES:
                continue
            touched = True
            self._forget(key)
            if change.type != DELETED:
                troubles += self._take(change.entry)
        if touched:
            self._arrange()
        return troubles

    def concern(self, kind: Kind, subresource: str = "") -> bool:
        """Whether any may have something to say to a write of this kind at this address."""
        address = kind.resource, subresource
        known = self._concerns.get(address)
        if known is None:
            bound = (*self.validating, *self.mutating)
            known = kind.resource not in RESOURCES and any(
                each.policy.constraints.may_match(kind, subresource) for each in bound
            )
            self._concerns.keep(address, known)
        return known

    def _take(self, entry: Entry) -> list[str]:
        key = entry.key
        if is_stand_in(entry.data):
            return [f"{key} is not in force: it is damaged in the store"]
        spec: Json = _tree(entry.data).get("spec") or {}
        at = AtRevision(key, entry.revision)
        if key.resource in _BINDINGS:
            self._bindings[_BINDINGS[key.resource]][key.name] = _binding(key.name, at, spec)
            return []
        problems = Problems()
        compiled = compile_policy(spec, problems)
        if problems:
            return [f"{key} is not in force: {problems.summary()}"]
        self._policies[key.resource][key.name] = _policy(_KINDS[key.resource], key.name, at, spec, compiled)
        return []

    def _forget(self, key: Key) -> None:
        if key.resource in _BINDINGS:
            self._bindings[_BINDINGS[key.resource]].pop(key.name, None)
        else:
            self._policies[key.resource].pop(key.name, None)

    def _arrange(self) -> None:
        self._concerns.clear()
        self.validating, self.mutating = self._bound(VALIDATING), self._bound(MUTATING)
        self.active = bool(self.validating or self.mutating)

    def _bound(self, resource: str) -> tuple[BoundPolicy, ...]:
        by_policy: dict[str, list[PolicyBinding]] = {}
        for _, binding in sorted(self._bindings[resource].items()):
            by_policy.setdefault(binding.policy, []).append(binding)
        return tuple(
            BoundPolicy(policy, tuple(by_policy[name]))
            for name, policy in sorted(self._policies[resource].items())
            if name in by_policy
        )


def _policy(kind: str, name: str, at: AtRevision, spec: Json, compiled: Compiled) -> AdmissionPolicy:
    param_kind = spec.get("paramKind") or {}
    group, slash, version = (param_kind.get("apiVersion") or "").partition("/")
    if not slash:
        group, version = "", group
    return AdmissionPolicy(
        kind=kind,
        name=name,
        at=at,
        constraints=constraints_of(spec.get("matchConstraints") or {}),
        fails=(spec.get("failurePolicy") or "Fail") == "Fail",
        param_kind=(group, version, param_kind.get("kind") or "") if param_kind else None,
        compiled=compiled,
        again=spec.get("reinvocationPolicy") == "IfNeeded",
    )


def _binding(name: str, at: AtRevision, spec: Json) -> PolicyBinding:
    matched, reference = spec.get("matchResources"), spec.get("paramRef")
    parameters = None
    if reference is not None:
        selector = reference.get("selector")
        parameters = Parameters(
            name=reference.get("name") or "",
            namespace=reference.get("namespace") or "",
            selector=from_object(selector) if selector is not None else None,
            denies_without=reference.get("parameterNotFoundAction") != "Allow",
        )
    actions: Sequence[str] = spec.get("validationActions") or ()
    return PolicyBinding(
        name=name,
        at=at,
        policy=spec.get("policyName") or "",
        constraints=constraints_of(matched) if matched is not None else None,
        parameters=parameters,
        actions=frozenset(actions),
    )
