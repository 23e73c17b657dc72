"""One policy asked about one request: what its expressions see, its conditions, its variables and its parameters.

Used by `validating.py` and `mutating.py`. What cannot be found out (a parameter that is not there, an expression
without a value) is an EvaluationError, about which the policy's `failurePolicy` decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fairlead.api.access.contract import Attributes
from fairlead.api.access.users import AUTHENTICATED, User, service_account, service_account_groups
from fairlead.api.admission.policies.in_force import AdmissionPolicy, PolicyBinding
from fairlead.api.admission.policies.matching import WriteFacts
from fairlead.api.attempt import Attempt
from fairlead.api.desk import Desk
from fairlead.api.objects import plain
from fairlead.api.subresource_kinds import KINDS, scale_of
from fairlead.core import ids
from fairlead.core.errors import ApiError, Cause, Invalid
from fairlead.model.cel.errors import EvaluationError
from fairlead.model.cel.library.authorizer import AccessAnswer, AccessQuestion, AuthorizerValue
from fairlead.model.cel.program import Budget, Program
from fairlead.model.cel.values import LazyFields, Spend
from fairlead.model.key import Key
from fairlead.model.kind import Json, Kind
from fairlead.model.kinds.admission.expressions import AUTHORIZER
from fairlead.store.contract import Absent, AtRevision, Entry

#: bound: policies | parameters of one binding for one request | an error, which `failurePolicy` decides about
PARAMETERS_MAX = 32
_OPERATIONS = {
    "create": "CREATE",
    "update": "UPDATE",
    "patch": "UPDATE",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}


class RequestView:
    """One write as policies see it; made once for all of them."""

    def __init__(self, desk: Desk, attempt: Attempt) -> None:
        self.desk = desk
        self.attempt = attempt
        kind, key = attempt.kind, attempt.key
        operation = _OPERATIONS[attempt.verb]
        deletes = operation == "DELETE"
        space = attempt.read.get(Key("namespaces", "", key.namespace)) if key.namespace else None
        self.space: Json | None = plain(space)[0] if space is not None else None
        versions = (kind.version, *(each.version for each in desk.catalog if each.resource == kind.resource))
        sent = attempt.sent
        self.write = WriteFacts(
            kind=kind,
            versions=tuple(dict.fromkeys(versions)),
            operation=operation,
            subresource=attempt.address,
            name=key.name,
            new=sent if sent is not None else None if deletes else attempt.new,
            old=attempt.old if sent is None else None,
            space=((self.space or {}).get("metadata") or {}).get("labels") or {},
        )
        self._request: Json | None = None

    def evaluations(self, policy: AdmissionPolicy, binding: PolicyBinding) -> Iterator[Evaluation]:
        """One for each parameter; none where they are not about this request. Raises EvaluationError."""
        version = policy.constraints.version_for(self.write)
        narrowed = binding.constraints
        if not version or (narrowed is not None and not narrowed.version_for(self.write)):
            return
        self.rests_on(policy.at)
        self.rests_on(binding.at)
        for parameter in self._parameters(policy, binding):
            yield Evaluation(policy, self._names(version), parameter, version)

    def _names(self, version: str) -> dict[str, Any]:
        """What expressions see but for parameters and variables."""
        return {
            "object": self._shown(self.write.new, version),
            "oldObject": self._shown(self.write.old, version),
            "request": self.request,
            "namespaceObject": self.space,
            AUTHORIZER: self._authorizer(),
        }

    def _shown(self, tree: Json | None, version: str) -> Json | None:
        kind = self.write.kind
        if tree is None or self.attempt.sent is not None:
            return tree
        if self.write.subresource == "scale":
            return scale_of(kind, tree)
        return in_version(kind, tree, version)

    @property
    def request(self) -> Json:
        if self._request is None:
            self._request = self._described()
        return self._request

    def _described(self) -> Json:
        attempt, kind, user = self.attempt, self.write.kind, self.attempt.context.user
        exchanged = KINDS.get(attempt.address, kind)
        shown = {"group": exchanged.group, "version": exchanged.version, "kind": exchanged.kind}
        resource = {"group": kind.group, "version": kind.version, "resource": kind.plural}
        return {
            "uid": ids.uid(attempt.context.entropy),
            "kind": shown,
            "resource": resource,
            "subResource": attempt.address,
            "requestKind": shown,
            "requestResource": resource,
            "requestSubResource": attempt.address,
            "name": attempt.key.name,
            "namespace": attempt.key.namespace,
            "operation": self.write.operation,
            "userInfo": {
                "username": user.name,
                "uid": user.uid,
                "groups": list(user.groups),
                "extra": {name: list(values) for name, values in user.extra},
            },
            "dryRun": attempt.dry_run,
            "options": {},
        }

    def _authorizer(self) -> AuthorizerValue:
        kind, attempt = self.write.kind, self.attempt
        about = AccessQuestion(
            group=kind.group,
            resource=kind.plural,
            subresource=attempt.address,
            namespace=attempt.key.namespace,
            name=attempt.key.name,
        )
        return AuthorizerValue(self._may, about)

    def _may(self, asked: AccessQuestion) -> AccessAnswer:
        verdict = self.desk.authorizer.authorize(
            Attributes(
                user=_user_named(asked.user) if asked.user else self.attempt.context.user,
                verb=asked.verb,
                group=asked.group,
                version="*",
                plural=asked.resource,
                subresource=asked.subresource,
                namespace=asked.namespace,
                name=asked.name,
                path=asked.path,
                now=self.attempt.context.now,
            )
        )
        return AccessAnswer(verdict.allowed, verdict.reason)

    def _parameters(self, policy: AdmissionPolicy, binding: PolicyBinding) -> Iterator[Json | None]:
        """What the policy is asked with, once for each; None: without. Raises EvaluationError."""
        wanted = binding.parameters
        if policy.param_kind is None or wanted is None:
            yield None
            return
        group, version, named = policy.param_kind
        kind = self.desk.catalog.find_kind(group, version, named)
        if kind is None:
            raise EvaluationError(
                f"failed to find resource referenced by paramKind: '{group}/{version}, Kind={named}'"
            )
        found = self._found(kind, binding)
        if not found:
            if wanted.denies_without:
                raise EvaluationError(
                    "no params found for policy binding with `Deny` parameterNotFoundAction"
                )
            return
        if len(found) > PARAMETERS_MAX:
            raise EvaluationError(
                f"the binding finds {len(found)} parameters; at most {PARAMETERS_MAX} are possible"
            )
        for entry in found:
            self.rests_on(AtRevision(entry.key, entry.revision))
            yield in_version(kind, plain(entry)[0], version)

    def _found(self, kind: Kind, binding: PolicyBinding) -> list[Entry]:
        wanted, read = binding.parameters, self.attempt.read
        assert wanted is not None
        if not kind.namespaced:
            if wanted.namespace:
                raise EvaluationError(
                    f"paramRef.namespace must not be set: {kind.plural} are in no namespace"
                )
            namespace = ""
        else:
            namespace = wanted.namespace or self.attempt.key.namespace
            if not namespace:
                raise EvaluationError(
                    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                )
        if wanted.name:
            key = Key(kind.resource, namespace, wanted.name)
            entry = read.get(key)
            if entry is None:
                self.rests_on(Absent(key))
            return [entry] if entry is not None else []
        selector = wanted.selector
        assert selector is not None
        return [
            each
            for each in read.list(kind.resource, namespace)
            if selector.matches((plain(each)[0]["metadata"].get("labels")) or {})
        ]

    def rests_on(self, condition: AtRevision | Absent) -> None:
        """The write commits only while this is as it was."""
        if condition not in self.attempt.preconditions:
            self.attempt.preconditions.append(condition)


class Evaluation:
    """One policy with one parameter: what it sees, and what it may still cost."""

    def __init__(
        self, policy: AdmissionPolicy, names: Mapping[str, Any], parameter: Json | None, version: str
    ) -> None:
        self.policy = policy
        self.version = version  # in which the object is shown
        self.budget = Budget()
        self.names: dict[str, Any] = {**names, "variables": _Variables(self)}
        if policy.param_kind is not None:
            self.names["params"] = parameter

    def run(self, program: Program) -> Any:
        try:
            return program.run(self.names, self.budget)
        except EvaluationError as error:
            raise EvaluationError(f"expression '{program.text}' resulted in error: {error}") from None

    def is_meant(self) -> bool:
        """Whether all conditions hold; one that does not outweighs another that has no value."""
        wrong: EvaluationError | None = None
        for condition in self.policy.compiled.conditions:
            try:
                if self.run(condition) is not True:
                    return False
            except EvaluationError as error:
                wrong = wrong or error
        if wrong is not None:
            raise wrong
        return True


class _Variables(LazyFields):
    """`variables.NAME`: found when it is first asked for, and kept for the rest of the evaluation."""

    __slots__ = ("_evaluation", "_found")

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._found: dict[str, Any] = {}

    def has(self, name: str) -> bool:
        return name in self._evaluation.policy.compiled.variables

    def value_of(self, name: str, spend: Spend) -> Any:
        if name not in self._found:
            program = self._evaluation.policy.compiled.variables.get(name)
            if program is None:
                raise EvaluationError(f"no such key: {name}")
            try:
                self._found[name] = program.run(self._evaluation.names, self._evaluation.budget)
            except EvaluationError as error:
                raise EvaluationError(f'composited variable "{name}" fails to evaluate: {error}') from None
        return self._found[name]


def in_version(kind: Kind, tree: Json, version: str) -> Json:
    """The object as another version of its kind shows it."""
    api_version = f"{kind.group}/{version}" if kind.group else version
    if tree.get("apiVersion") == api_version:
        return tree
    for each in kind.conversions:
        if each.api_version == api_version:
            return each.convert(tree)
    return {**tree, "apiVersion": api_version}


def _user_named(name: str) -> User:
    namespace, _ = service_account(name)
    return User(name, groups=(*service_account_groups(namespace), AUTHENTICATED))


def refusal(
    attempt: Attempt,
    policy: AdmissionPolicy,
    binding: PolicyBinding,
    why: str,
    error_type: type[ApiError] = Invalid,
) -> ApiError:
    """What is raised where a policy does not let a request pass, in Kubernetes' words."""
    kind, name = attempt.kind, attempt.key.name
    message = f"{told_of(policy, binding)} denied request: {why}"
    error = error_type(
        f'{kind.resource} "{name}" is forbidden: {message}',
        causes=(Cause("", message),),
        group=kind.group,
        kind=kind.plural,
        name=name,
    )
    error.policies = (f"{policy.name}: refused ({binding.name})", *attempt.policies)
    return error


def told_of(policy: AdmissionPolicy, binding: PolicyBinding) -> str:
    return f"{policy.kind} '{policy.name}' with binding '{binding.name}'"
